/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_H
#define CCS_AGENT_H
/*
 * The host agent: as NP it watches for CE marks on arriving RoCEv2 packets and sends CNPs
 * to the agents of their senders; on the RP side it takes CNPs and hands them to the
 * process and queue pair that they are for. It measures the links by which data come in,
 * or leave a switch, for the senders that want telemetry. One loop in one thread, main()'s
 * or one of the shim's: nothing here exits, handles signals, or is global.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "signal/local.h"
#include "signal/wire.h"

#define CCS_AGENT_INTERVAL_NS 50000u     /* DCQCN 3.1 */
#define CCS_AGENT_DSCP 48                /* CS6, as NICs give their CNPs */

struct ccs_agent;

/* Authentication of what agents send each other, with a key that they share. */
struct ccs_agent_auth {
	void *arg;
	void (*tag)(void *arg, const void *message, size_t len, uint8_t tag[CCS_WIRE_TAG]);
	bool (*check)(void *arg, const void *message, size_t len,
		      const uint8_t tag[CCS_WIRE_TAG]);
};

/* A link's capacity, where its speed says nothing. */
struct ccs_agent_capacity {
	const char *interface;
	double rate;                     /* bit/s; 0: to be learnt from what it carries */
};

/* A port of this switch, of which receivers may have records. */
struct ccs_agent_publication {
	const char *port;                /* an interface with a qdisc */
	const char *to, *from;           /* of receivers and senders, a prefix; NULL: any */
	uint16_t hop;                    /* links to the receiver, from 1 */
	double rate;                     /* bit/s; 0: what its tbf has, else its speed */
};

/* All of it must outlive the agent. Zeros are defaults, where nothing else is said. */
struct ccs_agent_config {
	const char *socket;              /* NULL: CCS_LOCAL_SOCKET */
	uint16_t port;                   /* UDP; 0: CCS_WIRE_PORT */
	uint64_t interval_ns;            /* least time between CNPs for a flow; 0 is none */
	uint8_t dscp;                    /* of what is sent to other agents, as it is */
	bool capture;                    /* be an NP; takes CAP_NET_RAW */
	const char *const *interfaces;   /* watch only these; none: all that there will be */
	unsigned ninterfaces;
	const char *const *addresses;    /* speak only for these; none: whatever is asked */
	unsigned naddresses;
	const struct ccs_agent_auth *auth;       /* NULL: none */

	const char *sysfs;               /* where NICs have their counters; NULL: "/sys" */
	bool telemetry;                  /* give it */
	const struct ccs_agent_capacity *capacities;
	unsigned ncapacities;
	const struct ccs_agent_publication *publications;
	unsigned npublications;
	const char *const *switches;     /* addresses of agents to have records of */
	unsigned nswitches;

	/* Whether a process may register that queue pair: 0 or an errno. NULL: any may. */
	int (*owner)(void *arg, const struct ccs_local_add *qp, pid_t pid);
	void *owner_arg;

	/* One sentence, once per kind of trouble. NULL: silence. */
	void (*say)(void *arg, const char *sentence);
	void *say_arg;

	/* CLOCK_MONOTONIC, ns; for tests. NULL: the system's. */
	uint64_t (*now)(void *arg);
	void *now_arg;
};

/* What is there when nothing is configured. */
struct ccs_agent_config ccs_agent_defaults(void);

/*
 * Opens all sockets. NULL and a sentence with a remedy if any of that fails; errno is then
 * EADDRINUSE where another agent has the socket or the port, EPERM or EACCES where a
 * privilege is missing.
 */
struct ccs_agent *ccs_agent_open(const struct ccs_agent_config *config, char *err, size_t len);

/* Until ccs_agent_stop(), which any thread and any signal handler may call. */
void ccs_agent_run(struct ccs_agent *a);
void ccs_agent_stop(struct ccs_agent *a);

/* Not while it runs. Its clients see the connection end; their pages stay theirs. */
void ccs_agent_close(struct ccs_agent *a);

#endif
