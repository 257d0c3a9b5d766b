/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN's reaction point as published (Zhu et al., SIGCOMM 2015): CNPs cut the rate, timers and
 * sent bytes raise it again.
 *
 * paper  DCQCN 3.1 and Fig. 14. The paper refers to QCN for hyper increase, without a formula:
 *        it is R_HAI (min(T, BC) - F + 1). The floor of the rate is not in the paper.
 * mlx    ConnectX adapters, as in the simulator of HPCC's authors
 *        (High-Precision-Congestion-Control, rdma-hw.cc). A CNP sets two flags; periodic timers
 *        turn them into updates of alpha and cuts. There is no byte counter.
 */
#include "cc/dcqcn.h"

#include <math.h>

#include "cc/minmax.h"

/* Due times are sums of periods: times that differ by less are equal. Traces have whole ns. */
#define SAME_TIME_US 1e-6
/* The ns-3 simulator starts mlx's decrease timer 1 ns late, so that alpha's timer is first. */
#define DECREASE_LAG_US 1e-3
/* With such an alpha a cut has no effect: 1 - alpha/2 is 1. Traces do not print it. */
#define ALPHA_GONE 1e-300
/* Limit of expiries of the byte counter in one send; the rate has recovered by then. */
#define EXPIRIES_MAX 1000

static double period_us(const struct ccs_cc *cc, unsigned timer)
{
	const struct ccs_dcqcn_variant *v = ccs_dcqcn_const(cc)->variant;

	return v->period_us ? v->period_us(cc, timer) : cc->param[timer];
}

static void put_rate(struct ccs_cc *cc, double rate)
{
	const struct ccs_dcqcn_variant *v = ccs_dcqcn(cc)->variant;

	cc->out.rate = ccs_min(rate, cc->path.line_rate);
	cc->out.window = v->window ? v->window(cc) : 0;
}

static void arm(struct ccs_cc *cc)
{
	const double *due = ccs_dcqcn(cc)->due;

	cc->out.timer_us = ccs_min(ccs_min(due[T_ALPHA], due[T_RATE]), due[T_DECREASE]);
}

static void stop_timers(struct dcqcn *d)
{
	for (unsigned i = 0; i < NTIMERS; i++)
		d->due[i] = INFINITY;
}

static void reset_counts(struct ccs_cc *cc)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	d->time_count = d->byte_count = 0;
	d->left = cc->param[BYTE_COUNTER];
}

double ccs_dcqcn_floor(const struct ccs_cc *cc)
{
	return ccs_min(cc->param[MIN_RATE], cc->out.rate);
}

static void update_alpha(struct ccs_cc *cc, bool congested)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const double g = cc->param[G];

	d->alpha = (1 - g) * d->alpha;
	if (congested)
		d->alpha = ccs_min(d->alpha + g, 1);
}

/* The target falls to the rate if the rate has increased since the last cut, or by parameter. */
static void cut_rate(struct ccs_cc *cc, double least, bool has_increased)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const double rate = cc->out.rate;

	if (cc->param[CLAMP_TARGET] != 0 || has_increased)
		d->target = rate;
	put_rate(cc, ccs_max(least, rate * (1 - d->alpha / 2)));
	d->time_count = d->byte_count = 0;
	d->stage = FAST_RECOVERY;
}

static void restart_timers(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	d->due[T_ALPHA] = now_us + period_us(cc, ALPHA_TIMER);
	d->due[T_RATE] = now_us + period_us(cc, RATE_TIMER);
}

static void raise_rate(struct ccs_cc *cc, enum stage stage, double step)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	d->stage = stage;
	d->target = ccs_min(d->target + step, cc->path.line_rate);
	put_rate(cc, (d->target + cc->out.rate) / 2);
}

void ccs_dcqcn_cut(struct ccs_cc *cc, double now_us, double least)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	cut_rate(cc, least, d->byte_count > 0 || d->time_count > 0);
	d->left = cc->param[BYTE_COUNTER];
	update_alpha(cc, true);
	restart_timers(cc, now_us);
}

void ccs_dcqcn_increase(struct ccs_cc *cc)
{
	const struct dcqcn *d = ccs_dcqcn(cc);
	const struct ccs_dcqcn_variant *v = d->variant;
	const double f = cc->param[F], least = ccs_min(d->time_count, d->byte_count);

	if (ccs_max(d->time_count, d->byte_count) < f)
		raise_rate(cc, FAST_RECOVERY, 0);
	else if (least > f)
		raise_rate(cc, HYPER, cc->param[RATE_HAI] * (least - f + 1));
	else
		raise_rate(cc, ADDITIVE, v->additive_step ? v->additive_step(cc) : cc->param[RATE_AI]);
}

static void count_bytes(struct ccs_cc *cc, double bytes)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const double period = cc->param[BYTE_COUNTER];

	d->left -= ccs_min(bytes, EXPIRIES_MAX * period);
	while (d->left <= 0) {
		d->left += period;
		d->byte_count++;
		d->variant->increase(cc);
	}
}

static void paper_on_cnp(struct ccs_cc *cc, double now_us)
{
	ccs_dcqcn_cut(cc, now_us, ccs_dcqcn_floor(cc));
}

/* The first CNP starts the timers and does not change alpha. */
static void mlx_on_cnp(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	if (isinf(d->due[T_DECREASE])) {
		d->due[T_ALPHA] = now_us + cc->param[ALPHA_TIMER];
		d->due[T_DECREASE] = now_us + cc->param[DECREASE_TIMER] + DECREASE_LAG_US;
		d->target = cc->out.rate;
	}
	if (d->stage == IDLE)
		d->stage = FAST_RECOVERY;
	d->alpha_cnp = d->seen;
	d->cut_cnp = d->seen = true;
}

static void mlx_increase(struct ccs_cc *cc)
{
	const double count = ccs_dcqcn(cc)->time_count - 1; /* of increases before */
	const double *p = cc->param;

	if (count < p[F])
		raise_rate(cc, FAST_RECOVERY, 0);
	else if (count > p[F])
		raise_rate(cc, HYPER, p[RATE_HAI]);
	else
		raise_rate(cc, ADDITIVE, p[RATE_AI]);
}

/* A cut restarts the timer of the increase. */
static void mlx_decrease_expired(struct ccs_cc *cc)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	if (d->cut_cnp) {
		cut_rate(cc, ccs_dcqcn_floor(cc), d->time_count > 0);
		d->cut_cnp = false;
		d->due[T_RATE] = d->due[T_DECREASE] + cc->param[RATE_TIMER];
	}
	d->due[T_DECREASE] += cc->param[DECREASE_TIMER];
}

/*
 * Stop the timers of a flow that has recovered: they no longer change anything, and a process
 * that was idle for an hour would have billions of them to fire. alpha stays as it is. The next
 * CNP restarts the timers.
 */
static void rest_if_recovered(struct ccs_cc *cc, double rate_before)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const bool alpha_rests = isinf(d->due[T_ALPHA]) || (d->alpha < ALPHA_GONE && !d->alpha_cnp);

	if (!alpha_rests || d->cut_cnp || cc->out.rate != rate_before ||
	    d->target < cc->path.line_rate)
		return;
	stop_timers(d);
	reset_counts(cc);
	put_rate(cc, cc->path.line_rate); /* halving may end one bit below */
	d->stage = IDLE;
}

static void rate_expired(struct ccs_cc *cc)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const double before = cc->out.rate;

	d->due[T_RATE] += period_us(cc, RATE_TIMER);
	d->time_count++;
	d->variant->increase(cc);
	rest_if_recovered(cc, before);
}

/* A timer's next due time is a period after its last due time, even if the call is late. */
void ccs_dcqcn_on_timer(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const double until = now_us + SAME_TIME_US;

	if (d->due[T_ALPHA] <= until) {
		d->due[T_ALPHA] += period_us(cc, ALPHA_TIMER);
		update_alpha(cc, d->alpha_cnp);
		d->alpha_cnp = false;
	} else if (d->due[T_RATE] <= until) {
		rate_expired(cc);
	} else if (d->due[T_DECREASE] <= until) {
		mlx_decrease_expired(cc);
	}
	arm(cc);
}

void ccs_dcqcn_start_below_line(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	if (cc->out.rate >= cc->path.line_rate || !isinf(d->due[T_RATE]))
		return;
	d->due[T_RATE] = now_us + period_us(cc, RATE_TIMER);
	d->stage = FAST_RECOVERY;
	arm(cc);
}

void ccs_dcqcn_on_cnp(struct ccs_cc *cc, double now_us)
{
	ccs_dcqcn(cc)->variant->on_cnp(cc, now_us);
	arm(cc);
}

void ccs_dcqcn_on_send(struct ccs_cc *cc, double now_us, double bytes)
{
	const struct dcqcn *d = ccs_dcqcn(cc);

	ccs_dcqcn_start_below_line(cc, now_us);
	if (d->stage != IDLE && d->variant->counts_bytes && cc->param[BYTE_COUNTER] > 0)
		count_bytes(cc, bytes);
}

/* alpha and the timers depend on CNPs only, and continue. */
void ccs_dcqcn_set_rate(struct ccs_cc *cc, double rate)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	put_rate(cc, ccs_max(rate, cc->param[MIN_RATE]));
	d->target = cc->out.rate;
	reset_counts(cc);
	if (d->stage != IDLE)
		d->stage = FAST_RECOVERY;
}

void ccs_dcqcn_init(struct ccs_cc *cc, const struct ccs_dcqcn_variant *variant)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	*d = (struct dcqcn){
		.variant = variant, .alpha = cc->param[ALPHA_INIT], .cut_us = -INFINITY,
	};
	ccs_host_jitter_init(&d->jitter);
	stop_timers(d);
	arm(cc);
	ccs_dcqcn_set_rate(cc, cc->param[INIT_RATE]);
}

/*
 * paper: DCQCN Fig. 14; min_rate is ccshim's, see dcqcn.c. mlx: the simulator scales its rates with
 * the line rate by run.py and mix/config.txt (5 and 50 Mb/s per 25 Gb/s), MinRate 100 Mb/s.
 */
const struct ccs_dcqcn_variant ccs_dcqcn_published[CCS_DCQCN_PUBLISHED] = {
	[CCS_DCQCN_PAPER] = {
		.f = 5, .clamp_target = 1,
		.alpha_timer = 55, .rate_timer = 55, .byte_counter = 10e6,
		.rate_ai = 40e6, .min_share = 10000,
		.on_cnp = paper_on_cnp, .increase = ccs_dcqcn_increase, .counts_bytes = true,
	},
	[CCS_DCQCN_MLX] = {
		.f = 1, .clamp_target = 0,
		.alpha_timer = 1, .rate_timer = 300, .byte_counter = 0,
		.ai_share = 5000, .min_share = 250,
		.on_cnp = mlx_on_cnp, .increase = mlx_increase,
	},
};
