/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/net/net.h"

#include "agent/host/core.h"
#include "agent/host/tenants.h"

#define LATE_NS CCS_RENEW_NS

static void put_tenants(struct ccs_wire_message *m, const struct ccs_tenant_list *list)
{
	m->header.tenants = (uint8_t)list->n;
	memcpy(m->tenant, list->tenant, list->n * sizeof(*list->tenant));
}

static void send_to_peer(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m)
{
	m->header.incarnation = ccs_agent_incarnation(a, &p->ends);
	m->header.echo = p->incarnation;
	m->header.sequence = ++p->sequence;
	ccs_udp_send(a, &p->ends, m);
}

enum { FIRST_RETRIES = 8 };              /* 1.3 s in all */

/*
 * The first retries come soon, in case a message was lost; later ones, to hosts without an agent,
 * at increasing intervals. A flow that begins waits for its first lease: without one, the first
 * interval is the shortest and each later interval doubles, as the delay is not known yet.
 */
static uint64_t retry_interval_ns(bool had_lease, unsigned attempts)
{
	if (!had_lease && attempts <= FIRST_RETRIES)
		return CCS_AGENT_FIRST_RETRY_NS << (attempts - 1);
	if (!had_lease)
		attempts -= FIRST_RETRIES - 2;
	if (attempts <= 2)
		return attempts * 100000000ull;
	return CCS_RENEW_NS << (attempts < 6 ? attempts - 3 : 3);
}

/*
 * A late answer also counts: to any HELLO of a series that has no answer yet and in which this
 * agent assumed the same incarnation of the peer. After LATE_NS a new series begins.
 */
static void expect_answer(struct ccs_peer *p, uint64_t now_ns)
{
	if (!p->hello.awaited || p->hello.echo != p->incarnation ||
	    now_ns - p->hello.first_ns >= LATE_NS) {
		p->hello.first = p->sequence;
		p->hello.first_ns = now_ns;
	}
	p->hello.awaited = p->sequence;
	p->hello.echo = p->incarnation;
	p->hello.sent_ns = now_ns;
}

static uint32_t shorter_period(uint32_t a_us, uint32_t b_us)
{
	return a_us && (!b_us || a_us < b_us) ? a_us : b_us;
}

void ccs_send_hello(struct ccs_agent *a, struct ccs_peer *p)
{
	const uint64_t now_ns = ccs_agent_now(a);
	const bool is_switch = now_ns < p->relay.until_ns;
	struct ccs_tenant_list tenants;
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_HELLO,
		.hello = {
			.lease_ms = CCS_LEASE_MS,
			.requested = (p->flows ? CCS_PEER_NP : 0) |
				     (p->flows && p->request.period_us ? p->request.flags : 0) |
				     (is_switch ? CCS_PEER_PORTS : 0),
			.clock_ns = now_ns,
			.period_us = shorter_period(p->request.period_us,
						    is_switch ? p->relay.period_us : 0),
			.flows = p->request.active + (is_switch ? p->relay.flows : 0),
			.rtt_us = (uint32_t)(p->rtt_ns / 1000),
			.segment = p->segment,
		},
	};

	ccs_tenants_list(a, p->active, &tenants);
	put_tenants(&m, &tenants);
	send_to_peer(a, p, &m);
	a->totals.hellos_sent++;
	expect_answer(p, now_ns);
	p->hello.pending = false;
	p->hello.due_ns = now_ns + retry_interval_ns(p->last_seen_ns, ++p->hello.attempts);
	if (p->hello.due_ns < a->peers.hello_due_ns)
		a->peers.hello_due_ns = p->hello.due_ns;
}

/* Without a peer entry the sequence number is the time, at which a new entry's numbers start. */
void ccs_send_hello_ack(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_peer *p,
			const struct ccs_wire_header *hello,
			const struct ccs_wire_hello_ack *ack, const struct ccs_tenant_list *rates)
{
	struct ccs_wire_message m = {
		.header = {
			.type = CCS_WIRE_HELLO_ACK,
			.incarnation = ccs_agent_incarnation(a, ends),
			.echo = hello->incarnation,
			.sequence = p ? ++p->sequence : ccs_agent_now(a),
		},
		.hello_ack = *ack,
	};

	m.hello_ack.of = hello->sequence;
	put_tenants(&m, rates);
	ccs_udp_send(a, ends, &m);
}

void ccs_send_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t qpn, uint32_t marked)
{
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_CNP,
		.cnp = { .qpn = qpn, .marked = marked },
	};

	send_to_peer(a, p, &m);
	a->totals.cnps_sent++;
	p->cnps_sent++;
}

void ccs_send_telemetry(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m,
			const struct ccs_tenant_list *rates)
{
	put_tenants(m, rates);
	send_to_peer(a, p, m);
	a->totals.echoes_sent++;
}
