/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_TIMELY_H
#define CCS_TESTS_TIMELY_H
/*
 * Helpers of the tests of TIMELY: parameter sets and acknowledgements. Include cmocka.h first.
 */
#include <stdio.h>
#include <string.h>

#include "algorithm.h"

static const char *const all_variants[] = { "snippet", "paper", "patched", "patched_pure",
					    "scaled", "ns3" };

/* A parameter set of tests/data/timely_params.csv, as a user would write it. */
struct set {
	const char *variant;
	double beta_high;                /* 0: not given */
	double line, min_rtt, t_low, t_high, add, beta, alpha, min_rate, hai_thresh, n_hai, cap,
		init_rate;
	double scale, hai_low;           /* not in the publications: 0 */
};

static inline struct set read_set(const char *wanted)
{
	FILE *f = data("timely_params.csv");
	char line[512], name[16];
	struct set s = { .variant = "snippet" };

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%15[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", name,
			   &s.line, &s.min_rtt, &s.t_low, &s.t_high, &s.add, &s.beta, &s.alpha,
			   &s.min_rate, &s.hai_thresh, &s.n_hai, &s.cap, &s.init_rate) == 13 &&
		    strcmp(name, wanted) == 0) {
			fclose(f);
			return s;
		}
	fclose(f);
	fail_msg("no parameter set %s", wanted);
	return s;
}

static inline void start_set(struct ccs_cc *cc, const struct set *s)
{
	const struct ccs_cc_path path = { .line_rate = s->line, .base_rtt_us = 1, .segment = 1,
					  .flows = 1 };
	char spec[512], high[64] = "";

	if (s->beta_high > 0)
		snprintf(high, sizeof(high), ",beta_high=%.17g", s->beta_high);
	snprintf(spec, sizeof(spec),
		 "timely:variant=%s,min_rtt=%.17g,t_low=%.17g,t_high=%.17g,add_rate=%.17g,"
		 "beta=%.17g,alpha=%.17g,min_rate=%.17g,max_rate=%.17g,hai_thresh=%.17g,"
		 "hai_n=%.17g,init_rate=%.17g,scale=%.17g,hai_low=%.17g%s", s->variant, s->min_rtt,
		 s->t_low, s->t_high, s->add, s->beta, s->alpha, s->min_rate, s->line,
		 s->hai_thresh, s->n_hai, s->init_rate, s->scale, s->hai_low, high);
	start(cc, spec, &path);
}

/* Bytes of the flow up to ack_seq are acknowledged, up to snd_nxt sent. */
static inline void ack_window(struct ccs_cc *cc, double now_us, double rtt_us, uint64_t ack_seq,
		       uint64_t snd_nxt)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = rtt_us, .bytes = 16384,
				      .ack_seq = ack_seq, .snd_nxt = snd_nxt };

	cc->ops->on_ack(cc, &a);
}

/* A flow with one segment outstanding: each acknowledgement ends a window. */
static inline void ack(struct ccs_cc *cc, double now_us, double rtt_us)
{
	static uint64_t sent;

	sent += 16384;
	ack_window(cc, now_us, rtt_us, sent, sent);
}

#endif
