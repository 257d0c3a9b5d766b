/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of the links that somebody wants to know of, and the messages that carry them.
 * All that is sent for a port takes at most a certain share of what it can carry, and for
 * each peer a smaller one: with many of them, each is told less often.
 */
#include <errno.h>
#include <math.h>

#include "agent/port.h"

#define SHARE_EACH 0.005
#define SHARE_ALL 0.02
#define MESSAGES_MOST 50000.0            /* a second, for the sake of the CPU */
#define STEADY 20                        /* times the error of its time: the least interval */
#define AROUND 42                        /* Ethernet, IPv4, UDP */
#define ADVICE_BYTES 16
#define ECHO_EVERY 4                     /* periods, to a peer that wants advice alone */
#define NEWS 0.05                        /* a change of the advised rate that cannot wait */

/* -- samples ----------------------------------------------------------------------- */

static int read_port(struct ccs_agent *a, struct ccs_port *port, struct ccs_record *r)
{
	struct ccs_egress e;
	int error;

	if (!port->publication)
		return ccs_ingress_read(&port->ingress, &r->tx_bytes) ? 0 : ENODEV;
	error = ccs_egress_read(&a->netlink, port->ifindex, &e);
	if (error)
		return error;
	if (e.rate > 0 && !(port->publication->rate > 0))
		port->told = e.rate;
	r->tx_bytes = e.sent_bytes;
	r->qlen_bytes = e.backlog_bytes;
	return 0;
}

/*
 * When the counters were read is known to within half the time that it took. A rate is off
 * by as much as that is of the interval, so a sample of which too little is known, because
 * the CPU was taken away meanwhile, is not used, and the next one has a longer interval.
 */
static bool sample(struct ccs_agent *a, struct ccs_port *port)
{
	struct ccs_record r = port->record;
	uint64_t before_ns, after_ns;
	int error;

	for (unsigned tries = 0; tries < 2; tries++) {
		before_ns = ccs_agent_now(a);
		error = read_port(a, port, &r);
		after_ns = ccs_agent_now(a);
		if (error) {
			ccs_port_lose(a, port, error);
			return false;
		}
		r.ts_ns = before_ns + (after_ns - before_ns) / 2;
		if (port->record.ts_ns &&
		    STEADY * (after_ns - before_ns) / 2 > r.ts_ns - port->record.ts_ns)
			continue;
		port->record = r;
		port->taken_ns = before_ns;
		a->totals.samples++;
		return true;
	}
	a->totals.samples_late++;
	return false;
}

/* A counter that starts over begins another life of the link. */
static bool measure(struct ccs_agent *a, struct ccs_port *port)
{
	const uint64_t bytes = port->record.tx_bytes;

	if (!sample(a, port))
		return false;
	if (port->record.tx_bytes < bytes)
		port->record.link = ccs_record_link(&port->record, sizeof(port->record));
	if (port->learns)
		ccs_capacity_feed(&port->learnt, port->record.ts_ns, port->record.tx_bytes,
				  port->marked);
	port->marked = false;
	port->record.capacity = (uint64_t)ccs_port_capacity(port);
	if (port->record.capacity > 0)
		ccs_port_advise(port);
	return port->record.capacity > 0;
}

/* -- messages ---------------------------------------------------------------------- */

static void tell_sender(struct ccs_agent *a, const struct ccs_port *port, struct ccs_subscriber *s,
			uint32_t flows)
{
	struct ccs_wire_echo m = { .n = 1, .flows = flows, .record = { port->record } };
	struct ccs_peer *p = s->peer;

	m.record[0].covers_ns = port->taken_ns;
	m.n = (uint16_t)(m.n + ccs_heard_for(a, p, port->taken_ns, m.record + 1, CCS_RECORDS - 1));
	for (unsigned i = 0; i < m.n; i++)
		m.record[i].covers_ns = ccs_peer_clock(p, m.record[i].covers_ns);
	ccs_record_sort(m.record, m.n);
	s->advised = ccs_record_advised(m.record, m.n);
	ccs_message_echo(a, p, &m);
}

static void tell_receiver(struct ccs_agent *a, const struct ccs_port *port, struct ccs_peer *p)
{
	struct ccs_wire_records m = {
		.n = 1, .bits = (uint8_t)port->from.bits, .record = { port->record },
	};

	memcpy(m.prefix, port->from.address.b, sizeof(m.prefix));
	m.record[0].covers_ns = ccs_peer_clock(p, port->taken_ns);
	ccs_message_records(a, p, &m);
}

static double longer(double a, double b)
{
	return a > b ? a : b;
}

/* The same for flows here, which takes no message: ns. */
static uint64_t inbound_period(const struct ccs_port *port, const struct ccs_peer *p)
{
	const double wanted_ns = 1e3 * p->inbound.period_us;

	return (uint64_t)longer(longer(wanted_ns, CCS_PERIOD_LEAST_NS),
				1e9 * port->nreaders / MESSAGES_MOST);
}

/* Of a peer that messages go to. */
static bool wants_advice_alone(const struct ccs_port *port, const struct ccs_peer *p)
{
	return !port->publication && p->wants & CCS_PEER_ADVICE && !(p->wants & CCS_PEER_TELEMETRY);
}

/* What a period's messages to a peer take, on average. */
static double bytes_for(const struct ccs_agent *a, const struct ccs_port *port,
			const struct ccs_peer *p)
{
	const double head = AROUND + CCS_WIRE_HEADER + (a->config.auth ? CCS_WIRE_TAG : 0);
	const double echo = head + 24 + 2 * CCS_RECORD_BYTES;

	return wants_advice_alone(port, p) ? head + ADVICE_BYTES + echo / ECHO_EVERY : echo;
}

/* How often a peer is told, ns: as often as it wants, or as often as may be. */
static uint64_t period_for(const struct ccs_agent *a, const struct ccs_port *port,
			   const struct ccs_peer *p)
{
	const unsigned told = port->nsubs - port->nreaders;
	const double one_ns = 8e9 * bytes_for(a, port, p) / (double)port->record.capacity;
	double period_ns = (double)p->period_ns;

	period_ns = longer(period_ns, one_ns / SHARE_EACH);
	period_ns = longer(period_ns, one_ns * told / SHARE_ALL);
	period_ns = longer(period_ns, 1e9 * told / MESSAGES_MOST);
	return (uint64_t)longer(period_ns, 1);
}

static void tell_reader(struct ccs_agent *a, const struct ccs_port *port, struct ccs_subscriber *s,
			uint32_t flows)
{
	ccs_inbound_report(a, port, s->peer, flows);
	s->advised = (uint64_t)s->peer->inbound.telemetry.advised_rate;
}

/* Between two of its messages: the rate alone, if it is another one. Readers' take no message. */
static void tell_news(struct ccs_agent *a, const struct ccs_port *port, struct ccs_subscriber *s,
		      uint32_t flows)
{
	const uint64_t advised = ccs_port_advised(a, port, s);

	if (!advised || fabs((double)advised - (double)s->advised) <= NEWS * (double)s->advised)
		return;
	if (s->inbound) {
		tell_reader(a, port, s, flows);
		return;
	}
	s->advised = advised;
	ccs_message_advice(a, s->peer, advised, flows);
}

/* A peer whose time is nearly there is served with this sample, not with the next one. */
static void tell(struct ccs_agent *a, const struct ccs_port *port, struct ccs_subscriber *s,
		 uint64_t period_ns, uint32_t flows)
{
	const bool idle = s->bytes == port->record.tx_bytes && !port->record.qlen_bytes;

	if (idle || s->due_ns > port->taken_ns + period_ns / 4) {
		if (!port->publication)
			tell_news(a, port, s, flows);
		return;
	}
	s->due_ns = port->taken_ns + period_ns;
	if (!s->inbound && wants_advice_alone(port, s->peer))
		s->due_ns += (ECHO_EVERY - 1) * period_ns;
	s->bytes = port->record.tx_bytes;
	if (s->inbound)
		tell_reader(a, port, s, flows);
	else if (port->publication)
		tell_receiver(a, port, s->peer);
	else
		tell_sender(a, port, s, flows);
}

static bool stays(const struct ccs_subscriber *s, uint64_t now_ns)
{
	return s->inbound ? s->peer->inbound.active : ccs_peer_leased(s->peer, now_ns);
}

static void serve(struct ccs_agent *a, struct ccs_port *port, uint64_t now_ns)
{
	uint64_t period_ns, shortest_ns = CCS_PERIOD_MOST_NS;
	uint32_t flows;

	for (unsigned i = port->nsubs; i-- > 0;)
		if (!stays(&port->sub[i], now_ns))
			ccs_port_leave(port, port->sub[i].peer, port->sub[i].inbound);
	if (!port->nsubs || !measure(a, port)) {
		port->next_ns = now_ns + CCS_PERIOD_LEAST_NS;
		return;
	}
	flows = ccs_port_flows(port);
	for (unsigned i = 0; i < port->nsubs; i++) {
		period_ns = port->sub[i].inbound ? inbound_period(port, port->sub[i].peer)
						 : period_for(a, port, port->sub[i].peer);
		tell(a, port, &port->sub[i], period_ns, flows);
		shortest_ns = period_ns < shortest_ns ? period_ns : shortest_ns;
	}
	/* Records of switches set the time, while they come. */
	if (port->heard_ns && now_ns - port->heard_ns < 2 * shortest_ns)
		shortest_ns += shortest_ns / 2;
	port->next_ns = now_ns + shortest_ns;
}

uint64_t ccs_ports_due(const struct ccs_agent *a)
{
	uint64_t due_ns = UINT64_MAX;

	for (const struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		if (port->nsubs && port->next_ns < due_ns)
			due_ns = port->next_ns;
	return due_ns;
}

void ccs_ports_run(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		if (port->nsubs && port->next_ns <= now_ns)
			serve(a, port, now_ns);
}
