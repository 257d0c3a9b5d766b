/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows of NICs that handle CNPs themselves: what their ports count is told to the flows. */
#include "agent/priv.h"

static struct ccs_agent_flow *flow_of(struct ccs_counter_flow *c)
{
	return (struct ccs_agent_flow *)((char *)c - offsetof(struct ccs_agent_flow, counter));
}

struct delivery {
	struct ccs_agent *agent;
	uint64_t now_ns;
};

static void deliver(void *arg, struct ccs_counter_flow *flow, uint32_t cnps)
{
	const struct delivery *d = arg;

	ccs_agent_flow_deliver(flow_of(flow), cnps, d->now_ns);
	d->agent->totals.cnps_counted += cnps;
}

void ccs_nic_poll(struct ccs_agent *a, uint64_t now_ns)
{
	struct delivery d = { a, now_ns };

	ccs_counters_poll(&a->counters, now_ns, deliver, &d);
}

/* These flows need no agent of the peer's: that the counters are there is enough. */
static void note_life(void *arg, struct ccs_counter_flow *flow)
{
	const uint64_t *now_ns = arg;
	struct ccs_agent_flow *f = flow_of(flow);

	f->peer->nic = ccs_counters_alive(flow);
	if (!f->peer->nic)
		return;
	f->peer->heard_ns = *now_ns;
	ccs_agent_flow_tell(f);
}

/* Most devices have no such counters. */
void ccs_nic_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->page->slot[f->slot];
	uint64_t now_ns = ccs_agent_now(a);

	if (ccs_counters_join(&a->counters, f->device, f->port, &f->counter, &slot->rate) == 0)
		note_life(&now_ns, &f->counter);
}

void ccs_nic_detach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	ccs_counters_leave(&a->counters, &f->counter);
	if (!f->peer->flows)
		f->peer->nic = false;
}

void ccs_nic_tick(struct ccs_agent *a, uint64_t now_ns)
{
	ccs_counters_each(&a->counters, note_life, &now_ns);
}
