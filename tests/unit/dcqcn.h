/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_DCQCN_H
#define CCS_TESTS_DCQCN_H
/* Helpers of the tests of DCQCN's reaction point. Include cmocka.h first. */
#include <stdio.h>

#include "algorithm.h"

static const struct ccs_cc_path path40g = { .line_rate = 40e9, .base_rtt_us = 20,
					    .segment = 32768, .flows = 1 };

static const char *const variants[] = { "ccshim", "paper", "mlx" };
enum { CCSHIM, PAPER, MLX };

/* Call in the order of a caller: what is due first comes first. */
static inline void cnp(struct ccs_cc *cc, double now_us)
{
	ccs_cc_advance(cc, now_us);
	cc->ops->on_cnp(cc, now_us);
}

static inline void ack(struct ccs_cc *cc, double now_us, double rtt_us, double bytes)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = rtt_us, .bytes = bytes };

	ccs_cc_advance(cc, now_us);
	cc->ops->on_ack(cc, &a);
}

static inline void send(struct ccs_cc *cc, double now_us, double bytes)
{
	ccs_cc_advance(cc, now_us);
	cc->ops->on_send(cc, now_us, bytes);
}

static inline double target(const struct ccs_cc *cc)
{
	return observed(cc, "target_bps").value;
}

static inline double alpha(const struct ccs_cc *cc)
{
	return observed(cc, "alpha").value;
}

static const char *stage(const struct ccs_cc *cc)
{
	return observed(cc, "stage").text;
}

static inline void start_variant(struct ccs_cc *cc, unsigned variant, const char *more)
{
	char text[320];

	snprintf(text, sizeof(text), "dcqcn:variant=%s%s", variants[variant], more);
	start(cc, text, &path40g);
}

#endif
