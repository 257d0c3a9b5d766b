/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host that sends these data only answers READ requests; the reader determines the rate.
 * Congestion on the inbound path is therefore reported to the reader: a mark on a READ response
 * is a CNP for the reading flow, which needs no agent at the peer.
 */
#include "agent/telemetry/telemetry.h"

#include "agent/cnp/cnp.h"
#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/shares.h"
#include "base/sysfs.h"

/* -- available feedback ------------------------------------------------------------- */

/* A NIC that counts CNPs is a notification point in hardware, and sends CNPs to the peer. An interface
 * may vanish, appear, or change its speed. */
static void write_slot_flags(const struct ccs_agent *a, const struct ccs_agent_flow *f, bool measurable)
{
	_Atomic uint32_t *flags = &f->client->shm->slot[f->slot].inbound_flags;
	const bool marks = a->config.capture && !ccs_nic_counters_alive(&f->counter);
	const uint32_t new = (marks ? CCS_PEER_NP : 0) | (measurable ? CCS_PEER_RECORDS : 0);

	if (atomic_load_explicit(flags, memory_order_relaxed) != new)
		atomic_store_explicit(flags, new, memory_order_relaxed);
}

/* The interface on which the flow's data arrive; "": unknown. */
static void find_interface(const struct ccs_agent *a, const struct ccs_agent_flow *f,
			   char name[IF_NAMESIZE + 1])
{
	if (!ccs_sysfs_netdev(a->counters.sysfs, f->device, f->port, name))
		*name = '\0';
}

/* The slot may hold the inbound record of an earlier agent, which is cleared. */
void ccs_inbound_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_slot *slot = &f->client->shm->slot[f->slot];
	const bool requested = atomic_load_explicit(&slot->period_us, memory_order_relaxed);
	char name[IF_NAMESIZE + 1] = "";

	ccs_index_add(&a->flows.by_reader, &f->inbound_link,
		      ccs_index_hash(&a->flows.by_reader, f->peer->serial, f->local_qpn));
	atomic_store_explicit(&slot->inbound, 0, memory_order_relaxed);
	if (requested)
		find_interface(a, f, name);
	write_slot_flags(a, f, requested && ccs_ports_can_measure(a, if_nametoindex(name)));
}

void ccs_inbound_detach(struct ccs_agent_flow *f)
{
	struct ccs_slot *slot = f->client->punched ? NULL : ccs_client_slot(f->client, f->slot);

	ccs_index_remove(&f->inbound_link);
	if (slot)
		atomic_store_explicit(&slot->inbound_flags, 0, memory_order_relaxed);
	if (!f->reads)
		return;
	if (slot)
		atomic_store_explicit(&slot->inbound, 0, memory_order_release);
	f->client->paths[f->peer->inbound.path - 1]--;
}

/* -- marks -------------------------------------------------------------------------- */

static struct ccs_agent_flow *next_flow(const struct ccs_agent *a, const struct ccs_peer *p,
					uint32_t local_qpn, struct ccs_agent_flow *f)
{
	const uint64_t hash = ccs_index_hash(&a->flows.by_reader, p->serial, local_qpn);
	struct ccs_hash_node *l = f ? &f->inbound_link : NULL;

	while ((l = ccs_index_next(&a->flows.by_reader, l, hash))) {
		f = CCS_FLOW_OF(l, inbound_link);
		if (f->peer == p && f->local_qpn == local_qpn)
			return f;
	}
	return NULL;
}

bool ccs_inbound_has(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn)
{
	return next_flow(a, p, local_qpn, NULL);
}

void ccs_inbound_cnp(struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn)
{
	struct ccs_agent_flow *f = NULL;

	while ((f = next_flow(a, p, local_qpn, f)))
		ccs_deliver_cnps(f, 1);
	a->totals.cnps_inbound++;
}

/* -- telemetry ---------------------------------------------------------------------- */

static void write_flags(const struct ccs_client *c, const struct ccs_inbound *in)
{
	atomic_store_explicit(&c->shm->path[in->path - 1].flags,
			      CCS_PEER_RECORDS | (in->switch_records ? CCS_PEER_PORTS : 0),
			      memory_order_relaxed);
}

/* At the flow's first READ its slot gets an inbound record. */
static void start_reading(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_inbound *in = &f->peer->inbound;
	struct ccs_client *c = f->client;
	char name[IF_NAMESIZE + 1];

	if (!in->path)
		in->path = ccs_peer_record(a);
	if (!in->path)
		return;
	find_interface(a, f, name);
	in->ifindex = if_nametoindex(name);
	in->measurable = ccs_ports_can_measure(a, in->ifindex);
	if (!c->paths[in->path - 1] && !ccs_client_may_add(c, f->slot, in->path - 1)) {
		c->punched = true;
		return;
	}
	if (!c->paths[in->path - 1]++) {
		write_flags(c, in);
		ccs_echo_publish_to(a, c, in->path - 1, &in->telemetry, &in->rates);
	}
	f->reads = true;
	atomic_store_explicit(&c->shm->slot[f->slot].inbound, in->path, memory_order_release);
}

void ccs_inbound_read(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	if (!f->reads)
		start_reading(a, f);
	write_slot_flags(a, f, f->peer->inbound.measurable);
}

void ccs_inbound_update(struct ccs_agent *a, struct ccs_peer *p, uint32_t active_before,
			uint64_t now_ns)
{
	struct ccs_inbound *in = &p->inbound;
	const bool measurable = ccs_subscribers_update_inbound(a, p);

	in->renew_ns = now_ns + CCS_RENEW_NS;
	if (in->request.active)
		in->measurable = measurable;
	if (in->port && in->request.active > active_before && in->request.flags & CCS_PEER_ADVICE)
		ccs_port_joined(a, in->port, in->request.active - active_before);
}

static void set_switch_records(struct ccs_agent *a, struct ccs_inbound *in, bool switch_records)
{
	if (in->switch_records == switch_records)
		return;
	in->switch_records = switch_records;
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->shm && c->paths[in->path - 1] && ccs_client_path(c, in->path - 1))
			write_flags(c, in);
}

void ccs_inbound_report(struct ccs_agent *a, const struct ccs_port *port,
			const struct ccs_subscriber *s, uint32_t flows)
{
	struct ccs_record r[CCS_RECORDS] = { port->record };
	struct ccs_peer *p = s->peer;
	struct ccs_inbound *in = &p->inbound;
	unsigned n = 1;

	if (!in->path)
		return;
	r[0].covers_ns = port->sampled_ns;
	n += ccs_relay_records_for(a, p, port->sampled_ns, r + 1, CCS_RECORDS - 1);
	r[0].advised = ccs_port_rates(a, port, s, ccs_record_advised(r + 1, n - 1), &in->rates);
	set_switch_records(a, in, n > 1);
	ccs_echo_convert(&in->telemetry, r, n, flows, ccs_agent_now(a));
	ccs_echo_publish(a, in->path - 1, &in->telemetry, &in->rates);
}
