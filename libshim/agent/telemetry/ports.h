/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_PORTS_H
#define CCS_AGENT_PORTS_H
/* Ports that are measured on this host: ingress ports of receivers, published ports of switches. */
#include "agent/host/priv.h"
#include "agent/host/qdisc.h"
#include "agent/telemetry/ingress.h"
#include "cc/advice.h"
#include "cc/shares.h"

/* Requested periods are limited to this range. */
#define CCS_PERIOD_LEAST_NS 200000ull
#define CCS_PERIOD_MOST_NS 10000000ull

struct ccs_subscriber {
	struct ccs_peer *peer;
	bool inbound;                    /* flows here READ from it; false: it sends to them */
	uint64_t due_ns;
	uint64_t reported_bytes;         /* in the last report */
	double reported_advised;         /* sum of the rates in the last report */
};

struct ccs_port {
	char name[IF_NAMESIZE];
	uint32_t ifindex;                /* 0: not open */
	const struct ccs_agent_publication *publication; /* as a switch; NULL: ingress */
	struct ccs_prefix to, from;
	struct ccs_ingress ingress;

	double capacity;                 /* configured or the interface's, bit/s; 0: unknown */

	struct ccs_advice advice;
	struct {
		struct ccs_tenant_share *share; /* n of max in use; n 0: there are no tenants */
		unsigned n, max;
		double unit, units;      /* see cc/advice.h */
		double claimed;          /* see ccs_shares_assign() */
		bool current;            /* false: flows or weights have changed */
	} shares;
	struct ccs_record record;        /* newest; ts_ns is 0 before the first */
	uint64_t sampled_ns;             /* just before it was taken, by this host's clock */
	uint64_t next_ns;                /* sample */
	uint64_t switch_record_ns;       /* last record of a switch on this link, or 0 */
	struct ccs_subscriber *sub;      /* nsubs of max_subs in use */
	unsigned nsubs, max_subs;
	unsigned nreaders;               /* of nsubs: inbound */
};

/* Opens the published ports. 0, or -1 with an error text and errno. */
int ccs_ports_open(struct ccs_agent *a, char *err, size_t len);
void ccs_ports_close(struct ccs_agent *a);

/* The ingress port of an interface, opened if necessary; NULL: it cannot be measured. */
struct ccs_port *ccs_ports_find_ingress(struct ccs_agent *a, uint32_t ifindex);
/* Open a published port again, whose interface had vanished. 0 or an errno. */
int ccs_port_open_egress(struct ccs_agent *a, struct ccs_port *port);
/* The port cannot be read any more. Its subscribers are removed. */
void ccs_port_lose(struct ccs_agent *a, struct ccs_port *port, int error);

/* Read the capacity again if it may have changed while the port was not measured. */
void ccs_port_refresh_capacity(const struct ccs_agent *a, struct ccs_port *port);
/* Warn if the capacity is unknown. */
void ccs_port_check_capacity(struct ccs_agent *a, const struct ccs_port *port);
/* Whether data that arrive on that interface can be measured. */
bool ccs_ports_can_measure(struct ccs_agent *a, uint32_t ifindex);

bool ccs_port_publishes_to(const struct ccs_port *port, const struct ccs_address *receiver);
/* The telemetry that this host can give to the remote one: bits of enum ccs_peer_flag. */
uint32_t ccs_ports_capabilities(struct ccs_agent *a, const struct ccs_ends *ends);

/* Active flows of all subscribers. */
uint32_t ccs_port_flows(const struct ccs_port *port);
/* A switch's record arrived on that interface: sample the port now, since records of both ends
 * of a link are best taken at the same time. */
void ccs_ports_switch_record(struct ccs_agent *a, uint32_t ifindex);

#endif
