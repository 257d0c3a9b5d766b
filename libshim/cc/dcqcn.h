/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_DCQCN_H
#define CCS_CC_DCQCN_H
/*
 * DCQCN's reaction point: state, parameters, and the functions that its variants share. The
 * published variants are in dcqcn_published.c, the variant ccshim and the algorithm's entry
 * points in dcqcn.c.
 */
#include <stdbool.h>

#include "cc/cc.h"
#include "cc/host_jitter.h"

enum { VARIANT, G, ALPHA_INIT, ALPHA_TIMER, RATE_TIMER, DECREASE_TIMER, BYTE_COUNTER, F,
       RATE_AI, RATE_HAI, MIN_RATE, INIT_RATE, CLAMP_TARGET, NPARAMS };

enum stage { IDLE, FAST_RECOVERY, ADDITIVE, HYPER };

/* Timers, in the order in which they fire if they are due at the same time. */
enum { T_ALPHA, T_RATE, T_DECREASE, NTIMERS };

struct ccs_dcqcn_variant {
	bool counts_bytes;           /* increase also by bytes sent */
	/* defaults of parameters */
	double f, clamp_target, alpha_timer, rate_timer, byte_counter;
	double rate_ai;              /* bit/s; 0: line rate / ai_share */
	double ai_share, min_share;  /* line rate / rate_ai, / min_rate */

	void (*on_cnp)(struct ccs_cc *cc, double now_us);
	void (*increase)(struct ccs_cc *cc);
	double (*additive_step)(const struct ccs_cc *cc);                /* NULL: rate_ai */
	double (*period_us)(const struct ccs_cc *cc, unsigned timer);    /* NULL: the parameter */
	double (*window)(const struct ccs_cc *cc);                       /* NULL: no window */
};

struct dcqcn {
	const struct ccs_dcqcn_variant *variant;
	double target, alpha;        /* Rt, bit/s; Rc is out.rate */
	double due[NTIMERS];         /* INFINITY: stopped */
	double time_count, byte_count; /* T and BC: expiries since the last cut */
	double left;                 /* bytes until the byte counter expires */
	enum stage stage;
	bool alpha_cnp, cut_cnp;     /* mlx: CNP since the timer of alpha, of cuts, last expired */
	bool seen;                   /* mlx: at least one CNP since the start */
	/* variant ccshim only */
	double cut_us;               /* time of the last cut whose effect is awaited */
	double rtt_us;               /* last RTT; 0: unknown */
	double least_us;             /* least RTT, slowly forgotten; 0: unknown */
	double ack_us, acked;        /* last acknowledgement; bytes acknowledged since cut_us */
	struct ccs_host_jitter jitter;
};

enum { CCS_DCQCN_PAPER, CCS_DCQCN_MLX, CCS_DCQCN_PUBLISHED };
extern const struct ccs_dcqcn_variant ccs_dcqcn_published[CCS_DCQCN_PUBLISHED];

static inline struct dcqcn *ccs_dcqcn(struct ccs_cc *cc)
{
	return CCS_CC_PRIV(struct dcqcn, cc);
}

static inline const struct dcqcn *ccs_dcqcn_const(const struct ccs_cc *cc)
{
	return (const struct dcqcn *)(const void *)cc->priv;
}

/* Callbacks of the algorithm, for all variants. */
void ccs_dcqcn_init(struct ccs_cc *cc, const struct ccs_dcqcn_variant *variant);
void ccs_dcqcn_on_cnp(struct ccs_cc *cc, double now_us);
void ccs_dcqcn_on_send(struct ccs_cc *cc, double now_us, double bytes);
void ccs_dcqcn_on_timer(struct ccs_cc *cc, double now_us);
void ccs_dcqcn_set_rate(struct ccs_cc *cc, double rate);

/*
 * Start the increase of a flow that is below the line rate before its first CNP, because other
 * flows of its host were active or slow start stopped lower. The paper does not say how such flows
 * increase.
 */
void ccs_dcqcn_start_below_line(struct ccs_cc *cc, double now_us);

/* min_rate, or the rate if that is lower: a path change may raise min_rate above the rate. */
double ccs_dcqcn_floor(const struct ccs_cc *cc);

/* DCQCN 3.1: cut the rate, to least at the lowest, update alpha and restart the timers. */
void ccs_dcqcn_cut(struct ccs_cc *cc, double now_us, double least);

/* DCQCN 3.1: the increase. */
void ccs_dcqcn_increase(struct ccs_cc *cc);

#endif
