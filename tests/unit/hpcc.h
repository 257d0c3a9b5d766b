/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_HPCC_H
#define CCS_TESTS_HPCC_H
/* Helpers of the tests of HPCC: variants and telemetry. Include cmocka.h first. */
#include <stdbool.h>

#include "algorithm.h"
#include "seed.h"

static const char *const variants[] = { "ccshim", "paper", "ns3", "echo" };
enum { CCSHIM, PAPER, NS3, ECHO, VARIANTS };

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
static inline void start_variant(struct ccs_cc *cc, unsigned variant)
{
	char spec[256];

	snprintf(spec, sizeof(spec),
		 "hpcc:variant=%s,max_stage=2,base_rtt=%gus,w_ai=%g,min_window=%g,"
		 "rate_ai=%g,min_rate=%g", variants[variant], T_US, W_AI, MIN_WINDOW,
		 RATE_AI, MIN_RATE);
	start(cc, spec, &test_path);
}

/* The state of a flow's links, from which its telemetry is taken. */
struct wire {
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	struct ccs_cc_ack ack;
};

static inline void open_wire(struct wire *w, unsigned nhops)
{
	*w = (struct wire){ .ack = { .bytes = 1000, .nhops = nhops, .path = 7 } };
	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++)
		w->hop[i] = (struct ccs_cc_hop){ .ts_ns = 5000, .tx_bytes = 100, .capacity = LINE };
}

/* `us` later the link has sent that share of its capacity, and q bytes wait. */
static inline void pass(struct wire *w, unsigned hop, double us, double share, uint64_t q)
{
	w->hop[hop].ts_ns += (uint64_t)(us * 1e3);
	w->hop[hop].tx_bytes += (uint64_t)(share * w->hop[hop].capacity / 8e6 * us);
	w->hop[hop].qlen_bytes = q;
}

/* The next acknowledgement, `us` later, with that much still in flight. */
static inline void acknowledge(struct ccs_cc *cc, struct wire *w, double us, uint64_t inflight)
{
	w->ack.now_us += us;
	w->ack.ack_seq += 1000;
	w->ack.snd_nxt = w->ack.ack_seq + inflight;
	w->ack.inflight = (double)inflight;
	w->ack.hops = w->hop;
	cc->ops->on_ack(cc, &w->ack);
}

/* One link, T later: U becomes share + q/W_INIT, without averaging. */
static inline void step(struct ccs_cc *cc, struct wire *w, double share, uint64_t q,
			uint64_t inflight)
{
	pass(w, 0, T_US, share, q);
	acknowledge(cc, w, T_US, inflight);
}

static inline double seen(const struct ccs_cc *cc, const char *name)
{
	return observed(cc, name).value;
}

/* A flow that has measured for a while, at half of W_init. */
static inline void start_with_steady_flow(struct ccs_cc *cc, struct wire *w, unsigned variant,
					  unsigned nhops)
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

/* Random telemetry as a network delivers it, with occasional changes of a switch or its agent. */
static inline void random_step(struct ccs_cc *cc, struct wire *w, bool congested)
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

#endif
