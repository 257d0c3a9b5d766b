/* SPDX-License-Identifier: BSD-2-Clause */
/* Ingress ports are opened when first subscribed to; published ports are configured. */
#include "agent/telemetry/telemetry.h"

#include <errno.h>
#include <stdio.h>

#include "agent/host/core.h"
#include "base/sysfs.h"
#include "base/text.h"

/* -- capacity ---------------------------------------------------------------------- */

static void find_capacity(const struct ccs_agent *a, struct ccs_port *port)
{
	const struct ccs_agent_capacity *c = a->config.capacities;

	port->capacity = 0;
	for (unsigned i = 0; i < a->config.ncapacities; i++)
		if (strcmp(c[i].interface, port->name) == 0)
			port->capacity = c[i].rate;
	if (!(port->capacity > 0))
		port->capacity = ccs_sysfs_speed(a->counters.sysfs, port->name);
}

void ccs_port_check_capacity(struct ccs_agent *a, struct ccs_port *port, bool refresh)
{
	if (refresh && (!port->nsubs || !(port->capacity > 0)))
		find_capacity(a, port);
	if (!(port->capacity > 0))
		ccs_agent_warn(a, CCS_AGENT_WARN_CAPACITY,
			      "no telemetry of %s, whose speed is unknown: set it with --capacity",
			      port->name);
}

/* -- ports ------------------------------------------------------------------------- */

/* Each time a port is opened it gets a new link identifier: its counters may have been reset. */
static void init_record(const struct ccs_agent *a, struct ccs_port *port)
{
	struct {
		uint64_t incarnation, now_ns;
		uint32_t ifindex, number;
	} key = { a->incarnation, ccs_agent_now(a), port->ifindex, (uint32_t)(port - a->port) };

	port->advice = (struct ccs_advice){ 0 };
	port->record = (struct ccs_record){ .link = ccs_record_link(&key, sizeof(key)) };
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
	    ccs_ingress_open(&port->ingress, a->counters.sysfs, port->name))
		return false;
	port->ifindex = ifindex;
	find_capacity(a, port);
	init_record(a, port);
	return true;
}

struct ccs_port *ccs_ports_find_ingress(struct ccs_agent *a, uint32_t ifindex)
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

int ccs_port_open_egress(struct ccs_agent *a, struct ccs_port *port)
{
	const uint32_t ifindex = if_nametoindex(port->name);
	struct ccs_qdisc q;
	int err;

	if (!ifindex)
		return ENODEV;
	err = ccs_qdisc_read_root(&a->netlink, ifindex, &q);
	if (err)
		return err;
	port->capacity = port->publication->rate > 0 ? port->publication->rate : q.tbf_rate;
	if (!(port->capacity > 0))
		port->capacity = ccs_sysfs_speed(a->counters.sysfs, port->name);
	if (!(port->capacity > 0))
		return ERANGE;
	port->ifindex = ifindex;
	init_record(a, port);
	return 0;
}

static int report_publish_error(const struct ccs_agent_publication *p, int error, char *err,
				size_t len)
{
	const char *why = error == ENOENT ? "its qdisc has no counters: add one with tc" :
			  error == ERANGE ? "its speed is unknown: add rate=" :
			  error == EINVAL ? "to= or from= is not an address prefix" : strerror(error);

	snprintf(err, len, "cannot publish port %s: %s", p->port, why);
	errno = error;
	return -1;
}

static int open_publication(struct ccs_agent *a, const struct ccs_agent_publication *p,
			    char *err, size_t len)
{
	struct ccs_port *port = &a->port[a->nports++];
	int error;

	if (strlen(p->port) >= sizeof(port->name))
		return report_publish_error(p, ENODEV, err, len);
	port->publication = p;
	strcpy(port->name, p->port);
	if ((p->to && ccs_prefix_parse(p->to, &port->to)) ||
	    (p->from && ccs_prefix_parse(p->from, &port->from)))
		return report_publish_error(p, EINVAL, err, len);
	error = ccs_port_open_egress(a, port);
	return error ? report_publish_error(p, error, err, len) : 0;
}

int ccs_ports_open(struct ccs_agent *a, char *err, size_t len)
{
	int error;

	a->port = calloc(CCS_AGENT_PORTS, sizeof(*a->port));
	errno = a->port ? EINVAL : ENOMEM;
	if (!a->port || a->config.npublications > CCS_AGENT_PORTS / 2)
		return ccs_refuse(err, len, "cannot publish ports: out of memory, or more than %d",
				  CCS_AGENT_PORTS / 2);
	if (!a->config.npublications)
		return 0;
	error = ccs_netlink_open(&a->netlink, NETLINK_ROUTE);
	if (error)
		return report_publish_error(a->config.publications, error, err, len);
	for (unsigned i = 0; i < a->config.npublications; i++)
		if (open_publication(a, &a->config.publications[i], err, len))
			return -1;
	return 0;
}

void ccs_ports_close(struct ccs_agent *a)
{
	for (struct ccs_port *port = a->port; port && port < a->port + CCS_AGENT_PORTS; port++) {
		if (port->ifindex && !port->publication)
			ccs_ingress_close(&port->ingress);
		free(port->sub);
		free(port->shares.share);
	}
	ccs_netlink_close(&a->netlink);
	free(a->port);
}

/* The next HELLOs of its subscribers try to open the port again. */
void ccs_port_lose(struct ccs_agent *a, struct ccs_port *port, int error)
{
	ccs_agent_warn(a, CCS_AGENT_WARN_PORT, "no telemetry of %s: %s", port->name,
			    strerror(error));
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

/* -- queries ----------------------------------------------------------------------- */

bool ccs_port_publishes_to(const struct ccs_port *port, const struct ccs_address *receiver)
{
	return port->publication && ccs_prefix_covers(&port->to, receiver);
}

uint32_t ccs_ports_capabilities(struct ccs_agent *a, const struct ccs_ends *ends)
{
	const struct ccs_port *port = ccs_ports_find_ingress(a, ends->arrived);
	uint32_t flags = 0;

	if (port && port->capacity > 0)
		flags |= CCS_PEER_RECORDS;
	for (unsigned i = 0; i < a->nports; i++)
		if (ccs_port_publishes_to(&a->port[i], &ends->remote))
			flags |= CCS_PEER_PORTS;
	return flags;
}

bool ccs_ports_can_measure(struct ccs_agent *a, uint32_t ifindex)
{
	const struct ccs_port *port = ccs_ports_find_ingress(a, ifindex);

	return port && port->capacity > 0;
}

uint32_t ccs_port_flows(const struct ccs_port *port)
{
	uint64_t flows = 0;

	for (unsigned i = 0; i < port->nsubs; i++) {
		const struct ccs_subscriber *s = &port->sub[i];

		flows += s->inbound ? s->peer->inbound.request.active : s->peer->subscription.flows;
	}
	return (uint32_t)(flows < UINT32_MAX ? flows : UINT32_MAX);
}

void ccs_ports_switch_record(struct ccs_agent *a, uint32_t ifindex)
{
	const uint64_t now_ns = ccs_agent_now(a);

	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		if (ifindex && port->ifindex == ifindex && !port->publication) {
			port->switch_record_ns = now_ns;
			if (port->sampled_ns + CCS_PERIOD_LEAST_NS <= now_ns)
				port->next_ns = now_ns;
		}
}
