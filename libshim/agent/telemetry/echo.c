/* SPDX-License-Identifier: BSD-2-Clause */
/* Each ECHO of a receiver's agent is written to the regions of clients that send there. */
#include "agent/telemetry/telemetry.h"

#include "agent/host/core.h"

#include "agent/cnp/cnp.h"
#include "agent/host/tenants.h"

void ccs_echo_publish_to(const struct ccs_agent *a, const struct ccs_client *c, uint32_t index,
			 const struct ccs_path_telemetry *t, const struct ccs_tenant_list *rates)
{
	struct ccs_path_telemetry own = *t;

	own.advised_rate = ccs_tenant_rate(a, c, rates, t->advised_rate);
	ccs_shm_path_write(&c->shm->path[index], &own);
}

/* Client entries are allocated from the end of the table. */
void ccs_echo_publish(struct ccs_agent *a, uint32_t index, const struct ccs_path_telemetry *t,
		      const struct ccs_tenant_list *rates)
{
	struct ccs_client *c = a->client + CCS_AGENT_CLIENTS;

	for (unsigned n = a->nclients; n && c-- > a->client;) {
		n -= c->source.fd >= 0;
		if (c->shm && c->paths[index] && ccs_client_path(c, index))
			ccs_echo_publish_to(a, c, index, t, rates);
	}
}

static uint16_t clamp_flows(uint32_t flows)
{
	return (uint16_t)(flows < UINT16_MAX ? flows : UINT16_MAX);
}

/* The earliest covers_ns; 0 if one is unknown or in the future. */
static uint64_t earliest_cover(const struct ccs_record *r, unsigned n, uint64_t now_ns)
{
	uint64_t least = now_ns;

	for (unsigned i = 0; i < n; i++) {
		if (!r[i].covers_ns || r[i].covers_ns > now_ns)
			return 0;
		least = r[i].covers_ns < least ? r[i].covers_ns : least;
	}
	return least;
}

static void convert_records(struct ccs_path_telemetry *t, struct ccs_record *r, unsigned n)
{
	ccs_record_sort(r, n);
	t->path = ccs_record_path(r, n);
	t->nhops = (uint16_t)n;
	for (unsigned i = 0; i < n; i++) {
		t->link[i] = r[i].link;
		t->hops[i] = (struct ccs_cc_hop){
			.ts_ns = r[i].ts_ns, .tx_bytes = r[i].tx_bytes,
			.qlen_bytes = r[i].qlen_bytes, .capacity = (double)r[i].capacity,
		};
	}
}

static bool has_switch_record(const struct ccs_record *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (r[i].kind != CCS_RECORD_RECEIVER)
			return true;
	return false;
}

void ccs_echo_convert(struct ccs_path_telemetry *t, struct ccs_record *r, unsigned n,
		      uint32_t flows, uint64_t now_ns)
{
	*t = (struct ccs_path_telemetry){
		.updated_ns = now_ns, .flows = clamp_flows(flows),
		.covers_ns = earliest_cover(r, n, now_ns),
		.advised_rate = (double)ccs_record_advised(r, n),
	};
	convert_records(t, r, n);
}

static void store_rates(struct ccs_peer *p, const struct ccs_wire_message *m)
{
	p->rates.n = m->header.tenants;
	memcpy(p->rates.tenant, m->tenant, sizeof(p->rates.tenant));
}

/* An ECHO that arrives after newer telemetry is ignored. */
void ccs_echo_receive(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m)
{
	const bool switch_records = has_switch_record(m->echo.record, m->echo.n);
	const uint64_t now_ns = ccs_agent_now(a);

	if (m->header.sequence <= p->telemetry_sequence || !m->echo.n)
		return;
	p->telemetry_sequence = m->header.sequence;
	ccs_echo_convert(&p->telemetry, m->echo.record, m->echo.n, m->echo.flows, now_ns);
	store_rates(p, m);
	ccs_echo_publish(a, p->index, &p->telemetry, &p->rates);
	if (switch_records == p->switch_records)
		return;
	p->switch_records = switch_records;
	ccs_deliver_peer_to_all(a, p);
}

void ccs_echo_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_advice *advice,
		     const struct ccs_wire_message *m)
{
	struct ccs_path_telemetry *t = &p->telemetry;
	const double advised = advice->advised <= CCS_RECORD_CAPACITY_MOST ? (double)advice->advised : 0;

	if (t->flows == clamp_flows(advice->flows) && !(advised > 0))
		return;
	t->flows = clamp_flows(advice->flows);
	if (advised > 0) {
		store_rates(p, m);
		t->advised_rate = advised;
		t->updated_ns = ccs_agent_now(a);
	}
	ccs_echo_publish(a, p->index, &p->telemetry, &p->rates);
}
