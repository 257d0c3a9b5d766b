/* SPDX-License-Identifier: BSD-2-Clause */
/* The links that are measured here, found or configured, and their subscribers. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/port.h"
#include "base/sysfs.h"

static const char *sysfs_of(const struct ccs_agent *a)
{
	return a->config.sysfs ? a->config.sysfs : "/sys";
}

/* What is believed of what a peer says. */
#define CLAIM_MOST 4096                  /* flows */
#define GRAIN_MOST (1u << 20)            /* bytes of a segment */

/* -- capacity ---------------------------------------------------------------------- */

static void find_capacity(const struct ccs_agent *a, struct ccs_port *port)
{
	const struct ccs_agent_capacity *c = a->config.capacities;

	port->told = 0;
	port->learns = false;
	for (unsigned i = 0; i < a->config.ncapacities; i++)
		if (strcmp(c[i].interface, port->name) == 0) {
			port->told = c[i].rate;
			port->learns = !(c[i].rate > 0);
		}
	if (!(port->told > 0))
		port->told = ccs_sysfs_speed(sysfs_of(a), port->name);
}

double ccs_port_capacity(const struct ccs_port *port)
{
	return port->learns && port->learnt.learnt > 0 ? port->learnt.learnt : port->told;
}

/* -- ports ------------------------------------------------------------------------- */

/* Each time that it is opened it is another link: its counters may have begun anew. */
static void name_link(const struct ccs_agent *a, struct ccs_port *port)
{
	struct {
		uint64_t session, now_ns;
		uint32_t ifindex, number;
	} what = { a->session, ccs_agent_now(a), port->ifindex, (uint32_t)(port - a->port) };

	port->advice = (struct ccs_advice){ 0 };
	port->record = (struct ccs_record){ .link = ccs_record_link(&what, sizeof(what)) };
	if (port->publication) {
		port->record.kind = CCS_RECORD_PORT;
		port->record.hop = port->publication->hop;
	} else {
		port->record.kind = CCS_RECORD_RECEIVER;
	}
}

static bool open_ingress(struct ccs_agent *a, struct ccs_port *port, uint32_t ifindex)
{
	if (!if_indextoname(ifindex, port->name) ||
	    ccs_ingress_open(&port->ingress, sysfs_of(a), port->name))
		return false;
	port->ifindex = ifindex;
	find_capacity(a, port);
	port->learnt = (struct ccs_capacity){ 0 };
	name_link(a, port);
	return true;
}

/* The port of an interface by which data come in; NULL: it cannot be measured. */
static struct ccs_port *ingress_of(struct ccs_agent *a, uint32_t ifindex)
{
	struct ccs_port *unused = NULL;

	if (!ifindex || !a->config.telemetry)
		return NULL;
	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++) {
		if (port->publication)
			continue;
		if (port->ifindex == ifindex)
			return port;
		if (!port->ifindex && !unused)
			unused = port;
	}
	return unused && open_ingress(a, unused, ifindex) ? unused : NULL;
}

/* 0 or an errno. */
static int open_egress(struct ccs_agent *a, struct ccs_port *port)
{
	const uint32_t ifindex = if_nametoindex(port->name);
	struct ccs_egress e;
	int err;

	if (!ifindex)
		return ENODEV;
	err = ccs_egress_read(&a->netlink, ifindex, &e);
	if (err)
		return err;
	port->told = port->publication->rate > 0 ? port->publication->rate : e.rate;
	if (!(port->told > 0))
		port->told = ccs_sysfs_speed(sysfs_of(a), port->name);
	if (!(port->told > 0))
		return ERANGE;
	port->ifindex = ifindex;
	name_link(a, port);
	return 0;
}

static int complain(const struct ccs_agent_publication *p, int error, char *err, size_t len)
{
	const char *why = error == ENOENT ? "it has no qdisc that counts: give it one by tc" :
			  error == ERANGE ? "its speed is unknown: add rate=" :
			  error == EINVAL ? "its prefixes are no addresses" : strerror(error);

	snprintf(err, len, "cannot publish port %s: %s", p->port, why);
	errno = error;
	return -1;
}

static int publish(struct ccs_agent *a, const struct ccs_agent_publication *p, char *err,
		   size_t len)
{
	struct ccs_port *port = &a->port[a->nports++];
	int error;

	if (strlen(p->port) >= sizeof(port->name))
		return complain(p, ENODEV, err, len);
	port->publication = p;
	strcpy(port->name, p->port);
	if ((p->to && ccs_prefix_parse(p->to, &port->to)) ||
	    (p->from && ccs_prefix_parse(p->from, &port->from)))
		return complain(p, EINVAL, err, len);
	error = open_egress(a, port);
	return error ? complain(p, error, err, len) : 0;
}

int ccs_ports_open(struct ccs_agent *a, char *err, size_t len)
{
	int error;

	a->port = calloc(CCS_AGENT_PORTS, sizeof(*a->port));
	errno = a->port ? EINVAL : ENOMEM;
	if (!a->port || a->config.npublications > CCS_AGENT_PORTS / 2) {
		snprintf(err, len, "no memory for, or more than, %d ports to publish",
			 CCS_AGENT_PORTS / 2);
		return -1;
	}
	if (!a->config.npublications)
		return 0;
	error = ccs_netlink_open(&a->netlink, NETLINK_ROUTE);
	if (error)
		return complain(a->config.publications, error, err, len);
	for (unsigned i = 0; i < a->config.npublications; i++)
		if (publish(a, &a->config.publications[i], err, len))
			return -1;
	return 0;
}

void ccs_ports_close(struct ccs_agent *a)
{
	for (struct ccs_port *port = a->port; port && port < a->port + CCS_AGENT_PORTS; port++) {
		if (port->ifindex && !port->publication)
			ccs_ingress_close(&port->ingress);
		free(port->sub);
	}
	ccs_netlink_close(&a->netlink);
	free(a->port);
}

/* Its subscribers come again with their next HELLO, and may find it back. */
void ccs_port_lose(struct ccs_agent *a, struct ccs_port *port, int error)
{
	ccs_agent_say(a, CCS_TROUBLE_PORT, "no telemetry of %s: %s", port->name, strerror(error));
	if (!port->publication)
		ccs_ingress_close(&port->ingress);
	port->ifindex = 0;
	for (unsigned i = 0; i < port->nsubs; i++) {
		struct ccs_peer *p = port->sub[i].peer;

		if (p->ingress == port)
			p->ingress = NULL;
		if (p->inbound.port == port)
			p->inbound.port = NULL;
	}
	port->nsubs = port->nreaders = 0;
}

/* -- subscribers ------------------------------------------------------------------- */

static struct ccs_subscriber *find(const struct ccs_port *port, const struct ccs_peer *p,
				   bool inbound)
{
	for (unsigned i = 0; i < port->nsubs; i++)
		if (port->sub[i].peer == p && port->sub[i].inbound == inbound)
			return &port->sub[i];
	return NULL;
}

void ccs_port_leave(struct ccs_port *port, const struct ccs_peer *p, bool inbound)
{
	struct ccs_subscriber *s = find(port, p, inbound);

	if (!s)
		return;
	*s = port->sub[--port->nsubs];
	port->nreaders -= inbound;
}

static void join(struct ccs_port *port, struct ccs_peer *p, bool inbound)
{
	const unsigned room = port->room ? 2 * port->room : 16;
	struct ccs_subscriber *more;

	if (find(port, p, inbound))
		return;
	if (port->nsubs == port->room) {
		more = reallocarray(port->sub, room, sizeof(*more));
		if (!more)
			return;
		port->sub = more;
		port->room = room;
	}
	port->sub[port->nsubs++] = (struct ccs_subscriber){ .peer = p, .inbound = inbound };
	port->nreaders += inbound;
	port->next_ns = 0;
}

static void join_or_leave(struct ccs_port *port, struct ccs_peer *p, bool wanted)
{
	if (wanted)
		join(port, p, false);
	else
		ccs_port_leave(port, p, false);
}

static bool publishes_to(const struct ccs_port *port, const struct ccs_address *receiver)
{
	return port->publication && ccs_prefix_covers(&port->to, receiver);
}

static bool is_measurable(const struct ccs_port *port)
{
	return port->learns || ccs_port_capacity(port) >= 1;
}

/* It may have changed while nothing was measured. */
static void refresh_capacity(const struct ccs_agent *a, struct ccs_port *port)
{
	if (!port->nsubs || !is_measurable(port))
		find_capacity(a, port);
}

static void complain_of_capacity(struct ccs_agent *a, const struct ccs_port *port)
{
	if (!is_measurable(port))
		ccs_agent_say(a, CCS_TROUBLE_CAPACITY,
			      "the speed of %s is unknown, so flows get no telemetry of it: "
			      "see --capacity", port->name);
}

uint32_t ccs_ports_give(struct ccs_agent *a, const struct ccs_ends *ends)
{
	const struct ccs_port *port = ingress_of(a, ends->arrived);
	uint32_t gives = 0;

	if (port && is_measurable(port))
		gives |= CCS_PEER_RECORDS;
	for (unsigned i = 0; i < a->nports; i++)
		if (publishes_to(&a->port[i], &ends->remote))
			gives |= CCS_PEER_PORTS;
	return gives;
}

static void subscribe_ingress(struct ccs_agent *a, struct ccs_peer *p, uint32_t ifindex)
{
	struct ccs_port *port = p->wants & CCS_PEER_RECORDS ? ingress_of(a, ifindex) : NULL;

	if (p->ingress && p->ingress != port)
		ccs_port_leave(p->ingress, p, false);
	p->ingress = port;
	if (!port)
		return;
	if (p->flows_there)
		refresh_capacity(a, port);
	join_or_leave(port, p, p->flows_there);
	complain_of_capacity(a, port);
}

bool ccs_ports_can_read(struct ccs_agent *a, uint32_t ifindex)
{
	const struct ccs_port *port = ingress_of(a, ifindex);

	return port && is_measurable(port);
}

bool ccs_ports_read(struct ccs_agent *a, struct ccs_peer *p)
{
	struct ccs_inbound *in = &p->inbound;
	struct ccs_port *port = in->active ? ingress_of(a, in->ifindex) : NULL;

	if (in->port && in->port != port)
		ccs_port_leave(in->port, p, true);
	in->port = port;
	if (!port)
		return false;
	refresh_capacity(a, port);
	join(port, p, true);
	complain_of_capacity(a, port);
	ccs_heard_ask(a, &p->ends.local, ccs_port_flows(port), in->period_us);
	return is_measurable(port);
}

static uint64_t period_ns(uint32_t wanted_us)
{
	const uint64_t wanted_ns = wanted_us * 1000ull;

	return wanted_ns < CCS_PERIOD_LEAST_NS ? CCS_PERIOD_LEAST_NS :
	       wanted_ns > CCS_PERIOD_MOST_NS ? CCS_PERIOD_MOST_NS : wanted_ns;
}

void ccs_ports_subscribe(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			 const struct ccs_wire_hello *m)
{
	const uint32_t flows = m->flows < CLAIM_MOST ? m->flows : CLAIM_MOST;
	const uint32_t more = flows > p->flows_there ? flows - p->flows_there : 0;

	p->wants = m->wants;
	p->flows_there = flows;
	p->period_ns = period_ns(m->period_us);
	p->grain = m->segment < GRAIN_MOST ? m->segment : GRAIN_MOST;
	p->rtt_us = m->rtt_us ? m->rtt_us : m->period_us;
	ccs_peer_hear_clock(p, m->clock_ns, ccs_agent_now(a));
	subscribe_ingress(a, p, ends->arrived);
	for (unsigned i = 0; i < a->nports; i++) {
		struct ccs_port *port = &a->port[i];
		const bool wanted = p->wants & CCS_PEER_PORTS && p->flows_there &&
				    publishes_to(port, &ends->remote);

		if (!wanted || port->ifindex || open_egress(a, port) == 0)
			join_or_leave(port, p, wanted);
	}
	if (p->ingress && more && p->wants & CCS_PEER_ADVICE)
		ccs_port_joined(a, p->ingress, more);
	if (p->ingress)
		ccs_heard_ask(a, &ends->local, ccs_port_flows(p->ingress), m->period_us);
}

void ccs_ports_forget(struct ccs_agent *a, struct ccs_peer *p)
{
	for (unsigned i = 0; i < CCS_AGENT_PORTS; i++)
		for (unsigned inbound = 0; inbound < 2; inbound++)
			ccs_port_leave(&a->port[i], p, inbound);
	p->ingress = p->inbound.port = NULL;
}

uint32_t ccs_port_flows(const struct ccs_port *port)
{
	uint64_t flows = 0;

	for (unsigned i = 0; i < port->nsubs; i++) {
		const struct ccs_subscriber *s = &port->sub[i];

		flows += s->inbound ? s->peer->inbound.active : s->peer->flows_there;
	}
	return (uint32_t)(flows < UINT32_MAX ? flows : UINT32_MAX);
}

void ccs_ports_heard(struct ccs_agent *a, uint32_t ifindex)
{
	const uint64_t now_ns = ccs_agent_now(a);

	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		if (ifindex && port->ifindex == ifindex && !port->publication) {
			port->heard_ns = now_ns;
			if (port->taken_ns + CCS_PERIOD_LEAST_NS <= now_ns)
				port->next_ns = now_ns;
		}
}

void ccs_port_marked(struct ccs_port *port)
{
	port->marked = true;
}
