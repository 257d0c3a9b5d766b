/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_AGENT_H
#define CCS_TESTS_AGENT_H
/*
 * A host agent for tests: a thread that listens and replies as the test configures it. One
 * at a time. Flows of all processes are found by the number of their QP.
 */
#include <stdbool.h>
#include <stdint.h>

#include "feedback/ipc.h"
#include "feedback/shm.h"

struct agent_config {
	int refuses_hello, refuses_flows; /* an errno */
	bool silent;                     /* receives, and does not reply */
	unsigned late_ms;                /* at first it is busy with itself for so long */
	bool malformed;                    /* answers to an ADD are none */
	bool no_heartbeat;                       /* no beat */
	bool peer_silent;                     /* no peer replies */
	bool no_feedback;                     /* peers watch for nothing */
	bool telemetry;                  /* three flows are there; no record is newer than the first */
	bool idle;                       /* no flow is there: it is of those that were */
	bool ports;                      /* with records of switches */
	bool inbound;                    /* marks on, and telemetry of, what comes in are seen here */
	double advised;                  /* bit/s, with the telemetry */
	bool huge_step;                      /* the counters' largest value was sent in 1 ns */
};

/* At that path; the test fails if it cannot. */
void agent_start(const char *path, struct agent_config config);
void agent_stop(void);                   /* as if killed: the socket's name stays */
void agent_configure(struct agent_config config);

struct agent_counts { unsigned hellos, adds, removes, flows, wrong; };
struct agent_counts agent_counts(void);
/* What was said of the flow of that QP; false: there is none. */
bool agent_flow(uint32_t qpn, struct ccs_ipc_add *flow);
/* Its slot; NULL. It stays mapped. */
struct ccs_slot *agent_slot(uint32_t qpn);
/* CNPs for it; the test fails if it is not there. */
void agent_cnp(uint32_t qpn, unsigned n);

#endif
