/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_COUNTERS_H
#define CCS_AGENT_COUNTERS_H
/*
 * Congestion on NICs whose hardware handles CNPs: nobody sees one, but the port's
 * hw_counters in sysfs count them. Which queue pair one was for they do not tell, so
 * the events of a port are shared among its flows by rate: the faster one sends, the
 * likelier its packets were the marked ones. Queue pairs that no process has told of
 * have their CNPs counted as well; they are taken for ours. A flow that pauses keeps its
 * rate, and its share: a CNP does it no harm that its rate would not undo.
 *
 * One thread. Files are open only while a port has flows.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Drivers refresh the values every 10 ms unless hw_counters/lifespan says less. */
#define CCS_COUNTERS_PERIOD_NS 10000000ull

/* A flow's part, in the caller's memory; all zero while it has none. */
struct ccs_counter_flow {
	struct ccs_counter_port *port;
	unsigned index;                  /* in the port's list */
	const _Atomic uint64_t *rate;    /* bit/s in force; 0: no share */
};

struct ccs_counters {
	const char *sysfs;               /* "/sys" */
	struct ccs_counter_port *ports;
	uint64_t events;                 /* CNPs counted by the hardware, and handed out */
	uint64_t lost;                   /* times a port could not be read any more */
};

/*
 * A flow on that port of a device. 0; ENOENT: there are no such counters; EINVAL: no
 * device is called that; ENOMEM. rate is read at each poll until the flow leaves.
 */
int ccs_counters_join(struct ccs_counters *c, const char *device, uint32_t port,
		      struct ccs_counter_flow *flow, const _Atomic uint64_t *rate);

/* Harmless if it has not joined. */
void ccs_counters_leave(struct ccs_counters *c, struct ccs_counter_flow *flow);

/* Whether the port of this flow can be read now: a device that vanishes may come back. */
bool ccs_counters_alive(const struct ccs_counter_flow *flow);

/* All flows of all ports, in no order; each() may neither join nor leave. */
void ccs_counters_each(const struct ccs_counters *c,
		       void (*each)(void *arg, struct ccs_counter_flow *flow), void *arg);

/* What is new since the last poll; give() may neither join nor leave. */
void ccs_counters_poll(struct ccs_counters *c, uint64_t now_ns,
		       void (*give)(void *arg, struct ccs_counter_flow *flow, uint32_t cnps),
		       void *arg);

#endif
