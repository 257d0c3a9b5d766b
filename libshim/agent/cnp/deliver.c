/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/cnp/cnp.h"

#include "agent/host/core.h"

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
