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
	/* defaults of parameters */
	double alpha_init, f, clamp_target;
	double alpha_timer, rate_timer, byte_counter;
	double rate_ai;              /* bit/s; 0: line rate / ai_share */
	double ai_share;
	double hai_steps;            /* rate_hai / rate_ai */
	double min_share;            /* line rate / min_rate */

	void (*on_cnp)(struct ccs_cc *cc, double now_us);
	void (*increase)(struct ccs_cc *cc, bool by_time);
	void (*count_sent)(struct ccs_cc *cc, double bytes);             /* NULL: no byte counter */
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
	double rtt_us;               /* last RTT; 0: none */
	double ack_us, acked;        /* last acknowledgement; bytes acknowledged since cut_us */
	struct ccs_host_jitter jitter;
};

enum { CCS_DCQCN_PAPER, CCS_DCQCN_NS3RDMA, CCS_DCQCN_MLX, CCS_DCQCN_PUBLISHED };
extern const struct ccs_dcqcn_variant ccs_dcqcn_published[CCS_DCQCN_PUBLISHED];

static inline struct dcqcn *ccs_dcqcn(struct ccs_cc *cc)
{
	return CCS_CC_PRIV(struct dcqcn, cc);
}

static inline const struct dcqcn *ccs_dcqcn_const(const struct ccs_cc *cc)
{
	return (const struct dcqcn *)(const void *)cc->priv;
}

static inline double ccs_dcqcn_period_us(const struct ccs_cc *cc, unsigned timer)
{
	const struct ccs_dcqcn_variant *v = ccs_dcqcn_const(cc)->variant;

	return v->period_us ? v->period_us(cc, timer) : cc->param[timer];
}

/* Set the rate, up to the line rate, and the window that belongs to it. */
void ccs_dcqcn_set_rate(struct ccs_cc *cc, double rate);

/* Set out.timer_us to the first due time. */
void ccs_dcqcn_arm(struct ccs_cc *cc);

void ccs_dcqcn_stop_timers(struct dcqcn *d);
void ccs_dcqcn_reset_counts(struct ccs_cc *cc);

/* min_rate, or the rate if that is lower: a path change may raise min_rate above the rate. */
double ccs_dcqcn_floor(const struct ccs_cc *cc);

/* DCQCN 3.1: cut the rate, to least at the lowest, update alpha and restart the timers. */
void ccs_dcqcn_cut(struct ccs_cc *cc, double now_us, double least);

/* Set stage, add step to the target, up to most, and move the rate halfway to the target. */
void ccs_dcqcn_raise(struct ccs_cc *cc, enum stage stage, double step, double most);

/* DCQCN 3.1: the increase, with `additive` bit/s as the additive step. */
void ccs_dcqcn_increase(struct ccs_cc *cc, double additive);

/* DCQCN 3.1: the byte counter. */
void ccs_dcqcn_count_bytes(struct ccs_cc *cc, double bytes);

/*
 * Start the increase of a flow that is below the line rate before its first CNP, because other
 * flows of its host were active or slow start stopped lower. The paper has no such flows: without
 * this they would stay at their rate.
 */
void ccs_dcqcn_start_below_line(struct ccs_cc *cc, double now_us);

void ccs_dcqcn_on_timer(struct ccs_cc *cc, double now_us);

#endif
