/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim/feed.h is the public interface. Flows are found by device and QPN. */
#include "agent/cnp/cnp.h"

#include <errno.h>

#include "agent/host/core.h"

static uint64_t hash_of(const struct ccs_agent *a, const char *device, uint32_t qpn)
{
	uint64_t hash = a->flows.by_qp.salt ^ qpn;

	while (*device)
		hash = ccs_mix(hash ^ (uint8_t)*device++);
	return hash;
}

void ccs_cnp_feed_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	ccs_index_add(&a->flows.by_qp, &f->qp_link, hash_of(a, f->device, f->local_qpn));
}

void ccs_cnp_feed_detach(struct ccs_agent_flow *f)
{
	ccs_index_remove(&f->qp_link);
}

/* The flow of that QP after f, or the first; NULL: no other. */
static struct ccs_agent_flow *next_flow(const struct ccs_agent *a, const char *device, uint32_t qpn,
					struct ccs_agent_flow *f)
{
	const uint64_t hash = hash_of(a, device, qpn);
	struct ccs_hash_node *l = f ? &f->qp_link : NULL;

	while ((l = ccs_index_next(&a->flows.by_qp, l, hash))) {
		f = CCS_FLOW_OF(l, qp_link);
		if (f->local_qpn == qpn && strcmp(f->device, device) == 0)
			return f;
	}
	return NULL;
}

bool ccs_cnp_feed_slots_used_up(const struct ccs_agent *a, const struct ccs_client *c,
				const struct ccs_ipc_add *m)
{
	struct ccs_agent_flow *f = NULL;
	unsigned n = 0;

	while ((f = next_flow(a, m->device, m->local_qpn, f)))
		n += ccs_users_share_limits(f->client, c);
	return n >= CCS_AGENT_SAME_QP;
}

bool ccs_cnp_feed_has_other_peer(const struct ccs_agent *a, const char *device, uint32_t qpn,
				 const struct ccs_peer *p)
{
	struct ccs_agent_flow *f = NULL;
	bool other = false;

	while ((f = next_flow(a, device, qpn, f))) {
		if (f->peer == p)
			return false;
		other = true;
	}
	return other;
}

int ccs_cnp_feed_deliver(struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_ipc_cnp *m)
{
	struct ccs_agent_flow *f = NULL;
	int error = ENOENT;

	if (!m->count || memchr(m->device, '\0', sizeof(m->device)) == NULL)
		return EINVAL;
	while ((f = next_flow(a, m->device, m->local_qpn, f))) {
		if (!ccs_users_may_access(c, f->client)) {
			error = error ? EPERM : 0;
			continue;
		}
		ccs_deliver_cnps(f, m->count);
		error = 0;
	}
	a->totals.cnps_hooked += error ? 0 : m->count;
	return error;
}

void ccs_deliver_cnps(struct ccs_agent_flow *f, uint64_t n)
{
	struct ccs_slot *slot = ccs_client_slot(f->client, f->slot);

	if (slot)
		atomic_fetch_add_explicit(&slot->cnps, n, memory_order_relaxed);
}

void ccs_deliver_peer(const struct ccs_client *c, const struct ccs_peer *p)
{
	struct ccs_shm_path *path = &c->shm->path[p->index];
	const uint32_t flags = (p->capabilities & ~(uint32_t)CCS_PEER_PORTS) |
			       (p->nic_counts_cnps ? CCS_PEER_NP : 0) |
			       (p->switch_records ? CCS_PEER_PORTS : 0);

	atomic_store_explicit(&path->flags, flags, memory_order_relaxed);
	atomic_store_explicit(&path->last_seen_ns, p->last_seen_ns, memory_order_release);
}

void ccs_deliver_peer_to_all(struct ccs_agent *a, const struct ccs_peer *p)
{
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++) {
		struct ccs_client *c = &a->client[i];

		if (c->shm && c->paths[p->index] && ccs_client_path(c, p->index))
			ccs_deliver_peer(c, p);
	}
}

static void deliver(void *arg, struct ccs_nic_counter_flow *flow, uint32_t cnps)
{
	struct ccs_agent *a = arg;

	ccs_deliver_cnps(CCS_FLOW_OF(flow, counter), cnps);
	a->totals.cnps_counted += cnps;
}

void ccs_nic_cnps_poll(struct ccs_agent *a, uint64_t now_ns)
{
	ccs_nic_counters_poll(&a->counters, now_ns, deliver, a);
}

/* These flows need no agent at the peer, only readable counters. */
static void update_peer(void *arg, struct ccs_nic_counter_flow *flow)
{
	const uint64_t *now_ns = arg;
	struct ccs_agent_flow *f = CCS_FLOW_OF(flow, counter);

	f->peer->nic_counts_cnps = ccs_nic_counters_alive(flow);
	if (!f->peer->nic_counts_cnps)
		return;
	f->peer->last_seen_ns = *now_ns;
	if (ccs_client_path(f->client, f->peer->index))
		ccs_deliver_peer(f->client, f->peer);
}

/* Most devices have no such counters. */
void ccs_nic_cnps_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->shm->slot[f->slot];
	uint64_t now_ns = ccs_agent_now(a);

	if (ccs_nic_counters_join(&a->counters, f->device, f->port, &f->counter, &slot->rate) == 0)
		update_peer(&now_ns, &f->counter);
}

void ccs_nic_cnps_detach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	ccs_nic_counters_leave(&a->counters, &f->counter);
	if (!f->peer->flows)
		f->peer->nic_counts_cnps = false;
}

void ccs_nic_cnps_tick(struct ccs_agent *a, uint64_t now_ns)
{
	ccs_nic_counters_each(&a->counters, update_peer, &now_ns);
}
