/* SPDX-License-Identifier: BSD-2-Clause */
/* docs/man/ccshimd.8 explains the members of the JSON object. */
#include "agent/events.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"
#include "base/json.h"

/* The text must fit into one packet of the UNIX socket. */
enum { MOST_PEERS = 256, MOST_CLIENTS = 256, MOST_SHARES = 256 };

static const char *const refusals[CCS_REFUSALS] = {
	[CCS_REFUSED_PORT] = "port",
	[CCS_REFUSED_ADDRESS] = "address",
	[CCS_REFUSED_GARBAGE] = "garbage",
	[CCS_REFUSED_VERSION] = "version",
	[CCS_REFUSED_TYPE] = "type",
	[CCS_REFUSED_AUTH] = "authentication",
	[CCS_REFUSED_INCARNATION] = "incarnation",
	[CCS_REFUSED_REPLAYED] = "replayed",
	[CCS_REFUSED_PEER] = "unknown_peer",
	[CCS_REFUSED_FLOW] = "unknown_flow",
	[CCS_REFUSED_LIMIT] = "crowded",
};

static void put_totals(struct ccs_json *j, struct ccs_agent *a)
{
	struct ccs_agent_totals *t = &a->totals;

	t->messages_dropped = ccs_udp_dropped(a);
	ccs_json_bool(j, "capturing", a->config.capture);
#define PUT(name) ccs_json_uint(j, #name, t->name);
	CCS_AGENT_TOTALS(PUT)
#undef PUT
	ccs_json_object(j, "refused");
	for (unsigned i = 0; i < CCS_REFUSALS; i++)
		ccs_json_uint(j, refusals[i], t->refused[i]);
	ccs_json_end(j);
}

static void put_age(struct ccs_json *j, const char *key, uint64_t now_ns, uint64_t then_ns)
{
	if (then_ns)
		ccs_json_num(j, key, (double)(int64_t)(now_ns - then_ns) / 1e9);
	else
		ccs_json_str(j, key, NULL);
}

static void put_peer(struct ccs_json *j, const struct ccs_peer *p, uint64_t now_ns)
{
	char text[INET6_ADDRSTRLEN];

	ccs_json_object(j, NULL);
	ccs_json_str(j, "local", ccs_address_text(&p->ends.local, text));
	ccs_json_str(j, "remote", ccs_address_text(&p->ends.remote, text));
	ccs_json_uint(j, "flows", p->flows);
	put_age(j, "heard_s", now_ns, p->last_seen_ns);
	ccs_json_bool(j, "np", p->capabilities & CCS_PEER_NP);
	ccs_json_bool(j, "telemetry", p->capabilities & CCS_PEER_TELEMETRY);
	ccs_json_uint(j, "hops", p->telemetry.nhops);
	ccs_json_uint(j, "hop_flows", p->telemetry.flows);
	put_age(j, "hops_s", now_ns, p->telemetry.updated_ns);
	ccs_json_uint(j, "inbound_flows", p->inbound.request.active);
	ccs_json_uint(j, "inbound_hops", p->inbound.telemetry.nhops);
	put_age(j, "inbound_hops_s", now_ns, p->inbound.telemetry.updated_ns);
	ccs_json_bool(j, "leased", ccs_peer_leased(p, now_ns));
	ccs_json_uint(j, "cnps_sent", p->cnps_sent);
	ccs_json_uint(j, "cnps_received", p->cnps_received);
	ccs_json_end(j);
}

/* All peers in one pass: a user may have the maximum of peers and of connections. */
static void find_visible_peers(const struct ccs_agent *a, const struct ccs_client *viewer,
			       bool visible[CCS_SHM_PATHS])
{
	memset(visible, viewer->standing != CCS_STANDING_USER, CCS_SHM_PATHS);
	for (const struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		for (uint32_t i = 0; c->shm && ccs_users_may_access(viewer, c) && i < a->peers.high; i++)
			visible[i] |= c->paths[i] != 0;
}

static void put_peers(struct ccs_json *j, const struct ccs_agent *a, uint64_t now_ns,
		      const struct ccs_client *viewer)
{
	bool visible[CCS_SHM_PATHS];
	unsigned n = 0;

	find_visible_peers(a, viewer, visible);
	ccs_json_array(j, "peers");
	for (uint32_t i = 0; i < a->peers.high; i++)
		if (a->peers.peer[i].serial && visible[i] && n++ < MOST_PEERS)
			put_peer(j, &a->peers.peer[i], now_ns);
	ccs_json_end(j);
	ccs_json_uint(j, "peers_omitted", n > MOST_PEERS ? n - MOST_PEERS : 0);
}

/* The name, if it is a tenant of this host. Users see no names of others. */
static const char *find_name(const struct ccs_agent *a, uint64_t identity, const struct ccs_client *viewer)
{
	for (unsigned i = 0; i < a->flows.tenants && viewer->standing != CCS_STANDING_USER; i++)
		if (a->flows.tenant[i].identity == identity)
			return a->flows.tenant[i].name;
	return NULL;
}

static void put_share(struct ccs_json *j, const struct ccs_port *port, const struct ccs_tenant_share *s,
		      const char *name)
{
	const bool binds = (double)port->record.advised < CCS_ADVICE_FREE * port->capacity;
	const double factor = s->weight / s->flows / port->shares.unit;

	ccs_json_object(j, NULL);
	ccs_json_str(j, "tenant", name);
	ccs_json_num(j, "weight", s->weight);
	ccs_json_uint(j, "flows", s->flows);
	ccs_json_num(j, "advised_bps", (double)port->record.advised * (binds ? factor : 1));
	ccs_json_end(j);
}

/* Tenants of this host first. Each host that sends to the port may have some; *left: to be listed, of all
 * ports. */
static void put_shares(struct ccs_json *j, const struct ccs_agent *a, const struct ccs_port *port,
		       const struct ccs_client *viewer, unsigned *left)
{
	const unsigned before = *left;

	ccs_json_array(j, "shares");
	for (unsigned i = 0; i < 2 * port->shares.n && *left; i++) {
		const struct ccs_tenant_share *s = &port->shares.share[i % port->shares.n];
		const char *name = find_name(a, s->tenant, viewer);

		if (!name == (i >= port->shares.n)) {
			put_share(j, port, s, name);
			--*left;
		}
	}
	ccs_json_end(j);
	ccs_json_uint(j, "shares_omitted", port->shares.n - (before - *left));
}

static void put_terms(struct ccs_json *j, const struct ccs_terms *t)
{
	ccs_json_num(j, "weight", t->weight);
	ccs_json_num(j, "cap_bps", t->cap);
	ccs_json_num(j, "guarantee_bps", t->guarantee);
	ccs_json_str(j, "class", t->floor > 0 ? "background" : "foreground");
	ccs_json_num(j, "floor", t->floor);
}

static void put_tenants(struct ccs_json *j, const struct ccs_agent *a, const struct ccs_client *viewer)
{
	ccs_json_array(j, "tenants");
	for (unsigned i = 0; i < a->flows.tenants && viewer->standing != CCS_STANDING_USER; i++) {
		ccs_json_object(j, NULL);
		ccs_json_str(j, "tenant", a->flows.tenant[i].name);
		put_terms(j, &a->flows.tenant[i].terms);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void put_link(struct ccs_json *j, const struct ccs_agent *a, const struct ccs_port *port,
		     uint64_t now_ns, const struct ccs_client *viewer, unsigned *shares)
{
	ccs_json_object(j, NULL);
	ccs_json_str(j, "interface", port->name);
	ccs_json_bool(j, "ingress", !port->publication);
	ccs_json_num(j, "capacity", port->capacity);
	ccs_json_uint(j, "bytes", port->record.tx_bytes);
	ccs_json_uint(j, "queue_bytes", port->record.qlen_bytes);
	put_age(j, "sampled_s", now_ns, port->sampled_ns);
	ccs_json_uint(j, "peers", port->nsubs);
	ccs_json_uint(j, "flows", ccs_port_flows(port));
	ccs_json_uint(j, "advised_bps", port->record.advised);
	put_shares(j, a, port, viewer, shares);
	ccs_json_end(j);
}

static void put_links(struct ccs_json *j, const struct ccs_agent *a, uint64_t now_ns,
		      const struct ccs_client *viewer)
{
	unsigned shares = MOST_SHARES;

	ccs_json_array(j, "links");
	for (unsigned i = 0; i < CCS_AGENT_PORTS; i++)
		if (a->port[i].ifindex)
			put_link(j, a, &a->port[i], now_ns, viewer, &shares);
	ccs_json_end(j);
}

static void put_clients(struct ccs_json *j, const struct ccs_agent *a, const struct ccs_client *viewer)
{
	unsigned n = 0;

	ccs_json_array(j, "clients");
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++) {
		const struct ccs_client *c = &a->client[i];

		if (!c->shm || !ccs_users_may_access(viewer, c) || n++ >= MOST_CLIENTS)
			continue;
		ccs_json_object(j, NULL);
		ccs_json_uint(j, "pid", (uint64_t)c->pid);
		ccs_json_uint(j, "uid", c->uid);
		ccs_json_uint(j, "flows", c->flows);
		ccs_json_str(j, "tenant", c->tenant ? a->flows.tenant[c->tenant - 1].name : NULL);
		ccs_json_end(j);
	}
	ccs_json_end(j);
	ccs_json_uint(j, "clients_omitted", n > MOST_CLIENTS ? n - MOST_CLIENTS : 0);
}

char *ccs_status_text(struct ccs_agent *a, const struct ccs_client *viewer, size_t *len)
{
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_json j;
	char *text = NULL;
	FILE *f = open_memstream(&text, len);
	bool ok;

	if (!f)
		return NULL;
	ccs_capture_count(a);
	ccs_document_start(&j, f, ccs_document_now());
	ccs_json_uint(&j, "wire_version", CCS_WIRE_VERSION);
	ccs_json_uint(&j, "pid", (uint64_t)getpid());
	put_age(&j, "uptime_s", now_ns, a->opened_ns);
	put_totals(&j, a);
	put_peers(&j, a, now_ns, viewer);
	put_links(&j, a, now_ns, viewer);
	put_tenants(&j, a, viewer);
	put_clients(&j, a, viewer);
	ok = ccs_json_finish(&j);
	if (fclose(f) == 0 && ok)
		return text;
	free(text);
	return NULL;
}
