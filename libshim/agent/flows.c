/* SPDX-License-Identifier: BSD-2-Clause */
/* The flows that clients have put into slots of theirs, found by peer and its QPN. */
#include <errno.h>

#include "agent/priv.h"

static uint64_t hash_of(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t qpn)
{
	return ccs_mix(a->flows.salt ^ ((uint64_t)p->serial << 24 | qpn));
}

/* Room for its slot in the client's table, which grows by doubling. */
static int make_room(struct ccs_client *c, uint32_t slot)
{
	uint32_t room = c->room ? c->room : 64;
	struct ccs_agent_flow **flow;

	if (slot < c->room)
		return 0;
	while (room <= slot)
		room *= 2;
	flow = realloc(c->flow, room * sizeof(*flow));
	if (!flow)
		return -1;
	memset(flow + c->room, 0, (room - c->room) * sizeof(*flow));
	c->flow = flow;
	c->room = room;
	return 0;
}

static int foreign(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_local_add *m)
{
	const int error = a->config.owner ? a->config.owner(a->config.owner_arg, m, c->pid) : 0;

	if (error)
		ccs_agent_say(a, CCS_TROUBLE_OWNER, error == EPERM
			      ? "queue pair %s/%u is not of process %d, which registers it"
			      : "whose queue pair %s/%u is cannot be told for process %d: %s",
			      m->device, m->local_qpn, (int)c->pid, strerror(error));
	return error;
}

static int refuse(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_local_add *m,
		  const struct ccs_ends *ends)
{
	if (!c->page || m->slot >= CCS_PAGE_SLOTS || !m->local_qpn || m->local_qpn >> 24 ||
	    !m->peer_qpn || m->peer_qpn >> 24 || m->device[sizeof(m->device) - 1] ||
	    !ccs_address_is_unicast(&ends->local) || !ccs_address_is_unicast(&ends->remote) ||
	    ccs_address_is_v4(&ends->local) != ccs_address_is_v4(&ends->remote))
		return EINVAL;
	if (m->slot < c->room && c->flow[m->slot])
		return EEXIST;
	if (ccs_hook_has_enough(a, c, m))
		return EBUSY;
	if (!ccs_agent_speaks_for(a, &ends->local))
		return EADDRNOTAVAIL;
	if (a->nflows >= CCS_AGENT_FLOWS)
		return ENOSPC;
	return foreign(a, c, m);
}

static void tell_path(const struct ccs_client *c, const struct ccs_peer *p)
{
	struct ccs_path *path = &c->page->path[p->index];
	const uint32_t gives = (p->gives & ~(uint32_t)CCS_PEER_PORTS) |
			       (p->nic ? CCS_PEER_NP : 0) | (p->ports ? CCS_PEER_PORTS : 0);

	atomic_store_explicit(&path->flags, gives, memory_order_relaxed);
	atomic_store_explicit(&path->heard_ns, p->heard_ns, memory_order_release);
}

static void attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	c->flow[f->slot] = f;
	c->flows++;
	a->nflows++;
	ccs_index_add(&a->flows, &f->link, hash_of(a, f->peer, f->peer_qpn));
	ccs_hook_attach(a, f);
	ccs_nic_attach(a, f);
	ccs_inbound_attach(a, f);
	ccs_activity_join(a, f);
	if (!c->paths[f->peer->index]++) {
		tell_path(c, f->peer);
		ccs_path_write(&c->page->path[f->peer->index], &f->peer->telemetry);
	}
	atomic_store_explicit(&c->page->slot[f->slot].path, f->peer->index + 1,
			      memory_order_release);
	if (!f->peer->flows++)
		ccs_message_hello(a, f->peer);
}

int ccs_agent_flow_add(struct ccs_agent *a, struct ccs_client *c, const struct ccs_local_add *m)
{
	struct ccs_ends ends = {
		.local = ccs_address_of(m->local_gid), .remote = ccs_address_of(m->peer_gid),
	};
	const int error = refuse(a, c, m, &ends);
	struct ccs_agent_flow *f;

	if (error)
		return error;
	f = calloc(1, sizeof(*f));
	if (!f || make_room(c, m->slot)) {
		free(f);
		return ENOMEM;
	}
	ends.ifindex = ccs_udp_scope(&ends.local);
	*f = (struct ccs_agent_flow){
		.client = c, .peer = ccs_peer_get(a, &ends), .slot = m->slot, .port = m->port,
		.local_qpn = m->local_qpn, .peer_qpn = m->peer_qpn,
	};
	memcpy(f->device, m->device, sizeof(f->device));
	if (!f->peer) {
		free(f);
		return ENOSPC;
	}
	attach(a, f);
	return 0;
}

void ccs_agent_flow_remove(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	atomic_store_explicit(&c->page->slot[f->slot].path, 0, memory_order_release);
	c->flow[f->slot] = NULL;
	c->flows--;
	c->paths[f->peer->index]--;
	f->peer->flows--;
	a->nflows--;
	ccs_index_remove(&a->flows, &f->link);
	ccs_hook_detach(a, f);
	ccs_inbound_detach(a, f);
	ccs_nic_detach(a, f);
	free(f);
}

/* The count last: who sees it, sees its time, too. */
void ccs_agent_flow_deliver(struct ccs_agent_flow *f, uint64_t n, uint64_t now_ns)
{
	struct ccs_slot *slot = &f->client->page->slot[f->slot];

	atomic_store_explicit(&slot->cnp_ns, now_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&slot->cnps, n, memory_order_release);
}

unsigned ccs_agent_flow_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t peer_qpn)
{
	const uint64_t hash = hash_of(a, p, peer_qpn), now_ns = ccs_agent_now(a);
	struct ccs_link *l = NULL;
	unsigned n = 0;

	while ((l = ccs_index_next(&a->flows, l, hash))) {
		struct ccs_agent_flow *f = (struct ccs_agent_flow *)l;

		if (f->peer != p || f->peer_qpn != peer_qpn)
			continue;
		ccs_agent_flow_deliver(f, 1, now_ns);
		n++;
	}
	return n;
}

void ccs_agent_flow_tell(const struct ccs_agent_flow *f)
{
	tell_path(f->client, f->peer);
}

void ccs_agent_flow_heard(struct ccs_agent *a, const struct ccs_peer *p)
{
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++) {
		const struct ccs_client *c = &a->client[i];

		if (c->page && c->paths[p->index])
			tell_path(c, p);
	}
}
