/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts: NICs in which flows take turns, retransmission, and receivers. */
#include <math.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

/* -- the sender ------------------------------------------------------------------------------ */

bool flow_is_done(const struct flow *f)
{
	return f->snd_una == f->size;
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
	if (s->conf->host.unacked && f->spec->verb != FAB_READ &&
	    f->nic.unacked >= s->conf->host.unacked)
		return false;
	return !f->driver->may_send || f->driver->may_send(s, f, lost);
}

/* The end of the bytes of r that are of one message, or segment. */
static uint64_t within_message(const struct flow *f, struct fab_range r)
{
	const uint64_t size = f->spec->message;
	const uint64_t end = f->posts.post ? posts_at(&f->posts, f->posts.next)->end
			   : size ? (r.from / size + 1) * size : r.to;

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

static void feed_nic(struct sim *s, struct flow *f);

static uint64_t due(const struct sim *s, const struct flow *f)
{
	return f->driver->due ? f->driver->due(s, f) : 0;
}

void flow_update(struct sim *s, struct flow *f)
{
	uint64_t at;

	if (s->conf->host.depth) {
		feed_nic(s, f);
		return;
	}
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

/* A packet asks for an acknowledgement, or the last of a segment, and of half a window. */
static bool asks(const struct sim *s, struct flow *f, uint64_t end)
{
	const unsigned half = s->conf->host.unacked / 2;
	const struct post *post;
	uint64_t within;

	f->nic.unacked++;
	if (!f->posts.post)
		return true;
	post = posts_at(&f->posts, f->posts.next);
	within = end - (post->end - post->len);
	f->posts.next += end == post->end;
	return end == post->end || (half && within / s->conf->wire.payload % half == 0);
}

static uint32_t new_data(struct sim *s, struct flow *f)
{
	const struct fab_wire *w = &s->conf->wire;
	const struct fab_range bytes = next_bytes(s, f);
	const uint32_t i = new_packet(s);
	struct packet *k = &s->packet[i];

	k->flow = flow_number(s, f);
	k->seq = bytes.from;
	k->payload = (uint32_t)(bytes.to - bytes.from);
	k->kind = DATA;
	k->priority = (uint8_t)f->spec->priority;
	k->ttl = (uint8_t)s->conf->ttl;
	k->dscp = f->dscp;
	k->len = k->payload + w->header + (f->telemetry ? w->data_telemetry : 0);
	k->ect = f->ect;
	k->asks = asks(s, f, bytes.to);
	f->sent_at = s->now;
	k->sent = segment_start(s, f, bytes.from);
	if (f->telemetry)
		s->packet[i].record = new_record(s);
	s->result->sent++;
	if (f->driver->sent)
		f->driver->sent(s, f, k->payload);
	return i;
}

/* A packet that is put into an empty queue leaves at once, which calls this again. */
static void feed_nic(struct sim *s, struct flow *f)
{
	const uint32_t depth = s->conf->host.depth;

	if (f->nic.feeding)
		return;
	f->nic.feeding = true;
	while (f->nic.queued <= depth / 4 && may_send(s, f))
		while (f->nic.queued < depth && may_send(s, f)) {
			f->nic.queued++;
			port_put(s, f->port, new_data(s, f));
		}
	f->nic.feeding = false;
}

void host_sent(struct sim *s, uint32_t flow)
{
	s->flow[flow].nic.queued--;
	feed_nic(s, &s->flow[flow]);
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
		port_send(s, port, new_data(s, f));
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
	f->posts.next = f->posts.first;
	f->nic.unacked = 0;
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

/* Devices check the progress of flows at this interval, and not of all flows at the same time. */
static void set_timeout(struct sim *s, struct flow *f, double phase)
{
	if (s->conf->rto_us > 0 && !f->driver->is_tcp)
		set_event(s, s->now + ps_of((1 + phase) * s->conf->rto_us), TIMEOUT, flow_number(s, f));
}

void flow_timeout(struct sim *s, uint32_t flow)
{
	struct flow *f = &s->flow[flow];

	if (flow_is_done(f))
		return;
	if (f->spec->verb == FAB_READ && f->handed > f->posted && f->snd_una == f->una_at_timeout)
		f->posted = f->handed; /* the requests were lost */
	if (f->snd_una == f->una_at_timeout && f->snd_nxt != f->snd_una) {
		fab_ranges_free(&f->sacked);
		f->recover_until = 0;
		go_back(s, f);
	}
	f->una_at_timeout = f->snd_una;
	set_timeout(s, f, 0);
}

struct ccs_cc_path flow_path(const struct sim *s, const struct flow *f)
{
	const struct fab_layer *l = &s->conf->layer;

	return (struct ccs_cc_path){
		.line_rate = 8e12 / s->port[f->port].ps_per_byte,
		.segment = l->segment ? l->segment : s->conf->wire.payload,
		.base_rtt_us = s->conf->base_rtt_us > 0 ? s->conf->base_rtt_us : f->base_us,
		.rtt_jitter_us = l->rtt_jitter_us, .flows = l->flows ? l->flows : 1,
		.bottleneck_rate = l->bottleneck,
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
	s->live[f->spec->dst]++;
	set_timeout(s, f, (double)f->spec->id / s->conf->flows->n);
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
	if (s->conf->agents.present && f->driver->advice)
		send_control(s, f->port, f, HELLO, 0);
}

void flow_hand(struct sim *s, struct flow *f, uint32_t len)
{
	f->handed += len;
	if (s->conf->host.whole_segments)
		posts_add(&f->posts, (struct post){ s->now, f->handed, len });
	if (f->spec->verb == FAB_READ)
		send_control(s, f->port_back, f, REQUEST, f->handed);
	else
		f->posted = f->handed;
}

static void finish(struct sim *s, struct flow *f)
{
	s->result->flow[f->spec->id].fct = s->now - f->spec->start;
	s->result->done++;
	f->posted = f->snd_nxt = f->snd_una;
	f->recover_until = 0;
	s->live[f->spec->dst]--;
	fab_ranges_free(&f->sacked);
	flow_stop(f);
}

void flow_leave(struct sim *s, struct flow *f)
{
	f->size = f->handed;
	if (flow_is_done(f))
		finish(s, f);
}

/* Segments are complete up to k->seq. The time at which a segment was posted replaces its packet's. */
static void complete_posts(struct sim *s, struct flow *f, const struct packet *acks)
{
	struct packet k = *acks;

	while (f->snd_una < k.seq) {
		const struct post post = *posts_at(&f->posts, f->posts.first);
		const uint64_t to = post.end < k.seq ? post.end : k.seq;
		const uint32_t payload = s->conf->wire.payload;
		const uint32_t packets = (uint32_t)((to - f->snd_una + payload - 1) / payload);

		f->nic.unacked -= packets < f->nic.unacked ? packets : f->nic.unacked;
		f->snd_una = to;
		if (to < post.end)
			break;
		f->posts.first++;
		k.sent = post.at;
		if (s->scenario.acked)
			s->scenario.acked(s, f, &post);
		if (flow_is_done(f))
			finish(s, f);
		else
			f->driver->ack(s, f, &k, post.len);
	}
	flow_update(s, f);
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
		f->rtt.sum += s->now - k->sent;
		f->rtt.acks++;
	}
	acked = k->seq > f->snd_una ? (uint32_t)(k->seq - f->snd_una) : 0;
	if (f->posts.post) {
		complete_posts(s, f, k);
	} else {
		f->snd_una += acked;
		if (flow_is_done(f))
			finish(s, f);
	}
	if (flow_is_done(f))
		return;
	if (k->kind == NAK) {
		go_back(s, f);
	} else if (!f->posts.post) {
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

/* Returns how late the host is with an acknowledgement. */
static uint64_t delay(struct sim *s)
{
	const struct fab_noise *n = &s->conf->host.noise;
	const uint64_t every = ps_of(n->stall_every_us), stall = ps_of(n->stall_us);
	const uint64_t since = every ? s->now % every : stall;
	double us = n->uniform_us > 0 ? n->uniform_us * rng_unit(&s->random) : 0;

	if (n->exp_us > 0)
		us -= n->exp_us * log(1 - rng_unit(&s->random));
	if (n->burst_share > 0 && rng_unit(&s->random) < n->burst_share)
		us += n->burst_us * rng_unit(&s->random);
	return ps_of(us) + (since < stall ? stall - since : 0);
}

static void acknowledge(struct sim *s, uint32_t port, uint32_t packet)
{
	struct packet *k = &s->packet[packet];
	struct flow *f = &s->flow[k->flow];
	uint64_t at = s->now + (k->kind == ACK ? delay(s) : 0);

	k->port = port;
	if (s->conf->host.whole_segments && k->kind == ACK) /* completions are in order */
		at = f->acked_at = at > f->acked_at ? at : f->acked_at;
	if (at > s->now)
		set_event(s, at, HELD, packet);
	else
		host_held(s, packet);
}

/* The receiver's counter and clock instead of switches' records. */
static void echo(struct sim *s, uint32_t port, struct packet *k)
{
	if (!k->record)
		k->record = new_record(s);
	s->record[k->record].n = 1;
	s->record[k->record].hop[0] = (struct ccs_cc_hop){
		.ts_ns = s->now / 1000, .tx_bytes = s->stats[port].received,
		.capacity = 8e12 / s->port[port].ps_per_byte,
	};
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
	const bool answer = early ? !f->nak_sent : k->asks;

	s->result->received++;
	if (s->delays && is_lossless(s, k->priority))
		ccs_hist_record(s->delays, (s->now - k->sent) / 1000);
	s->stats[port].received += k->len;
	f->nak_sent = early;
	if (f->selective)
		keep(f, k);
	else if (k->seq == f->rcv_nxt)
		f->rcv_nxt += k->payload;
	if (!answer) {
		free_packet(s, packet);
	} else {
		k->kind = early ? NAK : ACK;
		if (s->conf->host.echo)
			echo(s, port, k);
		k->sack = k->seq;
		k->seq = f->rcv_nxt;
		k->ce = ce && f->echoes;
		k->ttl = (uint8_t)s->conf->ttl;
		k->dscp = f->dscp;
		k->priority = f->ack_priority;
		k->len = w->ack + (f->telemetry ? w->ack_telemetry : 0);
		acknowledge(s, port ^ 1, packet);
	}
	if (s->order)
		order_received(s, flow);
	if (f->driver->received)
		f->driver->received(s, port, f);
	if (ce && !f->echoes && ccs_dcqcn_np_ce(&f->np, us)) {
		s->result->cnps++;
		if (f->spec->verb == FAB_READ && !flow_is_done(f)) /* the receiver limits the requests */
			f->driver->cnp(s, f);
		else
			send_control(s, port ^ 1, f, CNP, 0);
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

	if (k.kind != ACK || s->flow[k.flow].spec->verb != FAB_READ) {
		port_put(s, k.port, packet);
		return;
	}
	receive_ack(s, &k);
	free_packet(s, packet);
}

static void receive_request(struct sim *s, const struct packet *k)
{
	struct flow *f = &s->flow[k->flow];

	if (k->seq > f->posted && !flow_is_done(f))
		f->posted = k->seq;
	flow_update(s, f);
}

static void receive_other(struct sim *s, uint32_t port, uint32_t packet)
{
	const struct packet k = s->packet[packet];

	if (k.kind == HELLO)
		agent_join(s, port, k.flow);
	else if (k.kind == ASK || k.kind == CREDIT)
		credits_receive(s, port, &k);
	else if (k.kind == REQUEST)
		receive_request(s, &k);
	else if (k.kind == ACK || k.kind == NAK)
		receive_ack(s, &k);
	else
		receive_signal(s, &k);
	free_packet(s, packet);
}

void host_receive(struct sim *s, uint32_t port, uint32_t packet)
{
	if (s->packet[packet].kind == DATA)
		receive_data(s, port, packet);
	else
		receive_other(s, port, packet);
}
