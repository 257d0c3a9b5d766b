/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows are found by their peer and its QPN. */
#include "agent/events.h"

#include <errno.h>

#include "agent/cnp/cnp.h"
#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/caps.h"
#include "agent/telemetry/telemetry.h"

static uint64_t hash_of_slot(const struct ccs_agent *a, const struct ccs_client *c, uint32_t slot)
{
	return ccs_index_hash(&a->flows.by_slot, (uint64_t)(c - a->client), slot);
}

/* The client chooses its slots: no memory and no time may depend on their numbers. */
struct ccs_agent_flow *ccs_agent_flow_find(const struct ccs_agent *a, const struct ccs_client *c,
					   uint32_t slot)
{
	const uint64_t hash = hash_of_slot(a, c, slot);
	struct ccs_hash_node *l = NULL;

	while ((l = ccs_index_next(&a->flows.by_slot, l, hash))) {
		struct ccs_agent_flow *f = CCS_FLOW_OF(l, slot_link);

		if (f->client == c && f->slot == slot)
			return f;
	}
	return NULL;
}

static void link_to_client(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	ccs_index_add(&a->flows.by_slot, &f->slot_link, hash_of_slot(a, c, f->slot));
	f->next = c->first;
	f->at = &c->first;
	if (f->next)
		f->next->at = &f->next;
	c->first = f;
	c->flows++;
	a->flows.users += c->user->flows++ == 0;
	a->flows.n++;
}

static void unlink_from_client(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	ccs_index_remove(&f->slot_link);
	*f->at = f->next;
	if (f->next)
		f->next->at = f->at;
	c->flows--;
	a->flows.users -= --c->user->flows == 0;
	a->flows.n--;
}

static int check_owner(struct ccs_agent *a, const struct ccs_client *c,
		       const struct ccs_ipc_add *m)
{
	const struct ccs_agent_config *config = &a->config;
	const uid_t user = c->standing == CCS_STANDING_ADMIN ? CCS_ANY_USER : c->uid;
	const int error = config->check_owner
			  ? config->check_owner(config->check_arg, m, c->pid, user)
			  : 0;

	if (error)
		ccs_agent_warn(a, CCS_AGENT_WARN_OWNER, error == EPERM
			? "refused queue pair %s/%u: process %d does not own it"
			: "refused queue pair %s/%u: cannot check whether process %d owns it: %s",
			m->device, m->local_qpn, (int)c->pid, strerror(error));
	return error;
}

/* The limit per user reserves flows for other users. */
static bool has_too_many_flows(struct ccs_agent *a, const struct ccs_client *c)
{
	if (c->standing == CCS_STANDING_ADMIN || c->user->flows < CCS_AGENT_FLOWS_PER_UID)
		return false;
	ccs_agent_warn(a, CCS_AGENT_WARN_FLOWS,
		       "user %u has more than %d flows: further ones get no feedback", c->uid,
		       CCS_AGENT_FLOWS_PER_UID);
	return true;
}

/* The limit per user reserves peers for other users. */
static bool needs_too_many_peers(struct ccs_agent *a, const struct ccs_client *c,
				 const struct ccs_ends *ends)
{
	const struct ccs_peer *p = ccs_peer_find(a, ends);

	if ((p && p->flows) || c->standing == CCS_STANDING_ADMIN ||
	    !ccs_peers_used_up(a, c->uid))
		return false;
	ccs_agent_warn(a, CCS_AGENT_WARN_PEERS,
		       "flows of user %u have more than %d peers: those to further ones get no feedback",
		       c->uid, CCS_AGENT_PEERS_PER_UID);
	return true;
}

/* Each CNP for that QP of the peer is delivered to all flows towards it. Only one can be connected
 * to it, but one that is not connected yet may name any. */
static bool has_too_many_senders(const struct ccs_agent *a, const struct ccs_client *c,
				 const struct ccs_ipc_add *m, const struct ccs_ends *ends)
{
	const struct ccs_peer *p = ccs_peer_find(a, ends);
	const uint64_t hash = p ? ccs_index_hash(&a->flows.by_peer, p->serial, m->peer_qpn) : 0;
	struct ccs_hash_node *l = NULL;
	unsigned n = 0;

	while (p && (l = ccs_index_next(&a->flows.by_peer, l, hash))) {
		const struct ccs_agent_flow *f = CCS_FLOW_OF(l, link);

		n += f->peer == p && f->peer_qpn == m->peer_qpn && ccs_users_share_limits(f->client, c);
	}
	return n >= CCS_AGENT_SAME_QP;
}

/* 0, or the errno with which the request is refused. */
static int check_request(struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_ipc_add *m, const struct ccs_ends *ends)
{
	if (!c->shm || m->slot >= CCS_SHM_SLOTS || !m->local_qpn || m->local_qpn >> 24 ||
	    !m->peer_qpn || m->peer_qpn >> 24 || m->device[sizeof(m->device) - 1] ||
	    !ccs_address_is_unicast(&ends->local) || !ccs_address_is_unicast(&ends->remote) ||
	    ccs_address_is_v4(&ends->local) != ccs_address_is_v4(&ends->remote))
		return EINVAL;
	if (ccs_agent_flow_find(a, c, m->slot))
		return EEXIST;
	if (ccs_cnp_feed_slots_used_up(a, c, m) || has_too_many_senders(a, c, m, ends))
		return EBUSY;
	if (!ccs_agent_owns_address(a, &ends->local))
		return EADDRNOTAVAIL;
	if (a->flows.n >= CCS_AGENT_FLOWS || has_too_many_flows(a, c) ||
	    needs_too_many_peers(a, c, ends))
		return ENOSPC;
	return check_owner(a, c, m);
}

static void attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	link_to_client(a, f);
	ccs_index_add(&a->flows.by_peer, &f->link,
		      ccs_index_hash(&a->flows.by_peer, f->peer->serial, f->peer_qpn));
	ccs_cnp_feed_attach(a, f);
	ccs_inbound_attach(a, f);
	ccs_demand_join(a, f);
	if (!c->paths[f->peer->index]++) {
		ccs_deliver_peer(c, f->peer);
		ccs_echo_publish_to(a, c, f->peer->index, &f->peer->telemetry, &f->peer->rates);
	}
	ccs_nic_cnps_attach(a, f); /* checks the record, which must have been written */
	atomic_store_explicit(&c->shm->slot[f->slot].path, f->peer->index + 1,
			      memory_order_release);
	ccs_caps_join(a, f); /* accesses the slot, whose path must have been written */
	if (!f->peer->flows++) {
		f->peer->uid = c->uid;
		ccs_peer_set_flowless(a, f->peer, false);
		ccs_send_hello(a, f->peer);
	}
}

int ccs_agent_flow_add(struct ccs_agent *a, struct ccs_client *c, const struct ccs_ipc_add *m)
{
	struct ccs_ends ends = {
		.local = ccs_address_of(m->local_gid), .remote = ccs_address_of(m->peer_gid),
	};
	const int error = check_request(a, c, m, &ends);
	struct ccs_agent_flow *f;

	if (error)
		return error;
	f = calloc(1, sizeof(*f));
	if (!f)
		return ENOMEM;
	ends.ifindex = ccs_udp_scope(&ends.local);
	*f = (struct ccs_agent_flow){
		.client = c, .peer = ccs_peer_get(a, &ends), .slot = m->slot, .port = m->port,
		.local_qpn = m->local_qpn, .peer_qpn = m->peer_qpn,
	};
	memcpy(f->device, m->device, sizeof(f->device));
	if (!f->peer || !ccs_client_may_add(c, f->slot, f->peer->index)) {
		c->punched |= f->peer != NULL;
		free(f);
		return c->punched ? EFAULT : ENOSPC;
	}
	attach(a, f);
	return 0;
}

void ccs_agent_flow_remove(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	ccs_demand_leave(a, f);
	ccs_inbound_detach(f);
	if (!c->punched && ccs_client_slot(c, f->slot))
		atomic_store_explicit(&c->shm->slot[f->slot].path, 0, memory_order_release);
	unlink_from_client(a, f);
	c->paths[f->peer->index]--;
	if (!--f->peer->flows)
		ccs_peer_set_flowless(a, f->peer, true);
	ccs_index_remove(&f->link);
	ccs_cnp_feed_detach(f);
	ccs_nic_cnps_detach(a, f);
	free(f);
}

unsigned ccs_agent_flow_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t peer_qpn)
{
	const uint64_t hash = ccs_index_hash(&a->flows.by_peer, p->serial, peer_qpn);
	struct ccs_hash_node *l = NULL;
	unsigned n = 0;

	while ((l = ccs_index_next(&a->flows.by_peer, l, hash))) {
		struct ccs_agent_flow *f = CCS_FLOW_OF(l, link);

		if (f->peer != p || f->peer_qpn != peer_qpn)
			continue;
		ccs_deliver_cnps(f, 1);
		n++;
	}
	return n;
}
