/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests HPCC's variants against a golden trace from another implementation and against a second
 * implementation below.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hpcc.h"
#include "seed.h"

static void read_hops(struct wire *w, const char *text)
{
	w->ack.nhops = 0;
	for (const char *at = text; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
		struct ccs_cc_hop *hop = &w->hop[w->ack.nhops++];

		assert_int_equal(sscanf(at, "%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%lf", &hop->ts_ns,
					&hop->tx_bytes, &hop->qlen_bytes, &hop->capacity), 4);
	}
	w->ack.hops = w->hop;
}

static void check_golden_incast(const char *spec)
{
	const struct ccs_cc_path path = { .line_rate = 100e9, .base_rtt_us = 4, .segment = 1000,
					  .flows = 1 };
	FILE *f = data("hpcc_paper_incast.csv");
	struct wire w = { .ack.bytes = 1000 };
	double U, W, Wc, R, stage, last;
	char line[1024], hops[256];
	struct ccs_cc cc;
	int i, rows = 0;

	start(&cc, spec, &path); /* T is the base RTT */
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d,%" SCNu64 ",%" SCNu64 ",%" SCNu32 ",%255[^,],%*[^,],%*[^,],%*[^,],"
			   "%lf,%lf,%lf,%lf,%lf,%lf", &i, &w.ack.ack_seq, &w.ack.snd_nxt, &w.ack.path,
			   hops, &U, &W, &Wc, &stage, &last, &R) != 11)
			continue;
		read_hops(&w, hops);
		cc.ops->on_ack(&cc, &w.ack);
		check_close("rate", i, cc.out.rate, R);
		check_close("window", i, cc.out.window, W);
		check_close("u", i, seen(&cc, "u"), U);
		check_close("wc_bytes", i, seen(&cc, "wc_bytes"), Wc);
		assert_true(seen(&cc, "inc_stage") == stage);
		rows++;
	}
	fclose(f);
	assert_int_equal(rows, 12);
}

/* ccshim's form decides as the paper's does if records do not count flows. */
TEST(paper_matches_the_golden_incast)
{
	check_golden_incast("hpcc:variant=paper,w_ai=80,min_window=1000");
	check_golden_incast("hpcc:w_ai=80,min_window=1000");
}

/*
 * A second implementation of Algorithm 1, and of ns-3's in its own terms, which are rates. Each
 * branch sets a flag.
 */
struct ref {
	unsigned variant;
	bool known;
	struct ccs_cc_hop L[CCS_CC_MAX_HOPS];
	unsigned n;
	uint32_t path;
	uint64_t last_update, record_seq;
	double W, Wc, R, U, rtt, now;
	unsigned stage;
	bool stale, partial, fresh, commit, fast, held, scaled, added, floored, ceiled, queued, late;
};

static double ref_u(const struct ref *r, const struct ccs_cc_hop *a, const struct ccs_cc_hop *b,
		    double tau)
{
	const double q = a->qlen_bytes < b->qlen_bytes ? (double)a->qlen_bytes : (double)b->qlen_bytes;
	const double rate = 8 * (double)(b->tx_bytes - a->tx_bytes) / tau;

	if (r->variant == NS3)
		return rate / b->capacity + q * LINE / b->capacity / W_INIT;
	if (r->variant == ECHO)
		return rate / b->capacity;
	return q / (b->capacity / 8 * T_US / 1e6) + rate / b->capacity;
}

static bool ref_measure(struct ref *r, const struct ccs_cc_ack *a)
{
	const double T = T_US / 1e6;
	double u = -1, tau = 0;

	for (unsigned i = 0; i < a->nhops; i++) {
		const double dt = ((double)a->hops[i].ts_ns - (double)r->L[i].ts_ns) / 1e9;

		if (dt <= 0) {
			r->partial = true;
			continue;
		}
		if (ref_u(r, &r->L[i], &a->hops[i], dt) > u) {
			u = ref_u(r, &r->L[i], &a->hops[i], dt);
			tau = dt;
		}
	}
	if (u < 0)
		return false;
	if (r->variant == ECHO && a->rtt_us > 0) {
		const double rtt = (r->rtt > 0 && r->rtt < a->rtt_us ? r->rtt : a->rtt_us) / 1e6;

		r->queued |= rtt > T;
		u += rtt > T ? (rtt - T) / T : 0;
	}
	if (tau > T)
		tau = T;
	r->U = (r->U * (T - tau) + u * tau) / T;
	return true;
}

static double ref_clamp(struct ref *r, double value, double floor, double ceiling)
{
	r->floored |= value < floor;
	r->ceiled |= value > ceiling;
	return value < floor ? floor : value > ceiling ? ceiling : value;
}

/* In ns-3 W and Wc are rates, m_rate and m_curRate. */
static void ref_compute(struct ref *r, const struct ccs_cc_ack *a, bool commit)
{
	const bool scale = r->U >= ETA || r->stage >= 2;
	double ai = r->variant == NS3 ? RATE_AI : W_AI;

	if (r->variant == ECHO && a->now_us - r->now > T_US) {
		r->late = true;
		ai *= a->now_us - r->now > 8 * T_US ? 8 : (a->now_us - r->now) / T_US;
	}
	r->scaled |= scale;
	r->added |= !scale;
	r->W = (scale ? r->Wc / (r->U / ETA) : r->Wc) + ai;
	r->W = r->variant == NS3 ? ref_clamp(r, r->W, MIN_RATE, LINE)
				 : ref_clamp(r, r->W, MIN_WINDOW, W_INIT);
	r->commit |= commit;
	r->fast |= !commit;
	if (!commit)
		return;
	r->stage = scale ? 0 : r->stage + 1;
	r->Wc = r->W;
	r->last_update = a->snd_nxt;
}

static void ref_records(struct ref *r, const struct ccs_cc_ack *a)
{
	bool commit = a->ack_seq > r->last_update, other = a->nhops != r->n || a->path != r->path;

	for (unsigned i = 0; !other && i < a->nhops; i++)
		other = a->hops[i].tx_bytes < r->L[i].tx_bytes || a->hops[i].capacity != r->L[i].capacity;
	if (!r->known)
		r->last_update = a->snd_nxt;
	else if (other)
		r->fresh = true;
	else if (!ref_measure(r, a)) {
		r->stale = true;
		return;
	} else {
		if (r->variant == ECHO && commit && r->record_seq <= r->last_update) {
			r->held = true;
			commit = false;
		}
		ref_compute(r, a, commit);
	}
	r->known = true;
	memcpy(r->L, a->hops, a->nhops * sizeof(*a->hops));
	r->n = a->nhops;
	r->path = a->path;
	r->record_seq = a->ack_seq;
}

static void ref_ack(struct ref *r, const struct ccs_cc_ack *a)
{
	if (a->nhops)
		ref_records(r, a);
	r->now = a->now_us;
	if (a->rtt_us > 0)
		r->rtt = a->rtt_us;
}

static void check_ref(const struct ccs_cc *cc, const struct ref *r, int step)
{
	const double bytes = r->variant == NS3 ? W_INIT / LINE : 1;

	check_close("U", step, seen(cc, "u"), r->U);
	check_close("W", step, cc->out.window, r->W * bytes);
	check_close("Wc", step, seen(cc, "wc_bytes"), r->Wc * bytes);
	check_close("R", step, cc->out.rate, r->W * bytes * 8 / T_US * 1e6);
	assert_true(seen(cc, "inc_stage") == r->stage);
}

static void follow_ref(unsigned variant, struct ref *marks)
{
	struct ref r = { .variant = variant, .U = 1 };
	struct ccs_cc cc;
	struct wire w;

	open_wire(&w, 1 + (unsigned)seed_below(5));
	start_variant(&cc, variant);
	r.W = r.Wc = variant == NS3 ? LINE : W_INIT;
	for (int i = 0; i < 200; i++) {
		const unsigned nhops = w.ack.nhops;

		if (seed_below(20) == 0)
			w.ack.nhops = 0;
		if (variant == PAPER) { /* which does not read them */
			w.ack.flows = (unsigned)seed_below(100);
			w.ack.covers_us = w.ack.now_us + (double)seed_below(5000);
		}
		random_step(&cc, &w, i / 40 % 2);
		ref_ack(&r, &w.ack);
		if (fabs(r.U / ETA - 1) < 1e-12)
			break; /* rounding decides the side of eta */
		check_ref(&cc, &r, i);
		w.ack.nhops = w.ack.nhops ? w.ack.nhops : nhops;
	}
	marks->stale |= r.stale, marks->partial |= r.partial, marks->fresh |= r.fresh;
	marks->commit |= r.commit, marks->fast |= r.fast, marks->held |= r.held;
	marks->scaled |= r.scaled, marks->added |= r.added, marks->late |= r.late;
	marks->floored |= r.floored, marks->ceiled |= r.ceiled, marks->queued |= r.queued;
}

TEST(random_sequences_equal_the_reference)
{
	seed_start("reference");
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ref m = { 0 };

		for (int i = 0; i < 400; i++)
			follow_ref(variant, &m);
		assert_true(m.stale && m.partial && m.fresh && m.commit && m.fast);
		assert_true(m.scaled && m.added && m.floored && m.ceiled);
		assert_true(variant != ECHO || (m.held && m.queued && m.late));
	}
}
