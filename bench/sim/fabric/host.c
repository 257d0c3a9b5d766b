/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts: NICs in which flows take turns, retransmission, and receivers. */
#include "bench/sim/core/memory.h"
#include "priv.h"

/* -- the sender ------------------------------------------------------------------------------ */

bool flow_is_done(const struct flow *f)
{
	return f->snd_una == f->spec->size;
}

/* The first byte that is to be sent again: one below what the receiver has, or NEVER. */
static uint64_t find_hole(const struct flow *f)
{
	uint64_t at;

	if (!f->recover_until)
		return NEVER;
	at = fab_ranges_gap(&f->sacked, f->resend > f->snd_una ? f->resend : f->snd_una);
	return at >= f->lost_end || fab_ranges_next(&f->sacked, at) == NEVER ? NEVER : at;
}

static bool may_send(const struct sim *s, const struct flow *f)
{
	const bool lost = find_hole(f) != NEVER;

	if (!lost && f->snd_nxt >= f->posted)
		return false;
	return !f->driver->may_send || f->driver->may_send(s, f, lost);
}

/* The end of the bytes of r that are of one message. */
static uint64_t within_message(const struct flow *f, struct fab_range r)
{
	const uint64_t size = f->spec->message;
	const uint64_t end = size ? (r.from / size + 1) * size : r.to;

	return end < r.to ? end : r.to;
}

/* The bytes of the next packet: from a hole, or new data. */
static struct fab_range next_bytes(struct sim *s, struct flow *f)
{
	const uint64_t hole = find_hole(f);
	struct fab_range r = { f->snd_nxt, f->posted };

	if (hole != NEVER)
		r = (struct fab_range){ hole, fab_ranges_next(&f->sacked, hole) };
	if (r.to - r.from > s->conf->wire.payload)
		r.to = r.from + s->conf->wire.payload;
	r.to = within_message(f, r);
	*(hole != NEVER ? &f->resend : &f->snd_nxt) = r.to;
	s->result->retransmitted += hole != NEVER;
	return r;
}

static void set_due(struct sim *s, struct flow *f, uint64_t at)
{
	f->state = TIMED;
	if (at < f->due_at) {
		f->due_at = at;
		set_event(s, at, DUE, flow_number(s, f));
	}
}

static void append(struct sim *s, struct flow *f)
{
	const uint32_t number = flow_number(s, f);
	struct port *p = &s->port[f->port];

	f->state = SENDING;
	f->next = 0;
	if (p->flows++)
		s->flow[p->sending.last].next = number;
	else
		p->sending.first = number;
	p->sending.last = number;
}

static struct flow *take(struct sim *s, struct port *p)
{
	struct flow *f = &s->flow[p->sending.first];

	p->sending.first = f->next;
	p->flows--;
	return f;
}

static uint64_t due(const struct sim *s, const struct flow *f)
{
	return f->driver->due ? f->driver->due(s, f) : 0;
}

void flow_update(struct sim *s, struct flow *f)
{
	uint64_t at;

	if (f->state == SENDING)
		return;
	if (!may_send(s, f)) {
		f->state = BLOCKED;
		return;
	}
	at = due(s, f);
	if (at > s->now) {
		set_due(s, f, at);
		return;
	}
	append(s, f);
	port_kick(s, f->port);
}

/* When the segment began in which this byte is. */
static uint64_t segment_start(const struct sim *s, struct flow *f, uint64_t byte)
{
	if (!s->conf->segment || byte % s->conf->segment == 0)
		f->segment_at = s->now;
	return f->segment_at;
}

static void send_packet(struct sim *s, uint32_t port, struct flow *f)
{
	const struct fab_wire *w = &s->conf->wire;
	const struct fab_range bytes = next_bytes(s, f);
	const uint32_t i = new_packet(s);
	struct packet *k = &s->packet[i];

	k->flow = flow_number(s, f);
	k->seq = bytes.from;
	k->payload = (uint16_t)(bytes.to - bytes.from);
	k->kind = DATA;
	k->priority = (uint8_t)f->spec->priority;
	k->ttl = (uint8_t)s->conf->ttl;
	k->dscp = f->dscp;
	k->len = k->payload + w->header + (f->telemetry ? w->data_telemetry : 0);
	k->ect = f->ect;
	f->sent_at = s->now;
	k->sent = segment_start(s, f, bytes.from);
	f->last_len = k->len;
	if (f->telemetry)
		s->packet[i].record = new_record(s);
	s->result->sent++;
	if (f->driver->sent)
		f->driver->sent(s, f, k->payload);
	port_send(s, port, i);
}

/* Flows take turns, a packet each. */
bool host_send(struct sim *s, uint32_t port)
{
	struct port *p = &s->port[port];

	for (unsigned n = p->flows; n; n--) {
		struct flow *f = take(s, p);
		uint64_t at;

		if (p->paused & 1u << f->spec->priority) {
			append(s, f);
			continue;
		}
		f->state = BLOCKED;
		if (!may_send(s, f))
			continue;
		at = due(s, f);
		if (at > s->now) {
			set_due(s, f, at);
			continue;
		}
		send_packet(s, port, f);
		if (!may_send(s, f))
			return true;
		at = due(s, f);
		if (at > p->free_at)
			set_due(s, f, at);
		else
			append(s, f);
		return true;
	}
	return false;
}

void flow_set_timer(struct sim *s, struct flow *f, uint64_t at)
{
	if (at <= s->now)
		at = s->now + 1;
	if (at < f->timer_at) {
		f->timer_at = at;
		set_event(s, at, TIMER, flow_number(s, f));
	}
}

void flow_timer(struct sim *s, uint32_t flow)
{
	struct flow *f = &s->flow[flow];

	if (s->now != f->timer_at || flow_is_done(f))
		return;
	f->timer_at = NEVER;
	f->driver->timer(s, f);
}

void flow_due(struct sim *s, uint32_t flow)
{
	struct flow *f = &s->flow[flow];

	if (s->now != f->due_at)
		return;
	f->due_at = NEVER;
	if (f->state == TIMED)
		flow_update(s, f);
}

/* Go back to the first byte that is not acknowledged. */
static void go_back(struct sim *s, struct flow *f)
{
	const uint32_t payload = s->conf->wire.payload;

	s->result->retransmitted += (f->snd_nxt - f->snd_una + payload - 1) / payload;
	f->snd_nxt = f->snd_una;
	f->driver->loss(s, f);
}

/* The receiver has this packet, and not all before it. A hole is sent again once per recovery. */
static void note_sack(struct sim *s, struct flow *f, const struct packet *k)
{
	fab_ranges_drop(&f->sacked, f->snd_una);
	if (f->snd_una >= f->recover_until)
		f->recover_until = 0;
	if (k->sack < f->snd_una)
		return;
	fab_ranges_add(&f->sacked, k->sack, k->sack + k->payload);
	if (!f->recover_until) {
		f->recover_until = f->snd_nxt;
		f->resend = f->snd_una;
		f->driver->loss(s, f);
	}
}

static void set_timeout(struct sim *s, struct flow *f)
{
	if (s->conf->rto_us > 0 && !f->driver->is_tcp)
		set_event(s, s->now + ps_of(s->conf->rto_us), TIMEOUT, flow_number(s, f));
}

void flow_timeout(struct sim *s, uint32_t flow)
{
	struct flow *f = &s->flow[flow];

	if (flow_is_done(f))
		return;
	if (f->snd_una == f->una_at_timeout && f->snd_nxt != f->snd_una) {
		fab_ranges_free(&f->sacked);
		f->recover_until = 0;
		go_back(s, f);
	}
	f->una_at_timeout = f->snd_una;
	set_timeout(s, f);
}

struct ccs_cc_path flow_path(const struct sim *s, const struct flow *f)
{
	return (struct ccs_cc_path){
		.line_rate = 8e12 / s->port[f->port].ps_per_byte, .segment = s->conf->wire.payload,
		.base_rtt_us = s->conf->base_rtt_us > 0 ? s->conf->base_rtt_us : f->base_us,
		.payload_share = (double)s->conf->wire.payload /
				 (s->conf->wire.payload + s->conf->wire.header),
		.flows = 1,
	};
}

void send_control(struct sim *s, uint32_t port, const struct flow *f, enum kind kind, uint64_t seq)
{
	const uint32_t i = new_control(s, f, kind);

	s->packet[i].seq = seq;
	port_put(s, port, i);
}

void flow_start(struct sim *s, struct flow *f)
{
	f->np = ccs_dcqcn_np_init(s->conf->cnp_us);
	f->sent_at = f->due_at = f->timer_at = f->lost_end = NEVER;
	f->state = BLOCKED;
	set_timeout(s, f);
	if (flow_ready(s, f))
		flow_announce(s, f);
	f->control = mem_zeroed(1, f->driver->size);
	f->driver->start(s, f);
}

void flow_stop(struct flow *f)
{
	if (f->driver->stop)
		f->driver->stop(f);
	free(f->control);
	f->control = NULL;
}

void flow_post(struct sim *s, struct flow *f)
{
	f->posted = flow_ready(s, f);
	flow_update(s, f);
}

void flow_announce(struct sim *s, struct flow *f)
{
	if (s->conf->agents && !f->driver->is_tcp)
		send_control(s, f->port, f, HELLO, 0);
}

static void finish(struct sim *s, struct flow *f)
{
	s->result->flow[f->spec->id].fct = s->now - f->spec->start;
	s->result->done++;
	f->posted = f->snd_nxt = f->snd_una;
	f->recover_until = 0;
	fab_ranges_free(&f->sacked);
	flow_stop(f);
}

static void receive_ack(struct sim *s, const struct packet *k)
{
	struct flow *f = &s->flow[k->flow];
	uint32_t acked;

	if (flow_is_done(f) || (k->seq > f->snd_nxt && !f->selective))
		return;
	/* A packet that a timeout sent again closed a gap; the receiver has what follows. */
	if (k->seq > f->snd_nxt)
		f->snd_nxt = k->seq;
	if (!s->conf->segment || k->seq % s->conf->segment == 0) {
		f->rtt_sum += s->now - k->sent;
		f->acks++;
	}
	acked = k->seq > f->snd_una ? (uint32_t)(k->seq - f->snd_una) : 0;
	f->snd_una += acked;
	if (flow_is_done(f)) {
		finish(s, f);
	} else if (k->kind == NAK) {
		go_back(s, f);
	} else {
		if (f->selective && !f->driver->is_tcp)
			note_sack(s, f, k);
		f->driver->ack(s, f, k, acked);
	}
}

/* -- the receiver ---------------------------------------------------------------------------- */

/* Data after a gap are kept until the gap is closed. */
static void keep(struct flow *f, const struct packet *k)
{
	const uint64_t end = k->seq + k->payload;

	if (k->seq > f->rcv_nxt) {
		fab_ranges_add(&f->have, k->seq, end);
		return;
	}
	if (end > f->rcv_nxt)
		f->rcv_nxt = fab_ranges_gap(&f->have, end);
	fab_ranges_drop(&f->have, f->rcv_nxt);
}

/* The packet itself goes back as its acknowledgement. Of packets that come out of order only the
 * first is answered, by a NAK, unless they are kept. */
static void receive_data(struct sim *s, uint32_t port, uint32_t packet)
{
	struct packet *k = &s->packet[packet];
	struct flow *f = &s->flow[k->flow];
	const struct fab_wire *w = &s->conf->wire;
	const double us = us_of(s->now - s->result->begin);
	const uint32_t flow = k->flow;
	const bool ce = k->ce, early = k->seq > f->rcv_nxt && !f->selective;

	s->result->received++;
	if (s->delays && k->priority == s->conf->lossless)
		ccs_hist_record(s->delays, (s->now - k->sent) / 1000);
	if (early && f->nak_sent) {
		free_packet(s, packet);
	} else {
		k->kind = early ? NAK : ACK;
		f->nak_sent = early;
		if (f->selective)
			keep(f, k);
		else if (k->seq == f->rcv_nxt)
			f->rcv_nxt += k->payload;
		k->sack = k->seq;
		k->seq = f->rcv_nxt;
		k->ce = ce && f->echoes;
		k->ttl = (uint8_t)s->conf->ttl;
		k->dscp = f->dscp;
		k->priority = f->ack_priority;
		k->len = w->ack + (f->telemetry ? w->ack_telemetry : 0);
		port_put(s, port ^ 1, packet);
	}
	if (s->order)
		order_received(s, flow);
	if (f->driver->received)
		f->driver->received(s, port, f);
	if (ce && !f->echoes && ccs_dcqcn_np_ce(&f->np, us)) {
		send_control(s, port ^ 1, f, CNP, 0);
		s->result->cnps++;
	}
}

static void receive_cnp(struct sim *s, const struct packet *k)
{
	const double us = us_of(s->now - k->sent);

	s->result->cnp_us_sum += us;
	if (us > s->result->cnp_us_max)
		s->result->cnp_us_max = us;
	s->flow[k->flow].driver->cnp(s, &s->flow[k->flow]);
}

static void receive_signal(struct sim *s, const struct packet *k)
{
	if (k->kind == ADVICE)
		agent_message(s, k);
	else if (!flow_is_done(&s->flow[k->flow]))
		receive_cnp(s, k);
}

void host_held(struct sim *s, uint32_t packet)
{
	const struct packet k = s->packet[packet];

	receive_ack(s, &k);
	free_packet(s, packet);
}

static void receive_other(struct sim *s, uint32_t port, uint32_t packet)
{
	const struct packet k = s->packet[packet];

	if (k.kind == HELLO)
		agent_join(s, port, k.flow);
	else if (k.kind == ASK || k.kind == CREDIT)
		credits_receive(s, port, &k);
	else if (k.kind == REQUEST)
		flow_request(s, &k);
	else if (k.kind == ACK || k.kind == NAK)
		receive_ack(s, &k);
	else
		receive_signal(s, &k);
	free_packet(s, packet);
}

void host_receive(struct sim *s, uint32_t port, uint32_t packet)
{
	const uint8_t kind = s->packet[packet].kind;

	if (kind == DATA)
		receive_data(s, port, packet);
	else if (s->conf->noise_us > 0 && (kind == ACK || kind == NAK))
		set_event(s, s->now + ps_of(s->conf->noise_us * rng_unit(&s->random)), HELD, packet);
	else
		receive_other(s, port, packet);
}
