/* SPDX-License-Identifier: BSD-2-Clause */
/* Telemetry that a receiver's agent sends back: into the pages of those who send there. */
#include "agent/priv.h"

/* Places are given to clients from the end on. */
void ccs_echo_publish(struct ccs_agent *a, uint32_t index, const struct ccs_path_telemetry *t)
{
	struct ccs_client *c = a->client + CCS_AGENT_CLIENTS;

	for (unsigned n = a->nclients; n && c-- > a->client;) {
		n -= c->source.fd >= 0;
		if (c->page && c->paths[index])
			ccs_path_write(&c->page->path[index], t);
	}
}

static void publish(struct ccs_agent *a, const struct ccs_peer *p)
{
	ccs_echo_publish(a, p->index, &p->telemetry);
}

static uint16_t counted(uint32_t flows)
{
	return (uint16_t)(flows < UINT16_MAX ? flows : UINT16_MAX);
}

/* The earliest; 0 if one is unknown, or cannot be. */
static uint64_t covered(const struct ccs_record *r, unsigned n, uint64_t now_ns)
{
	uint64_t least = now_ns;

	for (unsigned i = 0; i < n; i++) {
		if (!r[i].covers_ns || r[i].covers_ns > now_ns)
			return 0;
		least = r[i].covers_ns < least ? r[i].covers_ns : least;
	}
	return least;
}

static void take_records(struct ccs_path_telemetry *t, struct ccs_record *r, unsigned n)
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

static bool has_port(const struct ccs_record *r, unsigned n)
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
		.updated_ns = now_ns, .flows = counted(flows), .covers_ns = covered(r, n, now_ns),
		.advised_rate = (double)ccs_record_advised(r, n),
	};
	take_records(t, r, n);
}

/* One that was overtaken by a later one is no news any more. */
void ccs_echo_take(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m)
{
	const bool ports = has_port(m->echo.record, m->echo.n);
	const uint64_t now_ns = ccs_agent_now(a);

	if (m->header.sequence <= p->told || !m->echo.n)
		return;
	p->told = m->header.sequence;
	ccs_echo_convert(&p->telemetry, m->echo.record, m->echo.n, m->echo.flows, now_ns);
	publish(a, p);
	if (ports == p->ports)
		return;
	p->ports = ports;
	ccs_agent_flow_heard(a, p);
}

void ccs_echo_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_advice *m)
{
	struct ccs_path_telemetry *t = &p->telemetry;
	const double advised = m->advised <= CCS_RECORD_CAPACITY_MOST ? (double)m->advised : 0;

	if (t->flows == counted(m->flows) && !(advised > 0))
		return;
	t->flows = counted(m->flows);
	if (advised > 0) {
		t->advised_rate = advised;
		t->updated_ns = ccs_agent_now(a);
	}
	publish(a, p);
}
