/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/marking.h"

#include <math.h>

enum { STEPS = 4096, POLLS_MAX = 1 << 20, BISECTIONS = 40 };

double ccs_polled_queue(struct ccs_polled_queue *a, double now_us, double queue)
{
	if (!(a->interval_us > 0))
		return queue;
	while (a->next_us <= now_us) {
		a->average += a->weight * (queue - a->average);
		a->next_us += a->interval_us;
	}
	return a->average;
}

double ccs_pmax_effective(double pps, double cnp_interval_us)
{
	return fmin(1e6 / cnp_interval_us / pps, 1);
}

double ccs_cnp_rate(double probability, double pps, double cnp_interval_us)
{
	return 1 / (cnp_interval_us * 1e-6 + 1 / (probability * pps));
}

/* Marks have one probability from poll to poll. Where the queue grows so slowly that millions of
 * polls would pass, fewer polls give the same result. */
static double step_us(const struct ccs_ramp *ramp)
{
	const double whole_us = fmax(ramp->red.kmax, 1) / ramp->growth;

	return ramp->poll_us > 0 ? fmax(ramp->poll_us, whole_us / POLLS_MAX) : whole_us / STEPS;
}

double ccs_ramp_peak(const struct ccs_ramp *ramp)
{
	const double step = step_us(ramp);
	struct ccs_polled_queue average = {
		.interval_us = ramp->poll_us > 0 ? step : 0, .weight = ramp->weight,
	};
	double marks = ramp->marks, now_us = 0;

	for (;; now_us += step) {
		const double queue = ccs_polled_queue(&average, now_us, ramp->growth * now_us);
		const double probability = ccs_red_probability(&ramp->red, queue);
		const double marks_per_us = probability * ramp->pps * 1e-6;

		if (probability >= 1 || marks_per_us * step >= marks)
			return ramp->growth * (now_us + marks / marks_per_us + ramp->reaction_us);
		marks -= marks_per_us * step;
	}
}

double ccs_ramp_largest_kmin(const struct ccs_ramp *ramp)
{
	struct ccs_ramp try = *ramp;
	double good = 0, bad = ramp->red.kmax;

	try.red.kmin = 0;
	if (ccs_ramp_peak(&try) > ramp->red.kmax)
		return -1;
	for (int i = 0; i < BISECTIONS; i++) {
		try.red.kmin = (good + bad) / 2;
		if (ccs_ramp_peak(&try) <= ramp->red.kmax)
			good = try.red.kmin;
		else
			bad = try.red.kmin;
	}
	return good;
}

double ccs_red_probability(const struct ccs_red *red, double qlen_bytes)
{
	if (qlen_bytes <= red->kmin)
		return 0;
	if (qlen_bytes > red->kmax)
		return 1;
	return red->pmax * (qlen_bytes - red->kmin) / (red->kmax - red->kmin);
}

bool ccs_red_mark(const struct ccs_red *red, double qlen_bytes, double dice)
{
	return dice < ccs_red_probability(red, qlen_bytes);
}

double ccs_thresholds_rest(const struct ccs_thresholds *t)
{
	return t->buffer - t->priorities * t->ports * t->flight;
}

double ccs_thresholds_pfc_static(const struct ccs_thresholds *t)
{
	return ccs_thresholds_rest(t) / (t->priorities * t->ports);
}

double ccs_thresholds_pfc_dynamic(const struct ccs_thresholds *t, double used)
{
	return t->beta * (ccs_thresholds_rest(t) - used) / t->priorities;
}

double ccs_thresholds_ecn_static(const struct ccs_thresholds *t)
{
	return ccs_thresholds_pfc_static(t) / t->ports;
}

/* n * t = t_PFC(s) and s = per_port * n * t, solved for t. */
double ccs_thresholds_ecn_dynamic(const struct ccs_thresholds *t, double per_port)
{
	return t->beta * ccs_thresholds_rest(t) /
	       (t->ports * (t->priorities + t->beta * per_port));
}
