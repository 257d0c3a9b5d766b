/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests HPCC's variants against a golden trace from another implementation, against a second
 * implementation below, and with telemetry that is old, odd or missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdbool.h>

#include "algorithm.h"
#include "seed.h"

static const char *const variants[] = { "paper", "ns3", "echo" };
enum { PAPER, NS3, ECHO, VARIANTS };

/* 1 Gbit/s and T = 1 ms are a W_init of 125000 bytes. */
#define LINE 1e9
#define T_US 1000.0
#define W_INIT 125000.0
#define ETA 0.95
#define W_AI 500.0
#define MIN_WINDOW 4096.0
#define RATE_AI 4e6
#define MIN_RATE 30e6

static const struct ccs_cc_path test_path = { .line_rate = LINE, .base_rtt_us = 100,
					      .segment = 1000, .flows = 1 };

/* With max_stage=2, so that sequences are short. */
static void start_variant(struct ccs_cc *cc, unsigned variant)
{
	char spec[256];

	snprintf(spec, sizeof(spec), "hpcc:variant=%s,max_stage=2,base_rtt=%gus,w_ai=%g,min_window=%g,"
		 "rate_ai=%g,min_rate=%g", variants[variant], T_US, W_AI, MIN_WINDOW, RATE_AI, MIN_RATE);
	start(cc, spec, &test_path);
}

/* The state of a flow's links, from which its telemetry is taken. */
struct wire {
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	struct ccs_cc_ack ack;
};

static void open_wire(struct wire *w, unsigned nhops)
{
	*w = (struct wire){ .ack = { .bytes = 1000, .nhops = nhops, .path = 7 } };
	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++)
		w->hop[i] = (struct ccs_cc_hop){ .ts_ns = 5000, .tx_bytes = 100, .capacity = LINE };
}

/* `us` later the link has sent that share of its capacity, and q bytes wait. */
static void pass(struct wire *w, unsigned hop, double us, double share, uint64_t q)
{
	w->hop[hop].ts_ns += (uint64_t)(us * 1e3);
	w->hop[hop].tx_bytes += (uint64_t)(share * w->hop[hop].capacity / 8e6 * us);
	w->hop[hop].qlen_bytes = q;
}

/* The next acknowledgement, `us` later, with that much still in flight. */
static void acknowledge(struct ccs_cc *cc, struct wire *w, double us, uint64_t inflight)
{
	w->ack.now_us += us;
	w->ack.ack_seq += 1000;
	w->ack.snd_nxt = w->ack.ack_seq + inflight;
	w->ack.inflight = (double)inflight;
	w->ack.hops = w->hop;
	cc->ops->on_ack(cc, &w->ack);
}

/* One link, T later: U becomes share + q/W_INIT, without averaging. */
static void step(struct ccs_cc *cc, struct wire *w, double share, uint64_t q, uint64_t inflight)
{
	pass(w, 0, T_US, share, q);
	acknowledge(cc, w, T_US, inflight);
}

static double seen(const struct ccs_cc *cc, const char *name)
{
	return observed(cc, name).value;
}

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

static void paper_matches_the_golden_incast(void **state)
{
	const struct ccs_cc_path path = { .line_rate = 100e9, .base_rtt_us = 4, .segment = 1000,
					  .flows = 1 };
	FILE *f = data("hpcc_paper_incast.csv");
	struct wire w = { .ack.bytes = 1000 };
	double U, W, Wc, R, stage, last;
	char line[1024], hops[256];
	struct ccs_cc cc;
	int i, rows = 0;

	(void)state;
	start(&cc, "hpcc:variant=paper,w_ai=80,min_window=1000", &path); /* T is the base RTT */
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

/* Random telemetry as a network delivers it, with occasional changes of a switch or its agent. */
static void random_step(struct ccs_cc *cc, struct wire *w, bool congested)
{
	const double us = (double)(1 + seed_below(seed_below(8) ? congested ? 2000 : 400 : 12000));

	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++)
		if (seed_below(12))
			pass(w, i, us, (0.5 + (double)seed_below(1000)) / (congested ? 900 : 1500),
			     congested ? seed_below(seed_below(4) ? 200000 : 4000000) : 0);
	w->ack.rtt_us = seed_below(6) ? (double)seed_below(congested ? 6000 : 900) : 0;
	if (seed_below(40) == 0)
		w->ack.path++;
	if (seed_below(40) == 0)
		w->hop[0].tx_bytes = 0;
	if (seed_below(60) == 0)
		w->hop[seed_below(5)].capacity = seed_below(2) ? LINE : 2 * LINE;
	if (seed_below(60) == 0)
		w->hop[seed_below(5)].ts_ns -= 3000;
	if (seed_below(60) == 0)
		w->ack.nhops = 1 + (unsigned)seed_below(5);
	acknowledge(cc, w, us, seed_below(5) * 1000);
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

static void random_sequences_equal_the_reference(void **state)
{
	(void)state;
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

static void the_first_record_only_baselines(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc;
		struct wire w;

		open_wire(&w, 1);
		w.hop[0].tx_bytes = 1u << 30;
		w.hop[0].qlen_bytes = 1u << 30;
		start_variant(&cc, variant);
		acknowledge(&cc, &w, 1, 2000);
		check_close("window", 0, cc.out.window, W_INIT);
		check_close("rate", 0, cc.out.rate, LINE);
		assert_true(seen(&cc, "u") == 1);
		/* of data that was sent before the update: no commit */
		step(&cc, &w, 0.5, 0, 2000);
		step(&cc, &w, 0.5, 0, 2000);
		assert_true(seen(&cc, "inc_stage") == 0);
		step(&cc, &w, 0.5, 0, 2000);
		step(&cc, &w, 0.5, 0, 0);
		assert_true(seen(&cc, "inc_stage") == 1);
	}
}

/* A flow that has measured for a while, at half of W_init. */
static void start_with_steady_flow(struct ccs_cc *cc, struct wire *w, unsigned variant, unsigned nhops)
{
	open_wire(w, nhops);
	start_variant(cc, variant);
	cc->ops->set_rate(cc, LINE / 2);
	for (int i = 0; i < 4; i++) {
		for (unsigned k = 1; k < nhops; k++)
			pass(w, k, T_US, 0.1, 0);
		step(cc, w, 0.95, 0, 0);
	}
}

static bool same_decision(const struct ccs_cc *a, const struct ccs_cc *b)
{
	return a->out.rate == b->out.rate && a->out.window == b->out.window &&
	       seen(a, "u") == seen(b, "u") && seen(a, "wc_bytes") == seen(b, "wc_bytes") &&
	       seen(a, "inc_stage") == seen(b, "inc_stage");
}

static void records_that_do_not_compare_decide_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VARIANTS * 4; i++) {
		struct ccs_cc cc, before;
		struct wire w;

		start_with_steady_flow(&cc, &w, i / 4, 2);
		before = cc;
		w.ack.path += i % 4 == 0;
		w.ack.nhops -= i % 4 == 1;
		if (i % 4 == 2)
			w.hop[1].tx_bytes = 0;
		if (i % 4 == 3)
			w.hop[1].capacity *= 10;
		step(&cc, &w, 1, 1u << 30, 0);
		assert_true(same_decision(&cc, &before));
		pass(&w, 1, T_US, 0.1, 0);
		/* measurement continues from the new records, and may commit */
		step(&cc, &w, 0.5, 0, 0);
		check_close("u", (int)i, seen(&cc, "u"), 0.5);
		assert_true(seen(&cc, "wc_bytes") != seen(&before, "wc_bytes"));
	}
}

static void a_repeated_record_does_nothing(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc, before;
		struct wire w;

		start_with_steady_flow(&cc, &w, variant, 2);
		before = cc;
		for (int i = 0; i < 5; i++)
			acknowledge(&cc, &w, 10, 0);
		w.hop[0].ts_ns -= 10; /* an older record has no effect either */
		acknowledge(&cc, &w, 10, 0);
		assert_true(same_decision(&cc, &before));
		w.hop[0].ts_ns += 10;
		pass(&w, 1, T_US, 2, 0); /* only the other link has a new record */
		acknowledge(&cc, &w, 10, 0);
		check_close("u", 0, seen(&cc, "u"), 2);
		assert_true(cc.out.window < before.out.window);
	}
}

static void without_telemetry_nothing_changes(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc, before;
		struct wire w;

		start_with_steady_flow(&cc, &w, variant, 1);
		before = cc;
		w.ack.nhops = 0;
		w.ack.flows = 40;
		w.ack.rtt_us = 1e6;
		for (int i = 0; i < 10; i++)
			acknowledge(&cc, &w, T_US, 0);
		w.ack.nhops = CCS_CC_MAX_HOPS + 1; /* a violation of the interface */
		acknowledge(&cc, &w, T_US, 0);
		assert_true(same_decision(&cc, &before));
	}
}

/* Ten acknowledgements of one queue cause one decrease, the next RTT's cause another. */
static void one_queue_causes_one_decrease_per_rtt(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < NS3 + 1; variant++) {
		struct ccs_cc cc;
		struct wire w;
		double once;

		start_with_steady_flow(&cc, &w, variant, 1);
		step(&cc, &w, 0.95, 0, 10000);
		step(&cc, &w, 1, 125000, 10000); /* the smaller of two queue lengths counts */
		check_close("u", 0, seen(&cc, "u"), 1);
		step(&cc, &w, 1, 125000, 10000);
		check_close("u", 0, seen(&cc, "u"), 2);
		once = cc.out.window;
		for (int i = 0; i < 8; i++)
			step(&cc, &w, 1, 125000, 10000);
		check_close("window", 0, cc.out.window, once);
		step(&cc, &w, 1, 125000, 10000); /* commits the same window */
		check_close("window", 0, cc.out.window, once);
		check_close("wc_bytes", 0, seen(&cc, "wc_bytes"), once);
		step(&cc, &w, 1, 125000, 10000);
		check_close("window", 1, cc.out.window,
			    once * ETA / 2 + (variant == NS3 ? RATE_AI * T_US / 8e6 : W_AI));
	}
}

/* An echo derives the queue from the RTT beyond T, using the shorter of two samples. */
static void an_echo_derives_the_queue_from_the_rtt(void **state)
{
	static const struct { double before, rtt, u; } cases[] = {
		{ 500, 900, 0.9 }, { 1500, 1000, 0.9 }, { 3000, 2000, 1.9 }, { 2000, 3000, 1.9 },
		{ 500, 9000, 0.9 }, { 9000, 500, 0.9 }, { 3000, 0, 0.9 }, { 3000, NAN, 0.9 },
		{ 3000, INFINITY, 0.9 }, { 3000, -1, 0.9 }, { 1500, 1500, 1.4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ccs_cc cc;
		struct wire w;

		start_with_steady_flow(&cc, &w, ECHO, 1);
		w.ack.rtt_us = cases[i].before;
		w.ack.nhops = 0; /* RTT samples without telemetry count */
		acknowledge(&cc, &w, 1, 0);
		w.ack.nhops = 1;
		w.ack.rtt_us = cases[i].rtt;
		step(&cc, &w, 0.9, 1u << 30, 0); /* the queue length of a record is ignored */
		check_close("u", (int)i, seen(&cc, "u"), cases[i].u);
	}
}

/* A record of an interval that began before the last update must not change Wc again. */
static void an_echo_commits_only_by_intervals_begun_since(void **state)
{
	struct ccs_cc cc;
	struct wire w;
	double reference;

	(void)state;
	start_with_steady_flow(&cc, &w, ECHO, 1);
	for (reference = seen(&cc, "wc_bytes"); seen(&cc, "wc_bytes") == reference;)
		step(&cc, &w, 0.5, 0, 0);
	reference = seen(&cc, "wc_bytes"); /* just updated; nothing is in flight */
	step(&cc, &w, 0.5, 0, 0);
	assert_true(seen(&cc, "wc_bytes") == reference);
	assert_true(cc.out.window > reference); /* the window still responds at once */
	step(&cc, &w, 0.5, 0, 0);
	assert_true(seen(&cc, "wc_bytes") > reference);
}

/*
 * This also holds for records with the time at which they were taken, whenever they arrive, in
 * any variant.
 */
static void records_from_before_an_update_commit_nothing(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc;
		struct wire w;
		double reference, acked;

		start_with_steady_flow(&cc, &w, variant, 1);
		for (reference = seen(&cc, "wc_bytes"); seen(&cc, "wc_bytes") == reference;) {
			w.ack.covers_us = w.ack.now_us + T_US;
			step(&cc, &w, 0.5, 0, 0);
		}
		reference = seen(&cc, "wc_bytes");
		acked = w.ack.now_us + T_US;     /* the first acknowledgement after it */
		w.ack.covers_us = acked - 1;
		for (int i = 0; i < 5; i++)
			step(&cc, &w, 0.5, 0, 0);
		assert_true(seen(&cc, "wc_bytes") == reference);
		w.ack.covers_us = acked;
		step(&cc, &w, 0.5, 0, 0);        /* the interval began too early */
		assert_true(seen(&cc, "wc_bytes") == reference);
		step(&cc, &w, 0.5, 0, 0);
		assert_true(seen(&cc, "wc_bytes") != reference);
	}
}

/* With a count of flows T is the paper's plus one segment of each, and W_AI is the flow's share. */
static void counted_flows_lengthen_the_period(void **state)
{
	const double ser_us = 8e6 * 1000 / LINE;
	struct ccs_cc cc;
	struct wire w;

	(void)state;
	start(&cc, "hpcc", &test_path);
	open_wire(&w, 1);
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 0, seen(&cc, "period_us"), 100);
	w.ack.flows = 1;                         /* so few flows cannot fill the line */
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 1, seen(&cc, "period_us"), 100 + 4 * ser_us);
	w.ack.flows = 40;
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 2, seen(&cc, "period_us"), 100 + 40 * ser_us);
	start(&cc, "hpcc:variant=ns3", &test_path);
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 3, seen(&cc, "period_us"), 100);
}

/* If a segment takes several T, it counts as so many increases, up to eight. */
static void an_echo_increases_once_per_T(void **state)
{
	static const double gaps[] = { 0.1, 1, 3, 8, 100 }, worth[] = { 1, 1, 3, 8, 8 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct ccs_cc cc;
		struct wire w;
		double reference;

		start_with_steady_flow(&cc, &w, ECHO, 1);
		step(&cc, &w, 0.95, 0, 1u << 20);
		step(&cc, &w, 0.95, 0, 1u << 20);
		step(&cc, &w, 0.95, 0, 1u << 20); /* no more commits */
		reference = seen(&cc, "wc_bytes");
		pass(&w, 0, T_US * 100, 0.95, 0);
		acknowledge(&cc, &w, T_US * gaps[i], 0);
		check_close("window", (int)i, cc.out.window,
			    reference * ETA / seen(&cc, "u") + worth[i] * W_AI);
	}
}

static void an_echo_follows_the_count_of_flows(void **state)
{
	const double ser = 8e6 * 1000 / LINE;
	struct ccs_cc cc;
	struct wire w;
	double rate;

	(void)state;
	open_wire(&w, 1);
	start(&cc, "hpcc:variant=echo", &test_path);
	cc.ops->set_rate(&cc, LINE / 5);
	acknowledge(&cc, &w, 1, 0);
	rate = cc.out.rate;
	w.ack.flows = 25;
	acknowledge(&cc, &w, 1, 0); /* a repeated record with a new number of flows */
	check_close("period_us", 0, seen(&cc, "period_us"), 100 + 25 * ser);
	assert_true(seen(&cc, "flows") == 25);
	check_close("R", 0, rate, LINE / 5);
	step(&cc, &w, 0.95, 0, 0); /* U = eta: what is added is the increase */
	check_close("increase", 0, cc.out.window - LINE / 5 * 300 / 8e6,
		    LINE / 8e6 * 300 * (1 - ETA) / 50 * (T_US / 300));
	w.ack.flows = 1;
	step(&cc, &w, 0.95, 0, 0);
	check_close("period_us", 0, seen(&cc, "period_us"), 100 + 4 * ser);
	w.ack.flows = 0; /* unknown: keep the last number */
	step(&cc, &w, 0.95, 0, 0);
	assert_true(seen(&cc, "flows") == 1);
	start_variant(&cc, ECHO);
	open_wire(&w, 1);
	w.ack.flows = 25;
	acknowledge(&cc, &w, 1, 0);
	check_close("given", 0, seen(&cc, "period_us"), T_US);
}

/*
 * Agents count the flows: 300 us are T of test_path's 25 flows. The record covers k T and is
 * taken now.
 */
static void agent_record(struct ccs_cc *cc, struct wire *w, double k, double share, uint64_t q)
{
	const double us = k * 300;

	w->ack.flows = 25;
	w->ack.covers_us = w->ack.now_us + us;
	pass(w, 0, us, share, q);
	acknowledge(cc, w, us, 0);
}

static void start_with_agent_records(struct ccs_cc *cc, struct wire *w, const char *variant)
{
	char spec[64];

	snprintf(spec, sizeof(spec), "hpcc:variant=%s", variant);
	start(cc, spec, &test_path);
	open_wire(w, 1);
	w->ack.now_us = 1000;
	agent_record(cc, w, 1, 0.9, 0);
	cc->ops->set_rate(cc, LINE / 25);
	agent_record(cc, w, 1, 0.9, 0);
}

static const char *const record_variants[] = { "paper", "echo" };

/* Deliver `times` records of `us` each, with the same number of flows. */
static void repeat(struct ccs_cc *cc, struct wire *w, int times, double us, unsigned hop, double share)
{
	while (times-- > 0) {
		w->ack.covers_us = w->ack.now_us + us;
		pass(w, hop, us, share, 0);
		acknowledge(cc, w, us, 0);
	}
}

/*
 * With a NIC of ten times the slowest link's rate, window, increase, floor and T are that
 * link's.
 */
static void parameters_follow_the_slowest_link_of_the_records(void **state)
{
	const double ser_us = 8e6 * 1000 / (LINE / 10), T_us = 100 + 8 * ser_us;
	struct ccs_cc cc;
	struct wire w;

	(void)state;
	start(&cc, "hpcc", &test_path);
	open_wire(&w, 3);
	w.hop[1].capacity = LINE / 10;
	w.hop[2].capacity = 0;                   /* states no capacity */
	w.ack.flows = 8;
	w.ack.covers_us = 1;
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 0, seen(&cc, "period_us"), T_us);
	check_close("rate", 0, cc.out.rate, LINE / 10 / 8);
	repeat(&cc, &w, 100, T_us, 1, 0.01);     /* idle: the whole link */
	check_close("window", 0, cc.out.window, LINE / 10 * T_us / 8e6);
	check_close("rate", 1, cc.out.rate, LINE / 10);
	repeat(&cc, &w, 100, T_us, 1, 100);
	assert_true(cc.out.rate < LINE / 10 / 8 && cc.out.rate >= LINE / 10 / 1000);
	start(&cc, "hpcc:variant=ns3", &test_path);
	acknowledge(&cc, &w, 1, 0);
	check_close("rate of ns3", 2, cc.out.rate, LINE);
}

/* The same holds if the path is known before any record; values that the user gave stay. */
static void parameters_follow_a_known_bottleneck(void **state)
{
	struct ccs_cc_path path = test_path;
	struct ccs_cc cc;

	(void)state;
	path.bottleneck_rate = LINE / 10;
	start(&cc, "hpcc", &path);
	check_close("rate", 0, cc.out.rate, LINE / 10);
	check_close("w_ai", 0, param(&cc, "w_ai"), LINE / 10 * 100 / 8e6 * (1 - ETA) / 32);
	check_close("min_rate", 0, param(&cc, "min_rate"), LINE / 10 / 1000);
	start(&cc, "hpcc:variant=ns3", &path);
	check_close("rate", 1, cc.out.rate, LINE);
	start(&cc, "hpcc:w_ai=100,min_rate=1m", &path);
	check_close("w_ai", 2, param(&cc, "w_ai"), 100);
	check_close("min_rate", 2, param(&cc, "min_rate"), 1e6);
}

/*
 * A flow begins at its share at most, alone or as one of a thousand; floors do not fill the
 * link.
 */
static void the_first_record_bounds_the_share(void **state)
{
	const double ser_us = 8e6 * 1000 / LINE;

	(void)state;
	for (unsigned flows = 1; flows <= 1000; flows *= 10) {
		struct ccs_cc cc;
		struct wire w;

		start(&cc, "hpcc", &test_path);
		open_wire(&w, 1);
		w.ack.flows = flows;
		w.ack.covers_us = 1;
		acknowledge(&cc, &w, 1, 0);
		check_close("rate", (int)flows, cc.out.rate, LINE / flows);
		repeat(&cc, &w, 200, 100 + flows * ser_us, 0, 100);
		assert_true(cc.out.rate * flows <= LINE * 0.9);
	}
}

/*
 * The part of a span of 600 us before the last update, and 50 us to the link, belong to the
 * earlier window.
 */
static void an_agent_record_updates_the_average_window_of_its_span(void **state)
{
	const double headroom = (1 - ETA) / 2, full = LINE / 8e6 * 300;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct ccs_cc cc;
		struct wire w;
		double before, now, average;

		start_with_agent_records(&cc, &w, record_variants[i]);
		agent_record(&cc, &w, 2, 0.5, 0);
		before = cc.out.window;
		agent_record(&cc, &w, 2, 0.8, 0);
		now = cc.out.window;
		assert_true(now > before);
		agent_record(&cc, &w, 2, 0.9, 0);
		average = before + (now - before) * (600 - 50) / 600;
		check_close("window", (int)i, cc.out.window,
			    average * ETA * (1 - 2 * headroom) / (1 - headroom) / 0.9 + 2 * full * headroom / 25);
	}
}

/* A record from before the last update shows what that update has answered. */
static void an_agent_record_from_before_an_update_changes_nothing(void **state)
{
	struct ccs_cc cc;
	struct wire w;
	double once;

	(void)state;
	start_with_agent_records(&cc, &w, "paper");
	agent_record(&cc, &w, 2, 1, 0);
	once = cc.out.window;
	for (unsigned i = 0; i < 4; i++) {
		pass(&w, 0, 12, 1, i * 10000); /* 50 us are the delay to the link */
		w.ack.covers_us = w.ack.now_us + 10;
		acknowledge(&cc, &w, 12, 0);
		assert_true(cc.out.window == once);
	}
	agent_record(&cc, &w, 2, 1, 40000);
	assert_true(cc.out.window < once);
}

/* With any interval between records the line is equally full in the end, and shares are equal. */
static void the_interval_of_agent_records_does_not_change_the_result(void **state)
{
	(void)state;
	for (double k = 1; k < 6; k++) {
		struct ccs_cc cc[2];
		struct wire w[2];
		double sum = 0;

		for (unsigned i = 0; i < 2; i++) {
			start_with_agent_records(&cc[i], &w[i], "paper");
			cc[i].ops->set_rate(&cc[i], LINE / (i ? 100 : 10));
		}
		for (unsigned step = 0; step < 400; step++) {
			sum = (cc[0].out.rate + cc[1].out.rate) * 25 / 2 / LINE;
			for (unsigned i = 0; i < 2; i++)
				agent_record(&cc[i], &w[i], k, fmin(sum, 1), 0);
		}
		assert_true(fabs(cc[0].out.rate / cc[1].out.rate - 1) < 0.01);
		assert_true(fabs(sum - ETA / (1 - (1 - ETA) / 2)) < 0.005);
	}
}

/*
 * In spans longer than T the queue of a full link shows the demand; a draining link counts as
 * half at least.
 */
static void a_growing_queue_counts_as_utilisation_above_one(void **state)
{
	const double bytes = LINE / 8e6 * 600;
	static const struct { double share, from, to, u; } cases[] = {
		{ 1, 0, 0.2, 1.2 }, { 1, 0.1, 0.3, 1.3 }, { 1, 0.3, 0.3, 1.3 }, { 1, 0.3, 0.1, 0.9 },
		{ 1, 0.8, 0, 0.5 }, { 0.5, 0, 0, 0.5 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ccs_cc cc;
		struct wire w;

		start_with_agent_records(&cc, &w, "paper");
		agent_record(&cc, &w, 2, 0.9, (uint64_t)(cases[i].from * bytes));
		agent_record(&cc, &w, 2, cases[i].share, (uint64_t)(cases[i].to * bytes));
		assert_true(fabs(seen(&cc, "u") - cases[i].u) < 1e-3);
		/* which derives the queue from the RTT */
		start_with_agent_records(&cc, &w, "echo");
		agent_record(&cc, &w, 2, 0.9, (uint64_t)(cases[i].from * bytes));
		agent_record(&cc, &w, 2, cases[i].share, (uint64_t)(cases[i].to * bytes));
		check_close("u", (int)i, seen(&cc, "u"), cases[i].share);
	}
}

static struct ccs_cc_ack odd_ack(struct wire *w)
{
	static const double odd[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e-300, 1e9 };
	static const uint64_t counts[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 40 };

	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++) {
		struct ccs_cc_hop *hop = &w->hop[i];

		hop->ts_ns = seed_below(8) ? hop->ts_ns + seed_below(1 << 22) : counts[seed_below(5)];
		hop->tx_bytes = seed_below(8) ? hop->tx_bytes + seed_below(1 << 20)
					      : counts[seed_below(5)];
		hop->qlen_bytes = seed_below(4) ? seed_below(1 << 20) : counts[seed_below(5)];
		hop->capacity = seed_below(50) ? LINE : odd[seed_below(8)];
	}
	return (struct ccs_cc_ack){
		.now_us = w->ack.now_us += (double)seed_below(5000),
		.rtt_us = seed_below(4) ? (double)seed_below(4000) : odd[seed_below(8)],
		.bytes = 1000,
		.ack_seq = seed_below(8) ? w->ack.ack_seq += 1000 : counts[seed_below(5)],
		.snd_nxt = w->ack.ack_seq + seed_below(20000),
		.hops = w->hop,
		.nhops = 1 + (unsigned)seed_below(seed_below(20) ? 1 : 6),
		.flows = seed_below(4) ? 0 : (unsigned)counts[seed_below(5)],
		.covers_us = seed_below(4) ? 0 : seed_below(4) ? (double)seed_below(1 << 20)
							      : odd[seed_below(8)],
	};
}

static void random_input_keeps_rate_and_window_within_bounds(void **state)
{
	(void)state;
	seed_start("bounds");
	for (unsigned i = 0; i < 3000; i++) {
		const unsigned variant = i % VARIANTS;
		struct ccs_cc cc;
		struct wire w;

		open_wire(&w, 1);
		start_variant(&cc, variant);
		for (int k = 0; k < 60; k++) {
			const struct ccs_cc_ack a = odd_ack(&w);

			cc.ops->on_ack(&cc, &a);
			assert_true(cc.out.rate >= MIN_RATE * (1 - 1e-12) && cc.out.rate <= LINE);
			assert_true(cc.out.window <= W_INIT * (1 + 1e-12));
			assert_true(cc.out.window >= (variant == NS3 ? MIN_RATE * T_US / 8e6 : MIN_WINDOW)
						      * (1 - 1e-12));
			assert_true(isfinite(seen(&cc, "u")) && seen(&cc, "u") >= 0);
			assert_true(isfinite(seen(&cc, "wc_bytes")));
		}
	}
}

/*
 * After equal histories more bytes sent, more bytes waiting or a longer RTT never give a larger
 * window.
 */
static void more_congestion_gives_no_larger_window(void **state)
{
	(void)state;
	seed_start("monotone");
	for (unsigned i = 0; i < 6000; i++) {
		const double us = (double)(1 + seed_below(2000));
		struct ccs_cc cc, worse;
		struct wire w, x;

		open_wire(&w, 1);
		start_variant(&cc, i % VARIANTS);
		for (uint64_t k = seed_below(30); k > 0; k--)
			random_step(&cc, &w, k % 2);
		worse = cc;
		x = w;
		w.ack.rtt_us = 1 + (double)seed_below(3000);
		x.ack.rtt_us = w.ack.rtt_us + (double)(seed_below(2) * seed_below(3000));
		pass(&w, 0, us, (double)seed_below(100) / 100, seed_below(1 << 18));
		x.hop[0] = w.hop[0];
		x.hop[0].tx_bytes += seed_below(2) * seed_below(100000);
		x.hop[0].qlen_bytes += seed_below(2) * seed_below(1 << 18);
		/* tau is the busiest link's, and there are more of them */
		w.ack.nhops = x.ack.nhops = 1;
		acknowledge(&cc, &w, us, 0);
		acknowledge(&worse, &x, us, 0);
		if (worse.out.window > cc.out.window * (1 + 1e-12))
			fail_msg("%s: %.17g, but %.17g when worse", variants[i % VARIANTS],
				 cc.out.window, worse.out.window);
	}
}

static void parameters_are_derived_from_the_path(void **state)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .rtt_jitter_us = 3,
					  .segment = 4096, .flows = 8 };
	const double ser = 8e6 * 4096 / 10e9;
	struct ccs_cc cc;

	(void)state;
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		const double T = variant == ECHO ? 20 + 8 * ser : 23;
		char spec[64];

		snprintf(spec, sizeof(spec), "hpcc:variant=%s", variants[variant]);
		start(&cc, spec, &path);
		check_close("base_rtt", 0, param(&cc, "base_rtt"), T);
		check_close("w_ai", 0, param(&cc, "w_ai"), 10e9 * T / 8e6 * 0.05 / 32);
		check_close("min_window", 0, param(&cc, "min_window"), 10e6 * T / 8e6);
		check_close("rate_ai", 0, param(&cc, "rate_ai"), 5e6);
		check_close("min_rate", 0, param(&cc, "min_rate"), 10e6);
		assert_true(param(&cc, "max_stage") == (variant == NS3 ? 0 : 5));
		check_close("rate", 0, cc.out.rate, variant == ECHO ? 10e9 / 8 : 10e9);
	}
	start(&cc, "hpcc:eta=0.9,base_rtt=1us", &path);
	check_close("w_ai", 1, param(&cc, "w_ai"), 1250 * 0.1 / 32);
	check_close("min_window", 1, param(&cc, "min_window"), 1.25);
	start(&cc, "hpcc:variant=echo", &test_path);
	check_close("base_rtt", 2, param(&cc, "base_rtt"), 100 + 4 * 8);
}

/* New facts about the path change T; the rate stays, and W changes in proportion. */
static void a_better_known_path_keeps_the_rate(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc_path path = test_path;
		struct ccs_cc cc;
		struct wire w;
		char spec[64];

		open_wire(&w, 1);
		snprintf(spec, sizeof(spec), "hpcc:variant=%s", variants[variant]);
		start(&cc, spec, &path);
		cc.ops->set_rate(&cc, LINE / 4);
		check_close("rate", 0, cc.out.rate, LINE / 4);
		acknowledge(&cc, &w, 1, 0);
		path.base_rtt_us = 400;
		ccs_cc_repath(&cc, &path);
		check_close("rate", 1, cc.out.rate, LINE / 4);
		/* U = eta < 1: changes by little more than the increase */
		step(&cc, &w, 0.95, 0, 1000);
		assert_true(fabs(cc.out.rate / (LINE / 4) - 1) < 0.1);
		check_close("window", 2, cc.out.window,
			    cc.out.rate * param(&cc, "base_rtt") / 8e6);
	}
}

static void set_rate_sets_rate_and_windows(void **state)
{
	static const double rates[] = { 1, 33e6, 1e8, 1e9, 1e12, INFINITY };

	(void)state;
	for (unsigned i = 0; i < VARIANTS * 6; i++) {
		const unsigned variant = i / 6;
		const double floor = variant == NS3 ? MIN_RATE : MIN_WINDOW * 8e6 / T_US;
		const double want = fmin(fmax(rates[i % 6], floor), LINE);
		struct ccs_cc cc;
		struct wire w;

		start_with_steady_flow(&cc, &w, variant, 1);
		cc.ops->set_rate(&cc, rates[i % 6]);
		check_close("rate", (int)i, cc.out.rate, want);
		check_close("window", (int)i, cc.out.window, want * T_US / 8e6);
		check_close("wc_bytes", (int)i, seen(&cc, "wc_bytes"), cc.out.window);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_matches_the_golden_incast),
		cmocka_unit_test(random_sequences_equal_the_reference),
		cmocka_unit_test(the_first_record_only_baselines),
		cmocka_unit_test(records_that_do_not_compare_decide_nothing),
		cmocka_unit_test(a_repeated_record_does_nothing),
		cmocka_unit_test(without_telemetry_nothing_changes),
		cmocka_unit_test(one_queue_causes_one_decrease_per_rtt),
		cmocka_unit_test(an_echo_derives_the_queue_from_the_rtt),
		cmocka_unit_test(an_echo_commits_only_by_intervals_begun_since),
		cmocka_unit_test(records_from_before_an_update_commit_nothing),
		cmocka_unit_test(counted_flows_lengthen_the_period),
		cmocka_unit_test(an_echo_increases_once_per_T),
		cmocka_unit_test(an_echo_follows_the_count_of_flows),
		cmocka_unit_test(parameters_follow_the_slowest_link_of_the_records),
		cmocka_unit_test(parameters_follow_a_known_bottleneck),
		cmocka_unit_test(the_first_record_bounds_the_share),
		cmocka_unit_test(an_agent_record_updates_the_average_window_of_its_span),
		cmocka_unit_test(an_agent_record_from_before_an_update_changes_nothing),
		cmocka_unit_test(the_interval_of_agent_records_does_not_change_the_result),
		cmocka_unit_test(a_growing_queue_counts_as_utilisation_above_one),
		cmocka_unit_test(random_input_keeps_rate_and_window_within_bounds),
		cmocka_unit_test(more_congestion_gives_no_larger_window),
		cmocka_unit_test(parameters_are_derived_from_the_path),
		cmocka_unit_test(a_better_known_path_keeps_the_rate),
		cmocka_unit_test(set_rate_sets_rate_and_windows),
	};

	return cmocka_run_group_tests_name("hpcc", tests, NULL, NULL);
}
