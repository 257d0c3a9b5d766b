/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/events.h"

#include "agent/cnp/cnp.h"
#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"

enum { CHALLENGE_NS = 1000000000 };

static void count_refusal(struct ccs_agent *a, enum ccs_refusal why)
{
	a->totals.refused[why]++;
}

static void answer_hello(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_peer *p,
			 const struct ccs_wire_message *hello, uint32_t lease_ms)
{
	const uint32_t np = a->config.capture ? CCS_PEER_NP : 0;
	struct ccs_tenant_list rates = { 0 };
	const uint64_t advised = p ? ccs_ports_advised(a, p, &rates) : 0;

	ccs_send_hello_ack(a, ends, p, &hello->header, &(const struct ccs_wire_hello_ack){
		.capabilities = np | ccs_ports_capabilities(a, ends),
		.lease_ms = lease_ms,
		.flows = p && p->ingress ? ccs_port_flows(p->ingress) : 0,
		.advised = advised,
	}, &rates);
}

/* The answer shows which incarnation the peer has now. */
static void challenge(struct ccs_agent *a, struct ccs_peer *p)
{
	if (!p->hello.awaited || p->hello.sent_ns + CHALLENGE_NS < ccs_agent_now(a))
		ccs_send_hello(a, p);
}

/*
 * Whether the HELLO is new. An agent that restarts has a later incarnation (upper half). One with
 * an earlier incarnation may be recorded, or the peer's clock was set back.
 */
static bool is_hello_fresh(struct ccs_agent *a, struct ccs_peer *p,
			   const struct ccs_wire_header *h)
{
	if (h->incarnation == p->incarnation) {
		if (ccs_peer_fresh(p, h->sequence))
			return true;
		count_refusal(a, CCS_REFUSED_REPLAYED);
		return false;
	}
	if (h->incarnation >> 32 < p->incarnation >> 32) {
		count_refusal(a, CCS_REFUSED_INCARNATION);
		challenge(a, p);
		return false;
	}
	/* A HELLO may be recorded as well. The answer to an earlier HELLO of ours, if it is late,
	 * must not make an incarnation count again. */
	if (p->incarnation)
		p->hello.awaited = 0;
	ccs_peer_adopt(p, h->incarnation, h->sequence);
	p->proven = 0;
	if (ccs_peer_wanted(p, ccs_agent_now(a)))
		challenge(a, p);
	return true;
}

/* Answers correct the numbers of both, as the peer may also have accepted a forged number. */
static void restore_numbers(struct ccs_agent *a, struct ccs_peer *p,
			    const struct ccs_wire_message *hello)
{
	if (hello->header.incarnation != p->incarnation ||
	    !ccs_peer_has_forged_number(p, hello->header.sequence))
		return;
	challenge(a, p);
	answer_hello(a, &p->ends, p, hello, 0);
}

static void handle_hello(struct ccs_agent *a, const struct ccs_ends *ends,
			 const struct ccs_wire_message *m)
{
	uint32_t lease_ms = m->hello.lease_ms;
	struct ccs_peer *p;

	a->totals.hellos_received++;
	if (m->header.echo != ccs_agent_incarnation(a, ends)) {
		answer_hello(a, ends, ccs_peer_find(a, ends), m, 0);
		return;
	}
	p = ccs_peer_get_flowless(a, ends);
	if (!p) {
		count_refusal(a, CCS_REFUSED_LIMIT);
		return;
	}
	if (!is_hello_fresh(a, p, &m->header)) {
		restore_numbers(a, p, m);
		return;
	}
	if (lease_ms > CCS_LEASE_MAX_MS)
		lease_ms = CCS_LEASE_MAX_MS;
	p->asked_ns = ccs_agent_now(a);
	p->lease_ns = p->asked_ns + lease_ms * 1000000ull;
	ccs_subscribers_update(a, p, ends, m);
	answer_hello(a, ends, p, m, lease_ms);
}

/* Advice that arrives after newer telemetry is ignored. */
static void handle_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_message *m,
			  const struct ccs_wire_advice *advice)
{
	if (m->header.sequence <= p->telemetry_sequence)
		return;
	p->telemetry_sequence = m->header.sequence;
	ccs_echo_advice(a, p, advice, m);
}

/* Track the minimum, which contains no queuing or host delay; follow increases slowly. */
static void update_rtt(struct ccs_peer *p, uint64_t rtt_ns)
{
	if (p->rtt_ns && rtt_ns > p->rtt_ns)
		p->rtt_ns += (rtt_ns - p->rtt_ns) / 16;
	else
		p->rtt_ns = rtt_ns;
}

/* The reply grants a lease, or states the incarnation with which to repeat the HELLO. */
static void handle_hello_ack(struct ccs_agent *a, struct ccs_peer *p,
			     const struct ccs_wire_message *m)
{
	const bool known = m->header.incarnation == p->incarnation;
	const bool late = m->hello_ack.of != p->hello.awaited;

	if (!p->hello.awaited || m->hello_ack.of < p->hello.first ||
	    m->hello_ack.of > p->hello.awaited) {
		count_refusal(a, CCS_REFUSED_REPLAYED);
		return;
	}
	p->hello.awaited = 0;
	/* The peer has restarted since, or a replayed HELLO pretends it: send another HELLO. */
	if (p->hello.echo != p->incarnation && !known) {
		count_refusal(a, CCS_REFUSED_INCARNATION);
		ccs_send_hello(a, p);
		return;
	}
	a->totals.answers_late += late;
	if (!late)
		update_rtt(p, ccs_agent_now(a) - p->hello.sent_ns);
	ccs_peer_prove(p, m->header.incarnation, m->header.sequence);
	if (m->hello_ack.lease_ms) {
		p->hello.attempts = 0;
		p->hello.due_ns = ccs_agent_now(a) + CCS_RENEW_NS;
		p->capabilities = m->hello_ack.capabilities;
		p->last_seen_ns = ccs_agent_now(a);
		ccs_deliver_peer_to_all(a, p);
		handle_advice(a, p, m, &(struct ccs_wire_advice){
			.advised = m->hello_ack.advised, .flows = m->hello_ack.flows });
		if (p->hello.pending)
			ccs_send_hello(a, p);
	} else if (!known && ccs_peer_wanted(p, ccs_agent_now(a))) {
		ccs_send_hello(a, p);
	}
}

/* Messages that slow flows count only if the incarnation is certainly the peer's present one. */
static bool is_proven(const struct ccs_peer *p, const struct ccs_wire_header *h)
{
	return h->incarnation == p->incarnation && h->incarnation == p->proven;
}

static void handle_cnp(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_message *m)
{
	if (!is_proven(p, &m->header)) {
		count_refusal(a, CCS_REFUSED_INCARNATION);
	} else if (!ccs_peer_fresh(p, m->header.sequence)) {
		count_refusal(a, CCS_REFUSED_REPLAYED);
	} else if (!ccs_agent_flow_cnp(a, p, m->cnp.qpn)) {
		count_refusal(a, CCS_REFUSED_FLOW);
	} else {
		p->cnps_received++;
		a->totals.cnps_accepted++;
	}
}

static void handle_telemetry(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			     struct ccs_wire_message *m)
{
	const bool echo = m->header.type != CCS_WIRE_RECORDS;

	if (!is_proven(p, &m->header)) {
		count_refusal(a, CCS_REFUSED_INCARNATION);
	} else if (!(echo ? p->flows != 0 : ccs_agent_now(a) < p->relay.until_ns)) {
		count_refusal(a, CCS_REFUSED_PEER);
	} else if (!ccs_peer_fresh(p, m->header.sequence)) {
		count_refusal(a, CCS_REFUSED_REPLAYED);
	} else {
		a->totals.echoes_received++;
		if (m->header.type == CCS_WIRE_ECHO)
			ccs_echo_receive(a, p, m);
		else if (echo)
			handle_advice(a, p, m, &m->advice);
		else if (ccs_relay_receive(a, p, &m->records))
			ccs_ports_switch_record(a, ends->arrived);
	}
}

/* A cheap check of the echo precedes the authentication. Only a HELLO may lack the right one. */
static bool has_echo(struct ccs_agent *a, const struct ccs_ends *ends,
		     const struct ccs_wire_message *m, bool *verified)
{
	*verified = m->header.echo == ccs_agent_incarnation(a, ends);
	if (*verified || m->header.type == CCS_WIRE_HELLO)
		return true;
	count_refusal(a, CCS_REFUSED_INCARNATION);
	return false;
}

static void report_unauthenticated(struct ccs_agent *a, const struct ccs_ends *ends, unsigned key)
{
	char text[INET6_ADDRSTRLEN];

	if (ccs_agent_warning_due(a, CCS_AGENT_WARN_AUTH))
		ccs_agent_warn(a, CCS_AGENT_WARN_AUTH,
			       "ignored a message from %s that is not authenticated with key %u of "
			       "this host", ccs_address_text(&ends->remote, text), key);
}

static bool is_authentic(struct ccs_agent *a, const struct ccs_ends *ends,
			 const struct ccs_wire_header *h, const void *data, size_t len)
{
	const struct ccs_agent_auth *auth = a->config.auth;
	const size_t tagged = len - CCS_WIRE_TAG;

	if (!auth || (len > CCS_WIRE_TAG && auth->check(auth->arg, &ends->remote, h->key, data, tagged,
							(const uint8_t *)data + tagged)))
		return true;
	count_refusal(a, CCS_REFUSED_AUTH);
	report_unauthenticated(a, ends, h->key);
	return false;
}

static void report_other_version(struct ccs_agent *a, const struct ccs_ends *ends, unsigned version)
{
	char text[INET6_ADDRSTRLEN];

	if (ccs_agent_warning_due(a, CCS_AGENT_WARN_VERSION))
		ccs_agent_warn(a, CCS_AGENT_WARN_VERSION,
			       "ignored the agent at %s: it uses protocol version %u, this one %u",
			       ccs_address_text(&ends->remote, text), version, CCS_WIRE_VERSION);
}

static bool decode_message(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			   size_t len, struct ccs_wire_message *m)
{
	switch (ccs_wire_decode(data, len, m)) {
	case CCS_WIRE_OK:
		return true;
	case CCS_WIRE_OTHER_VERSION:
		count_refusal(a, CCS_REFUSED_VERSION);
		report_other_version(a, ends, ((const uint8_t *)data)[4]);
		break;
	case CCS_WIRE_OTHER_TYPE:
		count_refusal(a, CCS_REFUSED_TYPE);
		break;
	case CCS_WIRE_GARBAGE:
		count_refusal(a, CCS_REFUSED_GARBAGE);
	}
	return false;
}

void ccs_receive_message(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			 size_t len)
{
	struct ccs_wire_message m;
	struct ccs_peer *p;
	bool verified;

	if (!decode_message(a, ends, data, len, &m))
		return;
	a->totals.cnps_received += m.header.type == CCS_WIRE_CNP;
	/* With a key, senders without it must not use up what others are limited to. */
	if (!has_echo(a, ends, &m, &verified) || !is_authentic(a, ends, &m.header, data, len))
		return;
	if (!verified && !ccs_hello_limit_claim(a, &ends->remote)) {
		count_refusal(a, CCS_REFUSED_LIMIT);
		return;
	}
	if (m.header.type == CCS_WIRE_HELLO) {
		handle_hello(a, ends, &m);
		return;
	}
	p = ccs_peer_find(a, ends);
	if (!p)
		count_refusal(a, CCS_REFUSED_PEER);
	else if (m.header.type == CCS_WIRE_CNP)
		handle_cnp(a, p, &m);
	else if (m.header.type == CCS_WIRE_HELLO_ACK)
		handle_hello_ack(a, p, &m);
	else
		handle_telemetry(a, p, ends, &m);
}
