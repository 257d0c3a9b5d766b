/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows are found by their peer and its QPN. */
#include "agent/cnp/flows.h"

#include <errno.h>

#include "agent/cnp/cnp_feed.h"
#include "agent/cnp/deliver.h"
#include "agent/cnp/nic_cnps.h"
#include "agent/core.h"
#include "agent/net/peers.h"
#include "agent/net/send.h"
#include "agent/net/udp.h"
#include "agent/telemetry/demand.h"
#include "agent/telemetry/inbound.h"

static uint64_t hash_of(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t qpn)
{
	return ccs_mix(a->flows.salt ^ ((uint64_t)p->serial << 24 | qpn));
}

/* Extend the client's table to that slot; its size doubles. */
static int reserve_slot(struct ccs_client *c, uint32_t slot)
{
	uint32_t n = c->nslots ? c->nslots : 64;
	struct ccs_agent_flow **flow;

	if (slot < c->nslots)
		return 0;
	while (n <= slot)
		n *= 2;
	flow = realloc(c->flow, n * sizeof(*flow));
	if (!flow)
		return -1;
	memset(flow + c->nslots, 0, (n - c->nslots) * sizeof(*flow));
	c->flow = flow;
	c->nslots = n;
	return 0;
}

static int check_owner(struct ccs_agent *a, const struct ccs_client *c,
		       const struct ccs_ipc_add *m)
{
	const struct ccs_agent_config *config = &a->config;
	const int error = config->check_owner
			  ? config->check_owner(config->check_owner_arg, m, c->pid) : 0;

	if (error)
		ccs_agent_warn_once(a, CCS_AGENT_WARN_OWNER, error == EPERM
			? "refused queue pair %s/%u: process %d does not own it"
			: "refused queue pair %s/%u: cannot check whether process %d owns it: %s",
			m->device, m->local_qpn, (int)c->pid, strerror(error));
	return error;
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
	if (m->slot < c->nslots && c->flow[m->slot])
		return EEXIST;
	if (ccs_cnp_feed_slots_used_up(a, c, m))
		return EBUSY;
	if (!ccs_agent_owns_address(a, &ends->local))
		return EADDRNOTAVAIL;
	if (a->nflows >= CCS_AGENT_FLOWS)
		return ENOSPC;
	return check_owner(a, c, m);
}

static void attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	c->flow[f->slot] = f;
	c->flows++;
	a->nflows++;
	ccs_index_add(&a->flows, &f->link, hash_of(a, f->peer, f->peer_qpn));
	ccs_cnp_feed_attach(a, f);
	ccs_nic_cnps_attach(a, f);
	ccs_inbound_attach(a, f);
	ccs_demand_join(a, f);
	if (!c->paths[f->peer->index]++) {
		ccs_deliver_peer(c, f->peer);
		ccs_shm_path_write(&c->shm->path[f->peer->index], &f->peer->telemetry);
	}
	atomic_store_explicit(&c->shm->slot[f->slot].path, f->peer->index + 1,
			      memory_order_release);
	if (!f->peer->flows++)
		ccs_send_hello(a, f->peer);
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
	if (!f || reserve_slot(c, m->slot)) {
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

	atomic_store_explicit(&c->shm->slot[f->slot].path, 0, memory_order_release);
	c->flow[f->slot] = NULL;
	c->flows--;
	c->paths[f->peer->index]--;
	f->peer->flows--;
	a->nflows--;
	ccs_index_remove(&a->flows, &f->link);
	ccs_cnp_feed_detach(a, f);
	ccs_inbound_detach(a, f);
	ccs_nic_cnps_detach(a, f);
	free(f);
}

unsigned ccs_agent_flow_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t peer_qpn)
{
	const uint64_t hash = hash_of(a, p, peer_qpn), now_ns = ccs_agent_now(a);
	struct ccs_hash_node *l = NULL;
	unsigned n = 0;

	while ((l = ccs_index_next(&a->flows, l, hash))) {
		struct ccs_agent_flow *f = (struct ccs_agent_flow *)l;

		if (f->peer != p || f->peer_qpn != peer_qpn)
			continue;
		ccs_deliver_cnps(f, 1, now_ns);
		n++;
	}
	return n;
}
