/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver of TCP flows. Windows are Reno's (RFC 5681), lost packets are found by selective
 * acknowledgements (RFC 6675), timeouts follow RFC 6298; DCTCP is RFC 8257. Connections are
 * open already, each packet is acknowledged at once, and acknowledgements carry its mark and the time
 * at which it was sent. Frames are as long as RDMA's.
 */
#include "baselines.h"

#include <math.h>

#include "priv.h"

enum { WINDOW, MIN_RTO, GAIN };

#define COMMON_PARAMS \
	{ "window", "", 10, 1, 1000, NULL, "packets of the first window", "RFC 6928, 2" }, \
	{ "min_rto", "us", 10000, 1, 60e6, NULL, "the least retransmission timeout", \
	  "DCTCP's paper, 4.2; RFC 6298 has 1 s, Linux 200 ms" }

static const struct ccs_cc_param params[] = {
	COMMON_PARAMS,
	{ "g", "", 1.0 / 16, 1e-6, 1, NULL, "weight of a window in the share of marks", "RFC 8257, 4.2" },
};

const struct ccs_cc_ops fab_reno = {
	.name = "reno", .doc = "TCP with losses as its only signal", .params = params, .nparams = GAIN,
};

const struct ccs_cc_ops fab_dctcp = {
	.name = "dctcp", .doc = "TCP with windows by the share of marks", .needs = CCS_NEEDS_CNP,
	.params = params, .nparams = GAIN + 1,
};

struct tcp {
	double mss, cwnd, ssthresh; /* bytes */
	double srtt_us, rttvar_us, rto_us, min_rto_us;
	uint64_t rto_at;         /* NEVER while no packet is in flight */
	/* The first hole, and when it had been sent again; what was sent again before it is once more,
	 * 0: it is not. */
	uint64_t hole, hole_at, resent;
	bool timed_out;          /* until the data in flight at the timeout are acknowledged */
	/* DCTCP: marks of the window that ends at window_end; a cut until cut_until was sent */
	double alpha, gain;      /* gain 0: Reno */
	uint64_t acked, marked, window_end, cut_until;
};

/* -- what is in flight ----------------------------------------------------------------------- */

/* Holes below this are lost: more than two packets or two ranges beyond them were received. */
static uint64_t lost_below(const struct flow *f)
{
	const struct fab_ranges *r = &f->sacked;
	double bytes = 0;

	for (uint32_t i = r->n; i-- > 0;) {
		bytes += (double)(r->range[i].to - r->range[i].from);
		if (bytes > 2 * f->tcp->mss || r->n - i > 2)
			return r->range[i].from;
	}
	return f->snd_una;
}

/* RFC 6675's pipe: excludes data that the receiver has, and lost data not sent again. */
static double in_flight(const struct flow *f)
{
	const uint64_t lost = f->recover_until ? f->lost_end : 0;
	uint64_t at = f->snd_una, bytes = f->snd_nxt - f->snd_una;

	for (uint32_t i = 0; i < f->sacked.n; i++) {
		const struct fab_range *r = &f->sacked.range[i];
		const uint64_t from = at > f->resend ? at : f->resend;

		bytes -= r->to - r->from;
		if (r->from <= lost && r->from > from)
			bytes -= r->from - from;
		at = r->to;
	}
	return (double)bytes;
}

/* The first hole is sent again whatever is in flight. */
static bool may_send(const struct sim *s, const struct flow *f, bool lost)
{
	const double bytes = in_flight(f);

	(void)s;
	return bytes <= 0 || bytes + f->tcp->mss <= f->tcp->cwnd || (lost && f->resend <= f->snd_una);
}

/* -- timeouts -------------------------------------------------------------------------------- */

static void measure(struct tcp *t, double rtt_us)
{
	t->rttvar_us += (fabs(t->srtt_us - rtt_us) - t->rttvar_us) / 4;
	t->srtt_us += (rtt_us - t->srtt_us) / 8;
	t->rto_us = fmax(t->min_rto_us, t->srtt_us + 4 * t->rttvar_us);
}

static void restart_timer(struct sim *s, struct flow *f)
{
	f->tcp->rto_at = s->now + ps_of(f->tcp->rto_us);
	flow_set_timer(s, f, f->tcp->rto_at);
}

static void sent(struct sim *s, struct flow *f, uint32_t bytes)
{
	struct tcp *t = f->tcp;

	(void)bytes;
	if (t->resent) {
		f->resend = t->resent > f->resend ? t->resent : f->resend;
		t->hole_at = s->now;
		t->resent = 0;
	}
	if (t->rto_at == NEVER)
		restart_timer(s, f);
}

/* Send again all data that the receiver may not have: holes, and the data after them. */
static void time_out(struct sim *s, struct flow *f)
{
	const struct fab_ranges *r = &f->sacked;
	const uint64_t top = r->n ? r->range[r->n - 1].to : f->snd_una;
	struct tcp *t = f->tcp;

	if (!t->timed_out)
		t->ssthresh = fmax((double)(f->snd_nxt - f->snd_una) / 2, 2 * t->mss);
	t->cwnd = t->mss;
	t->timed_out = true;
	t->resent = 0;
	t->cut_until = f->recover_until = f->snd_nxt > f->recover_until ? f->snd_nxt : f->recover_until;
	f->resend = f->snd_una;
	f->lost_end = NEVER;
	s->result->retransmitted += (uint64_t)ceil((double)(f->snd_nxt - top) / t->mss);
	f->snd_nxt = top;
	t->rto_us = fmin(2 * t->rto_us, 60e6);
	restart_timer(s, f);
}

/* The timer is not moved with each acknowledgement: what is due later is set again. */
static void timer(struct sim *s, struct flow *f)
{
	if (f->tcp->rto_at == NEVER)
		return;
	if (s->now < f->tcp->rto_at)
		flow_set_timer(s, f, f->tcp->rto_at);
	else
		time_out(s, f);
	flow_update(s, f);
}

/* -- windows --------------------------------------------------------------------------------- */

static void start(struct sim *s, struct flow *f)
{
	const struct ccs_cc_spec *spec = algorithm_of(s, f->spec->priority);
	struct tcp *t = f->tcp;

	*t = (struct tcp){
		.mss = s->conf->wire.payload, .cwnd = fab_param(spec, WINDOW) * s->conf->wire.payload,
		.ssthresh = INFINITY, .srtt_us = f->base_us, .rttvar_us = f->base_us / 2,
		.min_rto_us = fab_param(spec, MIN_RTO), .rto_at = NEVER,
		.alpha = 1, .gain = spec->ops == &fab_dctcp ? fab_param(spec, GAIN) : 0,
	};
	t->rto_us = fmax(t->min_rto_us, 3 * f->base_us);
	flow_post(s, f);
}

static void note_received(struct flow *f, const struct packet *k)
{
	fab_ranges_drop(&f->sacked, f->snd_una);
	if (k->sack < f->snd_una)
		return;
	fab_ranges_add(&f->sacked, k->sack, k->sack + k->payload);
	if (k->sack + k->payload > f->snd_nxt)
		f->snd_nxt = k->sack + k->payload;
}

/* DCTCP: less once per window of data, by half the share of marks. */
static void note_mark(struct flow *f, uint32_t acked, bool mark)
{
	struct tcp *t = f->tcp;

	t->acked += acked;
	t->marked += mark ? acked : 0;
	if (f->snd_una > t->window_end && t->acked) {
		t->alpha += t->gain * ((double)t->marked / (double)t->acked - t->alpha);
		t->acked = t->marked = 0;
		t->window_end = f->snd_nxt;
	}
	if (mark && f->snd_una > t->cut_until && !f->recover_until) {
		t->cwnd = t->ssthresh = fmax(t->cwnd * (1 - t->alpha / 2), 2 * t->mss);
		t->cut_until = f->snd_nxt;
	}
}

/* A window that was not used does not grow. */
static void grow(struct tcp *t, double acked, double flight)
{
	acked = fmin(acked, t->mss);
	if (t->cwnd < t->ssthresh)
		t->cwnd += flight >= t->cwnd / 2 ? acked : 0;
	else if (flight + t->mss > t->cwnd)
		t->cwnd += t->mss * acked / t->cwnd;
}

static void recover(struct flow *f)
{
	struct tcp *t = f->tcp;

	t->cwnd = t->ssthresh = fmax((double)(f->snd_nxt - f->snd_una) / 2, 2 * t->mss);
	t->cut_until = f->recover_until = f->snd_nxt;
	f->resend = f->snd_una;
	t->resent = 0;
	t->hole = NEVER;
}

/* Paths keep the order of packets: if one that was sent later has arrived, the first hole's packet is
 * lost again, and sent once more, with half the window (RFC 5681, 4.3). RFC 6675 would wait for a
 * timeout, Linux does not. */
static void find_lost_again(const struct sim *s, struct flow *f, const struct packet *k)
{
	struct tcp *t = f->tcp;

	if (!f->recover_until || f->resend <= f->snd_una)
		return;
	if (t->hole != f->snd_una) {
		t->hole = f->snd_una;
		t->hole_at = s->now;
	} else if (k->sent > t->hole_at) {
		t->resent = f->resend;
		f->resend = f->snd_una;
		t->cwnd = t->ssthresh = fmax(t->cwnd / 2, 2 * t->mss);
	}
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked)
{
	struct tcp *t = f->tcp;
	const double flight = (double)(f->snd_nxt - f->snd_una + acked);

	measure(t, us_of(s->now - k->sent));
	note_received(f, k);
	if (f->snd_una >= f->recover_until) {
		f->recover_until = 0;
		t->timed_out = false;
	}
	if (t->gain > 0)
		note_mark(f, acked, k->ce);
	if (!f->recover_until && lost_below(f) > f->snd_una)
		recover(f);
	else if (acked && !k->ce && (!f->recover_until || t->timed_out))
		grow(t, acked, flight);
	find_lost_again(s, f, k);
	/* Without more to send, send again holes that are not lost yet (NextSeg's rule 3). */
	f->lost_end = t->timed_out || f->snd_nxt == f->posted ? NEVER : lost_below(f);
	if (f->snd_nxt == f->snd_una)
		t->rto_at = NEVER;
	else if (acked)
		restart_timer(s, f);
	flow_update(s, f);
}

const struct driver tcp_driver = {
	.size = sizeof(struct tcp), .is_tcp = true, .echoes = true, .start = start,
	.may_send = may_send, .sent = sent, .ack = ack, .cnp = flow_update, .loss = flow_update,
	.timer = timer, .ready = flow_post,
};
