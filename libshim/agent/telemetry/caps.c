/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent measures the flows of tenants with a cap and writes the limit of each into its slot, about
 * every ms. READs count at the reader, with the bytes that they request.
 */
#include "agent/telemetry/caps.h"

#include "agent/host/core.h"

#define PERIOD_NS 1000000ull             /* between divisions */
#define PERIOD_FLOW_NS 10000ull          /* the shortest, per flow: 1 % of a CPU */
#define FIRST_NS 200000ull               /* after a flow was added, if the flows are few */

static double cap_of(const struct ccs_agent *a, const struct ccs_client *c)
{
	return c->tenant ? a->flows.tenant[c->tenant - 1].terms.cap : 0;
}

static void write_limit(struct ccs_agent_flow *f, double limit)
{
	struct ccs_slot *slot = ccs_client_slot(f->client, f->slot);

	if (slot)
		atomic_store_explicit(&slot->limit, (uint64_t)limit, memory_order_relaxed);
}

static uint64_t bytes_of(const struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = ccs_client_slot(f->client, f->slot);

	return slot ? atomic_load_explicit(&slot->sent, memory_order_relaxed) +
		      atomic_load_explicit(&slot->read, memory_order_relaxed) : 0;
}

/* Not earlier than the number of flows permits: a user could add flows without end. */
static void hasten(struct ccs_agent *a, uint64_t at_ns)
{
	if (at_ns < a->flows.caps_least_ns)
		at_ns = a->flows.caps_least_ns;
	if (at_ns < a->due.caps_ns)
		a->due.caps_ns = at_ns;
}

static void begin_flow(struct ccs_agent *a, struct ccs_agent_flow *f, double cap)
{
	const uint64_t now_ns = ccs_agent_now(a);

	f->cap = (struct ccs_cap_flow){ 0 };
	if (cap > 0) {
		f->client->limited = true;
		ccs_cap_begin(&f->cap, cap, bytes_of(f), now_ns);
		hasten(a, now_ns + FIRST_NS);
	}
	write_limit(f, f->cap.limit);
}

void ccs_caps_join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	begin_flow(a, f, cap_of(a, f->client));
}

void ccs_caps_renew(struct ccs_agent *a)
{
	hasten(a, ccs_agent_now(a));
}

/* Flows of a tenant at a device and port follow each other. */
static int by_port(const void *a, const void *b)
{
	const struct ccs_agent_flow *x = CCS_FLOW_OF(*(struct ccs_cap_flow *const *)a, cap);
	const struct ccs_agent_flow *y = CCS_FLOW_OF(*(struct ccs_cap_flow *const *)b, cap);

	if (x->client->tenant != y->client->tenant)
		return x->client->tenant < y->client->tenant ? -1 : 1;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return strcmp(x->device, y->device);
}

/*
 * Flows of tenants with a cap; other flows have no limit. Client entries are allocated from the end of
 * the table. The flows of processes that never had a cap, which may be many, are not visited.
 */
static unsigned collect(struct ccs_agent *a, struct ccs_cap_flow **cap)
{
	struct ccs_client *c = a->client + CCS_AGENT_CLIENTS;
	unsigned n = 0;

	for (unsigned left = a->nclients; left && c-- > a->client;) {
		const bool has_cap = cap_of(a, c) > 0;

		left -= c->source.fd >= 0;
		for (struct ccs_agent_flow *f = has_cap || c->limited ? c->first : NULL; f; f = f->next)
			if (has_cap)
				cap[n++] = &f->cap;
			else
				begin_flow(a, f, 0);
		c->limited = has_cap;
	}
	return n;
}

/* Lower limits are written first, so that their sum does not exceed the cap in between. */
static void divide(struct ccs_agent *a, struct ccs_cap_flow **cap, unsigned n, uint64_t now_ns)
{
	const double all = cap_of(a, CCS_FLOW_OF(cap[0], cap)->client);

	for (unsigned i = 0; i < n; i++) {
		struct ccs_agent_flow *f = CCS_FLOW_OF(cap[i], cap);
		const struct ccs_slot *slot = ccs_client_slot(f->client, f->slot);

		if (!(f->cap.limit > 0))
			begin_flow(a, f, all);
		ccs_cap_measure(cap[i], bytes_of(f),
				slot ? atomic_load_explicit(&slot->segment, memory_order_relaxed) : 0, now_ns);
	}
	ccs_cap_divide(cap, n, all);
	for (unsigned raise = 0; raise < 2; raise++)
		for (unsigned i = 0; i < n; i++)
			if ((cap[i]->limit > cap[i]->before) == raise)
				write_limit(CCS_FLOW_OF(cap[i], cap), cap[i]->limit);
}

void ccs_caps_update(struct ccs_agent *a, uint64_t now_ns)
{
	struct ccs_cap_flow **cap;
	unsigned n, end;

	if (now_ns < a->due.caps_ns)
		return;
	a->due.caps_ns = now_ns + PERIOD_NS;
	cap = calloc(a->flows.n + 1, sizeof(*cap));
	if (!cap)
		return;
	n = collect(a, cap);
	qsort(cap, n, sizeof(*cap), by_port);
	for (unsigned i = 0; i < n; i = end) {
		for (end = i + 1; end < n && by_port(&cap[i], &cap[end]) == 0; end++)
			;
		divide(a, cap + i, end - i, now_ns);
	}
	free(cap);
	a->flows.caps_least_ns = now_ns + n * PERIOD_FLOW_NS;
	a->due.caps_ns = n ? a->due.caps_ns : UINT64_MAX;
	if (a->due.caps_ns < a->flows.caps_least_ns)
		a->due.caps_ns = a->flows.caps_least_ns;
}
