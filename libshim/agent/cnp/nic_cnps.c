/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/cnp/cnp.h"

#include "agent/host/core.h"

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
