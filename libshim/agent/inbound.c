/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data that come in because this host's flows READ them. The host that sends these data only
 * answers requests; the rate is the reader's. So congestion on their way is reported here: a
 * mark on an answer is a CNP for the flow that it is for, which needs no agent at the peer.
 */
#include "agent/port.h"
#include "base/sysfs.h"

static struct ccs_agent_flow *flow_of(struct ccs_link *l)
{
	return (struct ccs_agent_flow *)((char *)l - offsetof(struct ccs_agent_flow, inbound_link));
}

static uint64_t hash_of(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn)
{
	return ccs_mix(a->inbound.salt ^ ((uint64_t)p->serial << 24 | local_qpn));
}

/* -- what can be said of them ------------------------------------------------------- */

static bool is_interface_watched(const struct ccs_agent_config *c, const char *name)
{
	for (unsigned i = 0; i < c->ninterfaces; i++)
		if (strcmp(c->interfaces[i], name) == 0)
			return true;
	return !c->ninterfaces;
}

/* A NIC that counts CNPs sends them itself, to the peer. */
static void set_flags(const struct ccs_agent *a, const struct ccs_agent_flow *f, const char *name,
		      bool able)
{
	const bool marks = a->config.capture && !ccs_counters_alive(&f->counter) &&
			   is_interface_watched(&a->config, name);

	atomic_store_explicit(&f->client->page->slot[f->slot].inbound_flags,
			      (marks ? CCS_PEER_NP : 0) | (able ? CCS_PEER_RECORDS : 0),
			      memory_order_relaxed);
}

/* The interface by which its data come in; "": unknown. */
static void find_interface(const struct ccs_agent *a, const struct ccs_agent_flow *f,
			   char name[IF_NAMESIZE + 1])
{
	if (!ccs_sysfs_netdev(a->counters.sysfs, f->device, f->port, name))
		*name = '\0';
}

/* What an agent before this one has left in the slot is of its own records. */
void ccs_inbound_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_slot *slot = &f->client->page->slot[f->slot];
	const bool wants = atomic_load_explicit(&slot->period_us, memory_order_relaxed);
	char name[IF_NAMESIZE + 1] = "";

	ccs_index_add(&a->inbound, &f->inbound_link, hash_of(a, f->peer, f->local_qpn));
	atomic_store_explicit(&slot->inbound, 0, memory_order_relaxed);
	if (wants || a->config.ninterfaces)
		find_interface(a, f, name);
	set_flags(a, f, name, wants && ccs_ports_can_read(a, if_nametoindex(name)));
}

void ccs_inbound_detach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_slot *slot = &f->client->page->slot[f->slot];

	ccs_index_remove(&a->inbound, &f->inbound_link);
	atomic_store_explicit(&slot->inbound_flags, 0, memory_order_relaxed);
	if (!f->reads)
		return;
	atomic_store_explicit(&slot->inbound, 0, memory_order_release);
	f->client->paths[f->peer->inbound.record - 1]--;
}

/* -- marks -------------------------------------------------------------------------- */

static struct ccs_agent_flow *next(const struct ccs_agent *a, const struct ccs_peer *p,
				   uint32_t local_qpn, struct ccs_agent_flow *f)
{
	struct ccs_link *l = f ? &f->inbound_link : NULL;

	while ((l = ccs_index_next(&a->inbound, l, hash_of(a, p, local_qpn))))
		if (flow_of(l)->peer == p && flow_of(l)->local_qpn == local_qpn)
			return flow_of(l);
	return NULL;
}

bool ccs_inbound_has(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn)
{
	return next(a, p, local_qpn, NULL);
}

void ccs_inbound_cnp(struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn)
{
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_agent_flow *f = NULL;

	while ((f = next(a, p, local_qpn, f)))
		ccs_agent_flow_deliver(f, 1, now_ns);
	a->totals.cnps_inbound++;
}

/* -- telemetry ---------------------------------------------------------------------- */

static void show_ports(const struct ccs_client *c, const struct ccs_inbound *in)
{
	atomic_store_explicit(&c->page->path[in->record - 1].flags,
			      CCS_PEER_RECORDS | (in->ports ? CCS_PEER_PORTS : 0),
			      memory_order_relaxed);
}

/* Its first READ: from now on there is a record for it. */
static void join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_inbound *in = &f->peer->inbound;
	struct ccs_client *c = f->client;
	char name[IF_NAMESIZE + 1];

	if (!in->record)
		in->record = ccs_peer_record(a);
	if (!in->record)
		return;
	f->reads = true;
	find_interface(a, f, name);
	in->ifindex = if_nametoindex(name);
	in->able = ccs_ports_can_read(a, in->ifindex);
	if (!c->paths[in->record - 1]++) {
		show_ports(c, in);
		ccs_path_write(&c->page->path[in->record - 1], &in->telemetry);
	}
	atomic_store_explicit(&c->page->slot[f->slot].inbound, in->record, memory_order_release);
}

/* An interface may come or go, and have another speed then. */
static void show_able(const struct ccs_agent_flow *f, bool able)
{
	_Atomic uint32_t *flags = &f->client->page->slot[f->slot].inbound_flags;
	const uint32_t old = atomic_load_explicit(flags, memory_order_relaxed);
	const uint32_t new = (old & ~(uint32_t)CCS_PEER_RECORDS) | (able ? CCS_PEER_RECORDS : 0);

	if (new != old)
		atomic_store_explicit(flags, new, memory_order_relaxed);
}

void ccs_inbound_count(struct ccs_agent *a, struct ccs_agent_flow *f, uint32_t period_us,
		       uint32_t wants)
{
	struct ccs_inbound *in = &f->peer->inbound;

	if (!f->reads)
		join(a, f);
	show_able(f, in->able);
	in->counting++;
	in->wanting |= wants;
	if (!in->wanting_us || period_us < in->wanting_us)
		in->wanting_us = period_us;
}

void ccs_inbound_update(struct ccs_agent *a, struct ccs_peer *p, uint64_t now_ns)
{
	struct ccs_inbound *in = &p->inbound;
	const bool news = in->active != in->counting || in->period_us != in->wanting_us ||
			  in->asks != in->wanting;
	const uint32_t more = in->counting > in->active ? in->counting - in->active : 0;
	bool able;

	in->active = in->counting;
	in->period_us = in->wanting_us;
	in->asks = in->wanting;
	in->counting = in->wanting_us = in->wanting = 0;
	if (!news && now_ns < in->renew_ns)
		return;
	in->renew_ns = now_ns + CCS_RENEW_NS;
	able = ccs_ports_read(a, p);
	if (in->active)
		in->able = able;
	if (in->port && more && in->asks & CCS_PEER_ADVICE)
		ccs_port_joined(a, in->port, more);
}

static void note_ports(struct ccs_agent *a, struct ccs_inbound *in, bool ports)
{
	if (in->ports == ports)
		return;
	in->ports = ports;
	for (const struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->page && c->paths[in->record - 1])
			show_ports(c, in);
}

void ccs_inbound_report(struct ccs_agent *a, const struct ccs_port *port, struct ccs_peer *p,
			uint32_t flows)
{
	struct ccs_record r[CCS_RECORDS] = { port->record };
	struct ccs_inbound *in = &p->inbound;
	unsigned n = 1;

	if (!in->record)
		return;
	r[0].covers_ns = port->taken_ns;
	n += ccs_heard_for(a, p, port->taken_ns, r + 1, CCS_RECORDS - 1);
	note_ports(a, in, n > 1);
	ccs_echo_convert(&in->telemetry, r, n, flows, ccs_agent_now(a));
	ccs_echo_publish(a, in->record - 1, &in->telemetry);
}
