/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_H
#define CCS_AGENT_H
/*
 * The host agent. As NP it captures CE marks on arriving RoCEv2 packets and sends CNPs to the
 * agents of their senders; on the RP side it receives CNPs and delivers them to the process and
 * queue pair concerned. It measures the links on which data arrive, or leave a switch, for senders
 * that request telemetry. One loop runs in one thread: no code here exits, handles signals, or
 * is global.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/address.h"
#include "cc/shares.h"
#include "feedback/ipc.h"
#include "feedback/wire.h"

#define CCS_AGENT_INTERVAL_NS 50000u     /* DCQCN 3.1 */
#define CCS_AGENT_DSCP 48                /* CS6, as in NICs' CNPs */

struct ccs_agent;

/*
 * Authentication of messages between agents, with shared keys. Between two hosts, an id identifies
 * a key. The keys may change between two calls of ccs_agent_run().
 */
struct ccs_agent_auth {
	void *arg;
	/* The id of the key for messages to that peer; -1: without a key, do not send the
	 * message. */
	int (*select)(void *arg, const struct ccs_address *peer);
	void (*tag)(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		    size_t len, uint8_t tag[CCS_WIRE_TAG]);
	/* False also if that peer does not have this key. */
	bool (*check)(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		      size_t len, const uint8_t tag[CCS_WIRE_TAG]);
};

/* A link's capacity, if the interface's speed is meaningless. */
struct ccs_agent_capacity {
	const char *interface;
	double rate;                     /* bit/s */
};

/* A port of this switch whose records are sent to receivers. */
struct ccs_agent_publication {
	const char *port;                /* an interface with a qdisc */
	const char *to, *from;           /* prefixes of receivers and senders; NULL: any */
	uint16_t hop;                    /* links to the receiver, from 1 */
	double rate;                     /* bit/s; 0: rate of its tbf or speed of the interface */
};

/* A tenant: processes of this host whose flows have a share of the ports where they end. */
struct ccs_agent_tenant {
	char name[64];
	uint64_t identity;               /* the same on all hosts for a job; not 0 */
	struct ccs_terms terms;          /* weight in hundredths */
	bool users_may_lower;            /* its processes may lower its cap and class */
};

enum { CCS_AGENT_TENANTS = 64 };

/* The configuration and its pointers must outlive the agent. 0 is the default unless stated
 * otherwise. */
struct ccs_agent_config {
	const char *socket;              /* NULL: CCS_IPC_SOCKET */
	uint16_t port;                   /* UDP; 0: CCS_WIRE_PORT */
	uint64_t interval_ns;            /* least time between CNPs for a flow; 0: no limit */
	uint8_t dscp;                    /* of messages to other agents; 0 is DSCP 0 */
	bool capture;                    /* be an NP; requires CAP_NET_RAW */
	const char *const *addresses;    /* serve only these addresses; empty: all */
	unsigned naddresses;
	const struct ccs_agent_auth *auth;       /* NULL: no authentication */
	const int *inherited;            /* sockets that are bound already, by a service manager */
	unsigned ninherited;

	const char *sysfs;               /* root of NICs' counters; NULL: "/sys" */
	bool telemetry;                  /* send it to peers that request it */
	const struct ccs_agent_capacity *capacities;
	unsigned ncapacities;
	const struct ccs_agent_publication *publications;
	unsigned npublications;
	const char *const *switches;     /* addresses of agents to request records from */
	unsigned nswitches;

	/* Sets the tenants and returns their number; called at the start and by ccs_agent_reload(). */
	unsigned (*tenants)(void *arg, struct ccs_agent_tenant tenant[CCS_AGENT_TENANTS]);
	/* The tenant's index, or -1, of a process: NULL if tenants is. */
	int (*tenant_of)(void *arg, pid_t pid, uid_t uid);
	void *tenant_arg;                /* of these two */
	double guarantees;               /* limit of all tenants' guarantees, bit/s; 0: unknown */

	/* Whether a process may register that queue pair: 0 or an errno. uid: the user that
	 * connected, or CCS_ANY_USER. NULL: always. */
	int (*check_owner)(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid);

	/* Whether a QP of this host with that number can receive: 0 and its device ("": several
	 * have one), ENOENT, or another errno if that is unknown. NULL: any can. */
	int (*check_qp)(void *arg, uint32_t qpn, char device[64]);
	/* Sets how many QPs this host has: 0 or an errno. NULL: that is unknown. */
	int (*count_qps)(void *arg, uint32_t *n);
	void *check_arg;                 /* of these three */

	/* Called with one sentence, once an hour per kind of warning. NULL: no warnings. */
	void (*warn)(void *arg, const char *sentence);
	void *warn_arg;

	/* Called by the loop each alive_ns, for a watchdog. 0: never. */
	void (*alive)(void *arg);
	void *alive_arg;
	uint64_t alive_ns;

	/* Replaces CLOCK_MONOTONIC (ns) in tests. NULL: the system's clock. */
	uint64_t (*now)(void *arg);
	void *now_arg;
};

struct ccs_agent_config ccs_agent_defaults(void);

/*
 * Opens all sockets. On failure returns NULL and an error text with a remedy; errno is EADDRINUSE
 * if another agent uses the socket or the port, EPERM or EACCES if a privilege is missing.
 */
struct ccs_agent *ccs_agent_open(const struct ccs_agent_config *config, char *err, size_t len);

/* Runs until ccs_agent_stop(), which any thread and any signal handler may call. May be called
 * again. */
void ccs_agent_run(struct ccs_agent *a);
void ccs_agent_stop(struct ccs_agent *a);

/* Read the tenants again, and find each client's. Must not be called while it runs. */
void ccs_agent_reload(struct ccs_agent *a);

/* Must not be called while it runs. Its clients' connections end; they keep their regions. */
void ccs_agent_close(struct ccs_agent *a);

/* One turn of the agent's loop, for tests: handle descriptors that become ready within timeout_ns (negative:
 * no limit), then run everything that is due. */
void ccs_agent_turn(struct ccs_agent *a, int64_t timeout_ns);

#endif
