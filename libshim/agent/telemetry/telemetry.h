/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_TELEMETRY_H
#define CCS_AGENT_TELEMETRY_H
/* Ports that are measured on this host, and the telemetry that this host sends and gets. */
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/host/priv.h"
#include "agent/host/qdisc.h"
#include "cc/advice.h"
#include "cc/shares.h"

/*
 * Bytes received on a receiver's port, from sysfs files that stay open. A netdev does not count
 * what an RDMA NIC receives bypassing the kernel, but the NIC's port counter port_rcv_data does,
 * in units of 4 bytes. Software RDMA drivers have no such counter; there the netdev counts all.
 */

enum { CCS_INGRESS_PORTS = 4 };          /* RDMA ports of one netdev */

struct ccs_ingress {
	int netdev, rdma[CCS_INGRESS_PORTS]; /* -1: not open */
};

/* 0 or an errno. sysfs: "/sys". */
int ccs_ingress_open(struct ccs_ingress *in, const char *sysfs, const char *interface);
void ccs_ingress_close(struct ccs_ingress *in);

/* *bytes: counted from an arbitrary start. False: the port has vanished. */
bool ccs_ingress_read(const struct ccs_ingress *in, uint64_t *bytes);

/* -- measured ports: ingress of receivers, published ports of switches ------------------- */

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
	struct ccs_subscriber *sub;
	unsigned nsubs;
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

/* Warn if the capacity is unknown. refresh: first read it again, if it may have changed while the
 * port was not measured. */
void ccs_port_check_capacity(struct ccs_agent *a, struct ccs_port *port, bool refresh);
bool ccs_ports_can_measure(struct ccs_agent *a, uint32_t ifindex);

bool ccs_port_publishes_to(const struct ccs_port *port, const struct ccs_address *receiver);
/* The telemetry that this host can give to the remote one: bits of enum ccs_peer_flag. */
uint32_t ccs_ports_capabilities(struct ccs_agent *a, const struct ccs_ends *ends);

/* Active flows of all subscribers. */
uint32_t ccs_port_flows(const struct ccs_port *port);
/* A switch's record arrived on that interface: sample the port now, since records of both ends
 * of a link are best taken at the same time. */
void ccs_ports_switch_record(struct ccs_agent *a, uint32_t ifindex);

/* -- periodic samples of ports with subscribers, and the messages that report them ---- */

/* When the next sample is due; UINT64_MAX: no port has subscribers. */
uint64_t ccs_sampler_due(const struct ccs_agent *a);
void ccs_sampler_run(struct ccs_agent *a);

/* -- the peers and READs that receive telemetry of a port -------------- */

void ccs_subscribers_update(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			    const struct ccs_wire_message *message);
/* Update the subscription of flows here that READ from that peer. False: their data cannot be
 * measured. */
bool ccs_subscribers_update_inbound(struct ccs_agent *a, struct ccs_peer *p);
void ccs_subscriber_remove(struct ccs_port *port, const struct ccs_peer *p, bool inbound);
void ccs_subscribers_remove_peer(struct ccs_agent *a, struct ccs_peer *p);

/* -- the advised rate of a port ------------------------------------------------------- */

/* Pass the newest record to the port's controller, if a flow requests advice; sets
 * record.advised. */
void ccs_port_advise(const struct ccs_agent *a, struct ccs_port *port);
/* `more` flows of a subscriber have become active; their data have not arrived yet. */
void ccs_port_joined(struct ccs_agent *a, struct ccs_port *port, uint32_t more);
/* The rate to advise to a subscriber's flows without a tenant, from all records of their path, bit/s;
 * 0: no advice. *rates: to its tenants' flows. */
uint64_t ccs_port_advised(const struct ccs_agent *a, const struct ccs_port *port,
			  const struct ccs_subscriber *s, struct ccs_tenant_list *rates);
/* The same for that peer's flows towards this host. */
uint64_t ccs_ports_advised(const struct ccs_agent *a, struct ccs_peer *p,
			   struct ccs_tenant_list *rates);

/* -- records of links elsewhere on the path, received from switches or from local processes -- */

int ccs_relay_open(struct ccs_agent *a, char *err, size_t len);
/* Request records of links towards that address of this host from the switches. */
void ccs_relay_ask(struct ccs_agent *a, const struct ccs_address *local, uint32_t flows,
		   uint32_t period_us);
/* Store a switch's records. True: one of them is of the reported port nearest to this host. */
bool ccs_relay_receive(struct ccs_agent *a, const struct ccs_peer *p,
		       const struct ccs_wire_records *m);
/* Store a record that a client feeds. 0 or an errno. */
int ccs_relay_feed(struct ccs_agent *a, const struct ccs_client *c,
		   const struct ccs_ipc_record *m);
/* Copy at most n records for that peer's flows, with covers_ns by our clock; their number. */
unsigned ccs_relay_records_for(const struct ccs_agent *a, const struct ccs_peer *p,
			       uint64_t now_ns, struct ccs_record *r, unsigned n);

/* -- telemetry received from a peer, and its publication in shared regions ------------ */

/* Handle an ECHO; sorts its records. */
void ccs_echo_receive(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m);
/* Handle the flow count and the advised rates (0: no advice) of an ADVICE or HELLO_ACK. */
void ccs_echo_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_advice *advice,
		     const struct ccs_wire_message *m);

/* Convert n records of a path to *t; sorts the records. */
void ccs_echo_convert(struct ccs_path_telemetry *t, struct ccs_record *r, unsigned n,
		      uint32_t flows, uint64_t now_ns);
/* Write *t, with the rate of the client's tenant, to record `index` of each region whose client has
 * flows on that path. */
void ccs_echo_publish(struct ccs_agent *a, uint32_t index, const struct ccs_path_telemetry *t,
		      const struct ccs_tenant_list *rates);
void ccs_echo_publish_to(const struct ccs_agent *a, const struct ccs_client *c, uint32_t index,
			 const struct ccs_path_telemetry *t, const struct ccs_tenant_list *rates);

/* -- feedback for data that arrive because flows of this host READ them --------------- */

void ccs_inbound_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_inbound_detach(struct ccs_agent_flow *f);
bool ccs_inbound_has(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn);
void ccs_inbound_cnp(struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn);
void ccs_inbound_read(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Subscribe to the records that the peer's inbound.request requests now. */
void ccs_inbound_update(struct ccs_agent *a, struct ccs_peer *p, uint32_t active_before,
			uint64_t now_ns);
/* Write a new sample of the peer's inbound port to the clients whose flows READ from it. */
void ccs_inbound_report(struct ccs_agent *a, const struct ccs_port *port,
			const struct ccs_subscriber *s, uint32_t flows);

/* -- scan of clients' slots for flows that request telemetry -------------------------- */

/* Register a new flow, which may be the first to request telemetry of its peer. */
void ccs_demand_join(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_demand_leave(const struct ccs_agent *a, struct ccs_agent_flow *f);
/* The tenant of the client is about to change. */
void ccs_demand_forget(struct ccs_client *c);
/* Scan the slots of clients that are due, and send changed requests to peers. */
void ccs_demand_update(struct ccs_agent *a, uint64_t now_ns);

#endif
