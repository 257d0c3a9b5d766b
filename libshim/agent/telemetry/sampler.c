/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages about a port are limited to a share of its capacity, in total and per peer: with
 * many subscribers, each is sent reports less often.
 */
#include "agent/telemetry/telemetry.h"

#include <errno.h>
#include <math.h>

#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/shares.h"
#include "cc/minmax.h"

#define SHARE_EACH 0.005
#define SHARE_ALL 0.02
#define MESSAGES_MOST 50000.0            /* per second, to limit CPU time */
#define LEAST_INTERVAL 20                /* shortest interval, in multiples of the time's error */
#define PACKET_HEADERS 42                /* Ethernet, IPv4, UDP */
#define ADVICE_BYTES 16
#define ECHO_EVERY 4                     /* periods, to a peer that requests advice only */
#define ADVICE_CHANGE 0.05               /* a larger change of the rate is sent at once */

/* -- samples ----------------------------------------------------------------------- */

static int read_port(struct ccs_agent *a, struct ccs_port *port, struct ccs_record *r)
{
	struct ccs_qdisc q;
	int error;

	if (!port->publication)
		return ccs_ingress_read(&port->ingress, &r->tx_bytes) ? 0 : ENODEV;
	error = ccs_qdisc_read_root(&a->netlink, port->ifindex, &q);
	if (error)
		return error;
	if (q.tbf_rate > 0 && !(port->publication->rate > 0))
		port->capacity = q.tbf_rate;
	r->tx_bytes = q.bytes;
	r->qlen_bytes = q.backlog;
	return 0;
}

/*
 * The time of a sample is known to within half the duration of its read. The relative error of a
 * rate is that uncertainty divided by the interval. A sample that is too uncertain, because the
 * thread was preempted, is discarded; the next sample then has a longer interval.
 */
static bool take_sample(struct ccs_agent *a, struct ccs_port *port)
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
		    LEAST_INTERVAL * (after_ns - before_ns) / 2 > r.ts_ns - port->record.ts_ns)
			continue;
		port->record = r;
		port->sampled_ns = before_ns;
		a->totals.samples++;
		return true;
	}
	a->totals.samples_late++;
	return false;
}

/* After a reset of its counter the link gets a new identifier. */
static bool update_record(struct ccs_agent *a, struct ccs_port *port)
{
	const uint64_t bytes = port->record.tx_bytes;

	if (!take_sample(a, port))
		return false;
	if (port->record.tx_bytes < bytes)
		port->record.link = ccs_record_link(&port->record, sizeof(port->record));
	port->record.capacity = (uint64_t)port->capacity;
	if (port->record.capacity > 0)
		ccs_port_advise(a, port);
	return port->record.capacity > 0;
}

/* -- messages ---------------------------------------------------------------------- */

static double sum_of(uint64_t advised, const struct ccs_tenant_list *rates)
{
	double sum = (double)advised;

	for (unsigned i = 0; i < rates->n; i++)
		sum += (double)rates->tenant[i].advised;
	return sum;
}

static void report_to_sender(struct ccs_agent *a, const struct ccs_port *port,
			     struct ccs_subscriber *s, uint32_t flows)
{
	struct ccs_wire_message message = {
		.header.type = CCS_WIRE_ECHO,
		.echo = { .n = 1, .flows = flows, .record = { port->record } },
	};
	struct ccs_wire_echo *m = &message.echo;
	struct ccs_tenant_list rates;
	struct ccs_peer *p = s->peer;

	m->record[0].covers_ns = port->sampled_ns;
	m->n += ccs_relay_records_for(a, p, port->sampled_ns, m->record + 1, CCS_RECORDS - 1);
	m->record[0].advised = ccs_port_rates(a, port, s, ccs_record_advised(m->record + 1, m->n - 1),
					      &rates);
	for (unsigned i = 0; i < m->n; i++)
		m->record[i].covers_ns = ccs_peer_clock(p, m->record[i].covers_ns);
	ccs_record_sort(m->record, m->n);
	s->reported_advised = sum_of(ccs_record_advised(m->record, m->n), &rates);
	ccs_send_telemetry(a, p, &message, &rates);
}

static void report_to_receiver(struct ccs_agent *a, const struct ccs_port *port, struct ccs_peer *p)
{
	static const struct ccs_tenant_list no_rates;
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_RECORDS,
		.records = { .n = 1, .bits = port->from.bits, .record = { port->record } },
	};

	memcpy(m.records.prefix, port->from.address.b, sizeof(m.records.prefix));
	m.records.record[0].covers_ns = ccs_peer_clock(p, port->sampled_ns);
	ccs_send_telemetry(a, p, &m, &no_rates);
}

/* Reporting period for READing flows of this host, which need no message, ns. */
static uint64_t reader_period_ns(const struct ccs_port *port, const struct ccs_peer *p)
{
	const double requested_ns = 1e3 * p->inbound.request.period_us;

	return (uint64_t)ccs_max(ccs_max(requested_ns, CCS_PERIOD_LEAST_NS),
				 1e9 * port->nreaders / MESSAGES_MOST);
}

static bool requests_only_advice(const struct ccs_port *port, const struct ccs_peer *p)
{
	return !port->publication && p->subscription.requested & CCS_PEER_ADVICE &&
	       !(p->subscription.requested & CCS_PEER_TELEMETRY);
}

/* Average bytes of the messages to a peer per period. */
static double bytes_per_period(const struct ccs_agent *a, const struct ccs_port *port,
			       const struct ccs_peer *p)
{
	const double tag = a->config.auth ? CCS_WIRE_TAG : 0;
	const double head = PACKET_HEADERS + CCS_WIRE_HEADER + tag;
	const double echo = head + 24 + 2 * CCS_RECORD_BYTES;

	return requests_only_advice(port, p) ? head + ADVICE_BYTES + echo / ECHO_EVERY : echo;
}

/* Reporting period of a peer: as requested, or as the limits allow. */
static uint64_t peer_period_ns(const struct ccs_agent *a, const struct ccs_port *port,
			       const struct ccs_peer *p)
{
	const unsigned peers = port->nsubs - port->nreaders;
	const double one_ns = 8e9 * bytes_per_period(a, port, p) / (double)port->record.capacity;
	double period_ns = (double)p->subscription.period_ns;

	period_ns = ccs_max(period_ns, one_ns / SHARE_EACH);
	period_ns = ccs_max(period_ns, one_ns * peers / SHARE_ALL);
	period_ns = ccs_max(period_ns, 1e9 * peers / MESSAGES_MOST);
	return (uint64_t)ccs_max(period_ns, 1);
}

static void report_to_reader(struct ccs_agent *a, const struct ccs_port *port,
			     struct ccs_subscriber *s, uint32_t flows)
{
	ccs_inbound_report(a, port, s, flows);
	s->reported_advised = sum_of((uint64_t)s->peer->inbound.telemetry.advised_rate,
				     &s->peer->inbound.rates);
}

/* Between two reports: send the advised rate alone, if it has changed much. */
static void report_change(struct ccs_agent *a, const struct ccs_port *port,
			  struct ccs_subscriber *s, uint32_t flows)
{
	struct ccs_wire_message m = { .header.type = CCS_WIRE_ADVICE };
	struct ccs_tenant_list rates;
	const uint64_t advised = ccs_port_advised(a, port, s, &rates);
	const double reported = s->reported_advised, sum = sum_of(advised, &rates);

	if (!advised || fabs(sum - reported) <= ADVICE_CHANGE * reported)
		return;
	if (s->inbound) {
		report_to_reader(a, port, s, flows);
		return;
	}
	s->reported_advised = sum;
	m.advice = (struct ccs_wire_advice){ advised, flows };
	ccs_send_telemetry(a, s->peer, &m, &rates);
}

/* A report that is nearly due uses this sample, not the next. */
static void report_if_due(struct ccs_agent *a, const struct ccs_port *port,
			  struct ccs_subscriber *s, uint64_t period_ns, uint32_t flows)
{
	const bool idle = s->reported_bytes == port->record.tx_bytes && !port->record.qlen_bytes;

	if (idle || s->due_ns > port->sampled_ns + period_ns / 4) {
		if (!port->publication)
			report_change(a, port, s, flows);
		return;
	}
	s->due_ns = port->sampled_ns + period_ns;
	if (!s->inbound && requests_only_advice(port, s->peer))
		s->due_ns += (ECHO_EVERY - 1) * period_ns;
	s->reported_bytes = port->record.tx_bytes;
	if (s->inbound)
		report_to_reader(a, port, s, flows);
	else if (port->publication)
		report_to_receiver(a, port, s->peer);
	else
		report_to_sender(a, port, s, flows);
}

static bool is_current(const struct ccs_subscriber *s, uint64_t now_ns)
{
	return s->inbound ? s->peer->inbound.request.active : ccs_peer_leased(s->peer, now_ns);
}

static void sample_and_report(struct ccs_agent *a, struct ccs_port *port, uint64_t now_ns)
{
	uint64_t period_ns, shortest_ns = CCS_PERIOD_MOST_NS;
	uint32_t flows;

	for (unsigned i = port->nsubs; i-- > 0;)
		if (!is_current(&port->sub[i], now_ns))
			ccs_subscriber_remove(port, port->sub[i].peer, port->sub[i].inbound);
	if (!port->nsubs || !update_record(a, port)) {
		port->next_ns = now_ns + CCS_PERIOD_LEAST_NS;
		return;
	}
	flows = ccs_port_flows(port);
	for (unsigned i = 0; i < port->nsubs; i++) {
		period_ns = port->sub[i].inbound ? reader_period_ns(port, port->sub[i].peer)
						 : peer_period_ns(a, port, port->sub[i].peer);
		report_if_due(a, port, &port->sub[i], period_ns, flows);
		shortest_ns = period_ns < shortest_ns ? period_ns : shortest_ns;
	}
	/* While records of switches arrive, they trigger the samples. */
	if (port->switch_record_ns && now_ns - port->switch_record_ns < 2 * shortest_ns)
		shortest_ns += shortest_ns / 2;
	port->next_ns = now_ns + shortest_ns;
}

uint64_t ccs_sampler_due(const struct ccs_agent *a)
{
	uint64_t due_ns = UINT64_MAX;

	for (const struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		if (port->nsubs && port->next_ns < due_ns)
			due_ns = port->next_ns;
	return due_ns;
}

void ccs_sampler_run(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		if (port->nsubs && port->next_ns <= now_ns)
			sample_and_report(a, port, now_ns);
}
