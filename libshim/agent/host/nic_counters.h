/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_COUNTERS_H
#define CCS_AGENT_COUNTERS_H
/*
 * CNP counters of NICs that handle CNPs in hardware. Software does not see these CNPs, but the
 * port's hw_counters in sysfs count them, not by queue pair. The events of a port are therefore
 * shared among its flows by rate: the faster a flow sends, the more likely its packets were the
 * marked ones. CNPs of unregistered queue pairs are counted too and attributed to the registered
 * ones. A flow that pauses keeps its rate and its share: it recovers from a wrong CNP.
 *
 * One thread. Files are open only while a port has flows.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Drivers refresh the values every 10 ms unless hw_counters/lifespan says less. */
#define CCS_COUNTERS_PERIOD_NS 10000000ull

/* A flow's state, in the caller's memory; all zero while it has not joined. */
struct ccs_nic_counter_flow {
	struct ccs_nic_counter_port *port;
	struct ccs_nic_counter_flow *next, **at; /* of the port's list; the pointer to this flow */
	const _Atomic uint64_t *rate;    /* bit/s in force; 0: no share */
	double weight;                   /* the rate at the last poll */
};

struct ccs_nic_counters {
	const char *sysfs;               /* "/sys" */
	struct ccs_nic_counter_port *ports;
};

/*
 * Add a flow on that port of a device. 0; ENOENT: it has no such counters; EINVAL: not a valid
 * device name; ENOMEM. rate is read at each poll until the flow leaves. *flow must not move.
 */
int ccs_nic_counters_join(struct ccs_nic_counters *c, const char *device, uint32_t port,
		      struct ccs_nic_counter_flow *flow, const _Atomic uint64_t *rate);

/* No effect if the flow has not joined. */
void ccs_nic_counters_leave(struct ccs_nic_counters *c, struct ccs_nic_counter_flow *flow);

/* Whether this flow's port is readable at present: a device may vanish and come back. */
bool ccs_nic_counters_alive(const struct ccs_nic_counter_flow *flow);

/* Call each() for all flows of all ports, in no order; it must not join or leave flows. */
void ccs_nic_counters_each(const struct ccs_nic_counters *c,
		       void (*each)(void *arg, struct ccs_nic_counter_flow *flow), void *arg);

/* Call deliver() with each flow's share of the CNPs since the last poll; it must not join
 * or leave flows. */
void ccs_nic_counters_poll(struct ccs_nic_counters *c, uint64_t now_ns,
			   void (*deliver)(void *arg, struct ccs_nic_counter_flow *flow,
					   uint32_t cnps),
			   void *arg);

#endif
