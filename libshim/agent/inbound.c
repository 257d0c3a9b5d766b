/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data that come in because this host's flows READ them. The host that sends these data only
 * answers requests; the rate is the reader's. So congestion on their way is reported here: a
 * mark on an answer is a CNP for the flow that it is for, which needs no agent at the peer.
 */
#include "agent/priv.h"
#include "base/sysfs.h"

static struct ccs_agent_flow *flow_of(struct ccs_link *l)
{
	return (struct ccs_agent_flow *)((char *)l - offsetof(struct ccs_agent_flow, inbound_link));
}

static uint64_t hash_of(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn)
{
	return ccs_mix(a->inbound.salt ^ ((uint64_t)p->serial << 24 | local_qpn));
}

/* Whether its marks are seen here. A NIC that counts CNPs sends them itself, to the peer. */
static bool is_watched(const struct ccs_agent *a, const struct ccs_agent_flow *f)
{
	const struct ccs_agent_config *c = &a->config;
	char name[IF_NAMESIZE + 1];

	if (!c->capture || ccs_counters_alive(&f->counter))
		return false;
	if (!c->ninterfaces)
		return true;
	if (!ccs_sysfs_netdev(a->counters.sysfs, f->device, f->port, name))
		return false;
	for (unsigned i = 0; i < c->ninterfaces; i++)
		if (strcmp(c->interfaces[i], name) == 0)
			return true;
	return false;
}

void ccs_inbound_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_slot *slot = &f->client->page->slot[f->slot];

	ccs_index_add(&a->inbound, &f->inbound_link, hash_of(a, f->peer, f->local_qpn));
	atomic_store_explicit(&slot->inbound_flags, is_watched(a, f) ? CCS_PEER_NP : 0,
			      memory_order_relaxed);
}

void ccs_inbound_detach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_slot *slot = &f->client->page->slot[f->slot];

	ccs_index_remove(&a->inbound, &f->inbound_link);
	atomic_store_explicit(&slot->inbound_flags, 0, memory_order_relaxed);
}

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
