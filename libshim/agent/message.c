/* SPDX-License-Identifier: BSD-2-Clause */
/* What agents say to each other: signal/wire.h has the messages and what they are good for. */
#include "agent/priv.h"

/* Answers to hosts that have not shown yet that they are where they say, per second. */
#define STRANGERS_RATE 2000.0
#define STRANGERS_BURST 500.0

static uint32_t gives(struct ccs_agent *a, const struct ccs_ends *ends)
{
	return (a->config.capture ? CCS_PEER_NP : 0) | ccs_ports_give(a, ends);
}

static void refuse(struct ccs_agent *a, enum ccs_refusal why)
{
	a->totals.refused[why]++;
}

/* -- sending --------------------------------------------------------------------- */

static void send_to(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m)
{
	m->header.session = ccs_agent_session(a, &p->ends);
	m->header.echo = p->session;
	m->header.sequence = ++p->sequence;
	ccs_udp_send(a, &p->ends, m);
}

/* Soon again at first, for one that gets lost; ever more rarely to a host without an agent. */
static uint64_t next_try_ns(unsigned tries)
{
	if (tries <= 2)
		return tries * 100000000ull;
	return CCS_RENEW_NS << (tries < 6 ? tries - 3 : 3);
}

/* Of two periods; 0 is none. */
static uint32_t least(uint32_t a_us, uint32_t b_us)
{
	return a_us && (!b_us || a_us < b_us) ? a_us : b_us;
}

void ccs_message_hello(struct ccs_agent *a, struct ccs_peer *p)
{
	const uint64_t now_ns = ccs_agent_now(a);
	const bool upstream = now_ns < p->upstream_ns;
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_HELLO,
		.hello = {
			.lease_ms = CCS_LEASE_MS,
			.wants = (p->flows ? CCS_PEER_NP : 0) |
				 (p->flows && p->period_us ? p->asks : 0) |
				 (upstream ? CCS_PEER_PORTS : 0),
			.clock_ns = now_ns,
			.period_us = least(p->period_us, upstream ? p->up_period_us : 0),
			.flows = p->active + (upstream ? p->up_active : 0),
			.rtt_us = (uint32_t)(p->rtt_ns / 1000),
			.segment = p->segment,
		},
	};

	send_to(a, p, &m);
	a->totals.hellos_sent++;
	p->asked = p->sequence;
	p->asked_ns = now_ns;
	p->news = false;
	p->ask_ns = now_ns + next_try_ns(++p->tries);
}

void ccs_message_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t qpn, uint32_t marked)
{
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_CNP,
		.cnp = { .qpn = qpn, .marked = marked },
	};

	send_to(a, p, &m);
	a->totals.cnps_sent++;
	p->cnps_sent++;
}

void ccs_message_echo(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_echo *echo)
{
	struct ccs_wire_message m = { .header.type = CCS_WIRE_ECHO, .echo = *echo };

	send_to(a, p, &m);
	a->totals.echoes_sent++;
}

void ccs_message_advice(struct ccs_agent *a, struct ccs_peer *p, uint64_t advised, uint32_t flows)
{
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_ADVICE,
		.advice = { .advised = advised, .flows = flows },
	};

	send_to(a, p, &m);
	a->totals.echoes_sent++;
}

void ccs_message_records(struct ccs_agent *a, struct ccs_peer *p,
			 const struct ccs_wire_records *records)
{
	struct ccs_wire_message m = { .header.type = CCS_WIRE_RECORDS, .records = *records };

	send_to(a, p, &m);
	a->totals.echoes_sent++;
}

/* p may be NULL: then its sequence numbers are the time, from which a peer's begin. */
static void answer(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_peer *p,
		   const struct ccs_wire_message *hello, uint32_t lease_ms)
{
	struct ccs_wire_message m = {
		.header = {
			.type = CCS_WIRE_HELLO_ACK,
			.session = ccs_agent_session(a, ends),
			.echo = hello->header.session,
			.sequence = p ? ++p->sequence : ccs_agent_now(a),
		},
		.hello_ack = {
			.of = hello->header.sequence,
			.gives = gives(a, ends),
			.lease_ms = lease_ms,
			.flows = p && p->ingress ? ccs_port_flows(p->ingress) : 0,
			.advised = p ? ccs_ports_advised(a, p) : 0,
		},
	};

	ccs_udp_send(a, ends, &m);
}

/* -- receiving ------------------------------------------------------------------- */

/* Whether it is new. Whoever starts again has a later session, by its upper half. */
static bool note_hello(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_header *h)
{
	if (h->session == p->session) {
		if (ccs_peer_fresh(p, h->sequence))
			return true;
		refuse(a, CCS_REFUSED_REPLAYED);
		return false;
	}
	if (h->session >> 32 < p->session >> 32 && ccs_peer_leased(p, ccs_agent_now(a))) {
		refuse(a, CCS_REFUSED_SESSION);
		return false;
	}
	ccs_peer_adopt(p, h->session, h->sequence);
	return true;
}

static void take_hello(struct ccs_agent *a, const struct ccs_ends *ends,
		       const struct ccs_wire_message *m)
{
	uint32_t lease_ms = m->hello.lease_ms;
	struct ccs_peer *p;

	a->totals.hellos_received++;
	if (m->header.echo != ccs_agent_session(a, ends)) {
		answer(a, ends, ccs_peer_find(a, ends), m, 0);
		return;
	}
	p = ccs_peer_get(a, ends);
	if (!p) {
		refuse(a, CCS_REFUSED_CROWDED);
		return;
	}
	if (!note_hello(a, p, &m->header))
		return;
	if (lease_ms > CCS_LEASE_MOST_MS)
		lease_ms = CCS_LEASE_MOST_MS;
	p->lease_ns = ccs_agent_now(a) + lease_ms * 1000000ull;
	ccs_ports_subscribe(a, p, ends, &m->hello);
	answer(a, ends, p, m, lease_ms);
}

/* One that was overtaken by a later one is no news any more. */
static void take_advice(struct ccs_agent *a, struct ccs_peer *p, uint64_t sequence,
			const struct ccs_wire_advice *m)
{
	if (sequence <= p->told)
		return;
	p->told = sequence;
	ccs_echo_advice(a, p, m);
}

/* The least, which has no queue or busy host in it, but a longer one counts in time. */
static void take_rtt(struct ccs_peer *p, uint64_t rtt_ns)
{
	if (p->rtt_ns && rtt_ns > p->rtt_ns)
		p->rtt_ns += (rtt_ns - p->rtt_ns) / 16;
	else
		p->rtt_ns = rtt_ns;
}

/* A lease, or the session with which to ask for it. */
static void take_ack(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_message *m)
{
	const bool known = m->header.session == p->session;

	if (!p->asked || m->hello_ack.of != p->asked) {
		refuse(a, CCS_REFUSED_REPLAYED);
		return;
	}
	p->asked = 0;
	take_rtt(p, ccs_agent_now(a) - p->asked_ns);
	if (known)
		ccs_peer_fresh(p, m->header.sequence);
	else
		ccs_peer_adopt(p, m->header.session, m->header.sequence);
	if (m->hello_ack.lease_ms) {
		p->tries = 0;
		p->ask_ns = ccs_agent_now(a) + CCS_RENEW_NS;
		p->gives = m->hello_ack.gives;
		p->heard_ns = ccs_agent_now(a);
		ccs_agent_flow_heard(a, p);
		take_advice(a, p, m->header.sequence, &(struct ccs_wire_advice){
			.advised = m->hello_ack.advised, .flows = m->hello_ack.flows });
		if (p->news)
			ccs_message_hello(a, p);
	} else if (!known && ccs_peer_wanted(p, ccs_agent_now(a))) {
		ccs_message_hello(a, p);
	}
}

static void take_cnp(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_message *m)
{
	if (m->header.session != p->session) {
		refuse(a, CCS_REFUSED_SESSION);
	} else if (!ccs_peer_fresh(p, m->header.sequence)) {
		refuse(a, CCS_REFUSED_REPLAYED);
	} else if (!ccs_agent_flow_cnp(a, p, m->cnp.qpn)) {
		refuse(a, CCS_REFUSED_FLOW);
	} else {
		p->cnps_received++;
		a->totals.cnps_accepted++;
	}
}

static void take_telemetry(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			   struct ccs_wire_message *m)
{
	const bool echo = m->header.type != CCS_WIRE_RECORDS;

	if (m->header.session != p->session) {
		refuse(a, CCS_REFUSED_SESSION);
	} else if (!(echo ? p->flows != 0 : ccs_agent_now(a) < p->upstream_ns)) {
		refuse(a, CCS_REFUSED_PEER);
	} else if (!ccs_peer_fresh(p, m->header.sequence)) {
		refuse(a, CCS_REFUSED_REPLAYED);
	} else {
		a->totals.echoes_received++;
		if (m->header.type == CCS_WIRE_ECHO)
			ccs_echo_take(a, p, m);
		else if (echo)
			take_advice(a, p, m->header.sequence, &m->advice);
		else if (ccs_heard_take(a, p, &m->records))
			ccs_ports_heard(a, ends->arrived);
	}
}

/* A bucket of tokens: work for hosts that may not be there is limited. */
static bool stranger_may(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	a->strangers += (double)(now_ns - a->strangers_ns) / 1e9 * STRANGERS_RATE;
	if (a->strangers > STRANGERS_BURST)
		a->strangers = STRANGERS_BURST;
	a->strangers_ns = now_ns;
	if (a->strangers < 1)
		return false;
	a->strangers -= 1;
	return true;
}

/* What costs nothing to find out comes before what takes cryptography. */
static bool may_pass(struct ccs_agent *a, const struct ccs_ends *ends,
		     const struct ccs_wire_message *m)
{
	if (m->header.echo == ccs_agent_session(a, ends))
		return true;
	if (m->header.type != CCS_WIRE_HELLO)
		refuse(a, CCS_REFUSED_SESSION);
	else if (stranger_may(a))
		return true;
	else
		refuse(a, CCS_REFUSED_CROWDED);
	return false;
}

static bool authentic(struct ccs_agent *a, const struct ccs_ends *ends,
		      const struct ccs_wire_header *h, const void *data, size_t len)
{
	const struct ccs_agent_auth *auth = a->config.auth;
	const uint8_t *tag = (const uint8_t *)data + h->length;
	char text[INET6_ADDRSTRLEN];

	if (!auth || (len >= (size_t)h->length + CCS_WIRE_TAG &&
		      auth->check(auth->arg, data, h->length, tag)))
		return true;
	refuse(a, CCS_REFUSED_AUTH);
	ccs_agent_say(a, CCS_TROUBLE_AUTH,
		      "a message from %s was not made with this host's key; such are ignored",
		      ccs_address_text(&ends->remote, text));
	return false;
}

static bool decoded(struct ccs_agent *a, const struct ccs_ends *ends, const void *data, size_t len,
		    struct ccs_wire_message *m)
{
	char text[INET6_ADDRSTRLEN];

	switch (ccs_wire_decode(data, len, m)) {
	case CCS_WIRE_OK:
		return true;
	case CCS_WIRE_OTHER_VERSION:
		refuse(a, CCS_REFUSED_VERSION);
		ccs_agent_say(a, CCS_TROUBLE_VERSION,
			      "the agent at %s speaks version %u, this one %u; it is ignored",
			      ccs_address_text(&ends->remote, text), ((const uint8_t *)data)[4],
			      CCS_WIRE_VERSION);
		break;
	case CCS_WIRE_OTHER_TYPE:
		refuse(a, CCS_REFUSED_TYPE);
		break;
	case CCS_WIRE_GARBAGE:
		refuse(a, CCS_REFUSED_GARBAGE);
	}
	return false;
}

void ccs_message_arrived(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			 size_t len)
{
	struct ccs_wire_message m;
	struct ccs_peer *p;

	if (!decoded(a, ends, data, len, &m))
		return;
	a->totals.cnps_received += m.header.type == CCS_WIRE_CNP;
	if (!may_pass(a, ends, &m) || !authentic(a, ends, &m.header, data, len))
		return;
	if (m.header.type == CCS_WIRE_HELLO) {
		take_hello(a, ends, &m);
		return;
	}
	p = ccs_peer_find(a, ends);
	if (!p)
		refuse(a, CCS_REFUSED_PEER);
	else if (m.header.type == CCS_WIRE_CNP)
		take_cnp(a, p, &m);
	else if (m.header.type == CCS_WIRE_HELLO_ACK)
		take_ack(a, p, &m);
	else
		take_telemetry(a, p, ends, &m);
}
