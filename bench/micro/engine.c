/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the cost of the engine: an algorithm's update, the gate, the timer wheel, a flow. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer_wheel.h"
#include "bench/common/clock.h"
#include "bench/common/rng.h"
#include "counter.h"
#include "feedback/shm_path.h"
#include "flow/send_queue.h"
#include "tools/common/next_option.h"

enum { ACKS = 64, HOPS = 2, ROWS_MAX = 64 };

static const char usage[] =
	"usage: engine [--quick]\n"
	"Measure what the engine costs, per event: the best of 7 rounds; with --quick one\n"
	"round of a twentieth.\n"
	"\n"
	"  on_ack    one completion passed to an algorithm, its timers included, and, if it\n"
	"            handles them, a send each and a CNP every 64; the row of 'none' is the\n"
	"            cost of the measurement itself\n"
	"  gate      the decision of window and pacing on a segment, and its charge\n"
	"  flow      a segment accepted, released, completed, its RTT passed to the algorithm\n"
	"  pacer     the next flow popped from the timing wheel and set again; 'scattered' are\n"
	"            timers at the distances of an application's flows, each of which is\n"
	"            loaded into the cache by its first access\n"
	"  record    an agent's telemetry in shared memory, as read at each completion\n"
	"\n"
	"Instructions are those in user space, and n/a where the kernel does not allow\n"
	"counting them (kernel.perf_event_paranoid > 2, or a machine without counters). There\n"
	"    valgrind --tool=callgrind --toggle-collect=run_acks bench/micro/engine --quick\n"
	"    callgrind_annotate --inclusive=yes callgrind.out.*\n"
	"counts them by function: divide the instructions of on_ack by 40000 events per variant.\n";

struct row {
	const char *kind, *name, *variant;
	unsigned flows;                  /* number of flows on the wheel */
	bool scattered;
	double ns, instructions;         /* per event; NAN: not counted */
};

static struct row rows[ROWS_MAX];
static unsigned row_count;
static int counter = -1;
static unsigned rounds = 7;
static volatile double sink;             /* keeps the compiler from removing the computation */

static double below(struct rng *rng, unsigned n)
{
	return rng_unit(rng) * n;
}

/* run() processes n events; the first round warms up. */
static void add_row(struct row row, void (*run)(void *arg, unsigned n), void *arg, unsigned n)
{
	row.ns = row.instructions = INFINITY;
	if (rounds == 1)
		n /= 20;
	for (unsigned round = 0; round <= rounds; round++) {
		const double instructions = counter_read(counter);
		const int64_t start = now_ns();

		run(arg, n);
		if (!round)
			continue;
		row.ns = fmin(row.ns, (double)(now_ns() - start) / n);
		row.instructions = fmin(row.instructions, (counter_read(counter) - instructions) / n);
	}
	if (isinf(row.instructions))
		row.instructions = NAN;
	if (row_count < ROWS_MAX)
		rows[row_count++] = row;
}

/* Acks of a flow that shares 10 Gbit/s; each entry moves on by a whole turn after its use. */
struct acks {
	struct ccs_cc cc;
	struct ccs_cc_ack ack[ACKS];
	struct ccs_cc_hop hop[ACKS][HOPS];
	unsigned at;
};

static const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .rtt_jitter_us = 5,
					 .segment = 8192, .flows = 4 };
#define TURN_US (ACKS * 20.0)
#define TURN_BYTES (ACKS * 8192ull)

static void make_acks(struct acks *a, const struct ccs_cc_spec *spec)
{
	struct rng rng = { 1 };

	*a = (struct acks){ .at = 0 };
	ccs_cc_start(&a->cc, spec, &path);
	for (unsigned i = 0; i < ACKS; i++) {
		const double now_us = 1000 + 20.0 * i;

		for (unsigned k = 0; k < HOPS; k++)
			a->hop[i][k] = (struct ccs_cc_hop){
				.ts_ns = (uint64_t)(1e3 * now_us) + (uint64_t)below(&rng, 1000),
				.tx_bytes = 8192ull * i * 3, .qlen_bytes = (uint64_t)below(&rng, 60000),
				.capacity = 10e9,
			};
		a->ack[i] = (struct ccs_cc_ack){
			.now_us = now_us, .rtt_us = 20 + below(&rng, 80),
			.bytes = 8192, .inflight = 4 * 8192, .ack_seq = 8192ull * i,
			.snd_nxt = 8192ull * (i + 4), .hops = a->hop[i], .nhops = HOPS, .path = 1,
			.flows = 4,
		};
	}
}

static void run_acks(void *arg, unsigned n)
{
	struct acks *a = arg;
	const struct ccs_cc_ops *ops = a->cc.ops;

	while (n--) {
		const unsigned i = a->at++ % ACKS;
		struct ccs_cc_ack *ack = &a->ack[i];

		ccs_cc_advance(&a->cc, ack->now_us);
		if (ops->on_send)
			ops->on_send(&a->cc, ack->now_us, ack->bytes);
		if (i == 0 && ops->on_cnp)
			ops->on_cnp(&a->cc, ack->now_us);
		ops->on_ack(&a->cc, ack);
		ack->now_us += TURN_US;
		ack->ack_seq += TURN_BYTES;
		ack->snd_nxt += TURN_BYTES;
		for (unsigned k = 0; k < HOPS; k++) {
			a->hop[i][k].ts_ns += (uint64_t)(1e3 * TURN_US);
			a->hop[i][k].tx_bytes += 3 * TURN_BYTES;
		}
	}
	sink = a->cc.out.rate;
}

static void bench_variant(struct ccs_cc_spec spec, const char *variant)
{
	static struct acks acks;

	make_acks(&acks, &spec);
	add_row((struct row){ .kind = "on_ack", .name = spec.ops->name, .variant = variant },
		run_acks, &acks, 400000);
}

static void bench_algorithm(const struct ccs_cc_ops *ops)
{
	struct ccs_cc_spec spec = ccs_cc_default_spec(ops);
	const int i = ccs_cc_find_param(ops, "variant");
	const char *const *choice = i < 0 ? NULL : ops->params[i].choices;

	if (!choice)
		bench_variant(spec, NULL);
	for (unsigned k = 0; choice && choice[k]; k++) {
		spec.given[i] = k;
		bench_variant(spec, choice[k]);
	}
}

struct stream {
	struct ccs_flow flow;
	struct ccs_cc_spec spec;
	uint64_t now;
};

static void open_stream(struct stream *s, const struct ccs_cc_ops *ops)
{
	const struct ccs_flow_config conf = {
		.line_rate = 10e9, .max_rate = 9e9, .base_rtt_us = 20, .split = true,
		.enforce = true, .seed = 1,
	};

	*s = (struct stream){ .spec = ccs_cc_default_spec(ops), .now = 1000 };
	if (ccs_flow_init(&s->flow, &conf, &s->spec, 64, 256, s->now)) {
		fputs("engine: out of memory\n", stderr);
		exit(1);
	}
}

static void run_gate(void *arg, unsigned n)
{
	struct stream *s = arg;
	struct ccs_flow *f = &s->flow;
	uint64_t due = 0;

	while (n--) {
		due = ccs_pacing_due_ns(&f->gate.pacing, s->now);
		if (due > s->now)
			s->now = due;
		if (ccs_flow_window_open(f, f->segments.len))
			ccs_pacing_charge(&f->gate.pacing, f->segments.len, f->segments.len,
					  ccs_flow_at_line_rate(f), s->now);
	}
	sink = (double)due;
}

static void run_flow(void *arg, unsigned n)
{
	struct stream *s = arg;
	struct ccs_done done = { .ok = true };
	uint64_t wr, due;

	while (n--) {
		ccs_flow_accept(&s->flow, s->flow.segments.len, CCS_WR_SPLIT | CCS_WR_SIGNALED);
		due = ccs_flow_wait(&s->flow, s->now);
		s->now = due > s->now && due != UINT64_MAX ? due : s->now;
		ccs_flow_next(&s->flow, &s->now, NULL);
		done.number = ccs_flow_newest(&s->flow);
		s->now += 30000;
		done.earliest_ns = done.latest_ns = s->now;
		ccs_flow_complete(&s->flow, &done, &wr);
	}
}

static void bench_flow(void)
{
	static struct stream s;

	open_stream(&s, &ccs_cc_none);
	add_row((struct row){ .kind = "gate" }, run_gate, &s, 1000000);
	ccs_flow_destroy(&s.flow);
	for (unsigned i = 0; ccs_cc_all[i]; i++) {
		open_stream(&s, ccs_cc_all[i]);
		add_row((struct row){ .kind = "flow", .name = s.spec.ops->name }, run_flow, &s,
			200000);
		ccs_flow_destroy(&s.flow);
	}
}

struct wheel {
	struct ccs_timer_wheel timers;
	struct rng rng;
	unsigned flows;
	uint64_t now;
};

static uint64_t random_gap_ns(struct wheel *w)
{
	return (uint64_t)below(&w->rng, w->flows == 1 ? 20000 : 4000000);
}

static void run_wheel(void *arg, unsigned n)
{
	struct wheel *w = arg;

	while (n) {
		struct ccs_timer *t = ccs_timer_wheel_pop(&w->timers, w->now);

		if (!t) {
			w->now = ccs_timer_wheel_next(&w->timers);
			continue;
		}
		ccs_timer_wheel_set(&w->timers, t, w->now + random_gap_ns(w));
		n--;
	}
}

static void bench_wheel(unsigned flows, bool scattered)
{
	const size_t stride = sizeof(struct ccs_timer) + (scattered ? sizeof(struct ccs_flow) : 0);
	static struct wheel w;
	char *timers = calloc(flows, stride);

	if (!timers) {
		fputs("engine: out of memory\n", stderr);
		exit(1);
	}
	w = (struct wheel){ .rng = { 1 }, .flows = flows, .now = 1000 };
	ccs_timer_wheel_init(&w.timers, w.now);
	for (unsigned i = 0; i < flows; i++)
		ccs_timer_wheel_set(&w.timers, (struct ccs_timer *)(void *)(timers + i * stride),
			      w.now + random_gap_ns(&w));
	add_row((struct row){ .kind = "pacer", .flows = flows, .scattered = scattered },
		run_wheel, &w, 1000000);
	free(timers);
}

/* A path's record in the region that an agent shares, as read at each completion. */
struct record {
	struct ccs_shm_path path;
	struct ccs_path_telemetry t;
	uint32_t version;
	unsigned changes;
};

static void run_check(void *arg, unsigned n)
{
	struct record *r = arg;

	for (; n; n--)
		r->changes += atomic_load_explicit(&r->path.version, memory_order_acquire) !=
			      r->version;
}

static void run_read(void *arg, unsigned n)
{
	struct record *r = arg;

	for (; n; n--)
		r->changes += ccs_shm_path_read(&r->path, &r->t);
}

static void bench_record(void)
{
	struct record r = { .t = { .nhops = 2, .hops = { { .capacity = 1e9 }, { .capacity = 1e9 } } } };

	ccs_shm_path_write(&r.path, &r.t);
	r.version = r.path.version;
	add_row((struct row){ .kind = "record", .variant = "unchanged" }, run_check, &r, 1000000);
	add_row((struct row){ .kind = "record", .variant = "new" }, run_read, &r, 1000000);
}

static void print_number(double v)
{
	if (isnan(v))
		printf(" %12s", "n/a");
	else
		printf(" %12.1f", v);
}

static void print_table(void)
{
	char what[64];

	printf("%-36s %12s %12s\n", "per event", "instructions", "ns");
	for (unsigned i = 0; i < row_count; i++) {
		const struct row *r = &rows[i];

		if (r->flows)
			snprintf(what, sizeof(what), "%s %u flows%s", r->kind, r->flows,
				 r->scattered ? ", scattered" : "");
		else
			snprintf(what, sizeof(what), "%s %s%s%s", r->kind, r->name ? r->name : "",
				 r->name && r->variant ? ":" : "", r->variant ? r->variant : "");
		printf("%-36s", what);
		print_number(r->instructions);
		print_number(r->ns);
		putchar('\n');
	}
	printf("memory of an idle flow: %zu bytes, and %zu with its first RTT\n",
	       sizeof(struct ccs_flow), sizeof(struct ccs_flow) + sizeof(struct ccs_stats_rtt));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' }, { "help", no_argument, NULL, 'h' }, { 0 },
	};

	for (int opt; (opt = next_option(argc, argv, "h", options, NULL)) != -1;) {
		if (opt != 'q') {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
		rounds = 1;
	}
	counter = counter_open();
	for (unsigned i = 0; ccs_cc_all[i]; i++)
		bench_algorithm(ccs_cc_all[i]);
	bench_flow();
	bench_wheel(1, false);
	bench_wheel(1000, false);
	bench_wheel(100000, false);
	bench_wheel(100000, true);
	bench_record();
	print_table();
	return 0;
}
