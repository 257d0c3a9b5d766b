/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_AGENT_H
#define CCS_TESTS_AGENT_H
/*
 * A host agent for tests: a thread that listens and replies as the test configures it. Only one
 * runs at a time. It finds flows of all processes by their QP number.
 */
#include <stdbool.h>
#include <stdint.h>

#include "feedback/ipc.h"
#include "feedback/shm.h"

struct agent_config {
	int refuses_hello, refuses_flows; /* an errno */
	bool silent;                     /* receives, but does not reply */
	bool malformed;                    /* replies to ADD with a malformed message */
	bool no_heartbeat;                       /* writes no heartbeat */
	bool peer_silent;                     /* the peer's agent does not reply */
	bool no_feedback;                     /* peers offer no feedback */
	bool telemetry; /* records name three flows; all are as old as the first */
	bool idle;                       /* the records name no flow */
	bool ports;                      /* the records are of switches */
	bool inbound;                    /* this host sees marks and telemetry of inbound data */
	double advised;                  /* bit/s, part of the telemetry */
	bool huge_step; /* the byte counter rises to its largest value in 1 ns */
};

/* Listen at that path; the test fails if the agent cannot. */
void agent_start(const char *path, struct agent_config config);
void agent_stop(void);                   /* as if killed: the socket's file stays */
void agent_configure(struct agent_config config);

/* `updates` counts updates of clients' shared regions, each as configured at that time. */
struct agent_counts { unsigned hellos, adds, removes, flows, wrong, updates; };
struct agent_counts agent_counts(void);
/* Get the ADD message of the flow of QP `qpn`; returns false if the flow does not exist. */
bool agent_flow(uint32_t qpn, struct ccs_ipc_add *flow);
/* The flow's slot, or NULL. It stays mapped. */
struct ccs_slot *agent_slot(uint32_t qpn);
/* Count n CNPs for the QP; the test fails if it has no slot. */
void agent_cnp(uint32_t qpn, unsigned n);

#endif
