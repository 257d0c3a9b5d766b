/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry of algorithms, and the functions that start and set up an instance. */
#include "cc/cc.h"

#include <math.h>
#include <string.h>

const struct ccs_cc_ops *const ccs_cc_all[] = {
	&ccs_cc_timely, &ccs_cc_dcqcn, &ccs_cc_hpcc, &ccs_cc_swift, &ccs_cc_copa, &ccs_cc_rcp,
	&ccs_cc_fixed, &ccs_cc_none, NULL
};

const struct ccs_cc_need_name ccs_cc_need_names[] = {
	{ CCS_NEEDS_RTT, "round-trip times" },
	{ CCS_NEEDS_CNP, "congestion notifications" },
	{ CCS_NEEDS_TELEMETRY, "telemetry" },
	{ CCS_NEEDS_ECT, "ECN-capable packets" },
	{ CCS_NEEDS_ADVICE, "advised rates" },
	{ 0 }
};

const struct ccs_cc_ops *ccs_cc_find(const char *name)
{
	for (unsigned i = 0; ccs_cc_all[i]; i++)
		if (strcmp(ccs_cc_all[i]->name, name) == 0)
			return ccs_cc_all[i];
	return strcmp(name, CCS_CC_AUTO) == 0 ? &ccs_cc_rcp : NULL;
}

int ccs_cc_find_param(const struct ccs_cc_ops *ops, const char *name)
{
	for (unsigned i = 0; i < ops->nparams; i++)
		if (strcmp(ops->params[i].name, name) == 0)
			return (int)i;
	return -1;
}

const struct ccs_cc_ops *ccs_cc_fallback(const struct ccs_cc_ops *ops)
{
	const struct ccs_cc_ops *fallback = ops->fallback ? ccs_cc_find(ops->fallback) : NULL;

	if (fallback)
		return fallback;
	return ops->needs & (CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE) ? &ccs_cc_swift
								     : &ccs_cc_timely;
}

void ccs_cc_repath(struct ccs_cc *cc, const struct ccs_cc_path *path)
{
	const double *given = cc->spec->given;

	for (unsigned i = 0; i < cc->ops->nparams; i++)
		cc->param[i] = isnan(given[i]) ? cc->ops->params[i].def : given[i];
	cc->path = *path;
	cc->ops->derive(path, cc->param);
}

void ccs_cc_limit(struct ccs_cc *cc, double max_rate)
{
	const int i = ccs_cc_find_param(cc->ops, "max_rate");

	if (i >= 0)
		cc->param[i] = fmin(cc->param[i], max_rate);
}

void ccs_cc_set_rate(struct ccs_cc *cc, double rate)
{
	if (cc->ops->set_rate)
		cc->ops->set_rate(cc, rate);
}

void ccs_cc_start(struct ccs_cc *cc, const struct ccs_cc_spec *spec, const struct ccs_cc_path *path)
{
	*cc = (struct ccs_cc){ .ops = spec->ops, .spec = spec, .out.timer_us = INFINITY };
	ccs_cc_repath(cc, path);
	cc->ops->on_init(cc);
}

double ccs_cc_throughput(const struct ccs_cc *cc)
{
	const double by_window = cc->out.window > 0 ? 8e6 * cc->out.window / cc->path.base_rtt_us
						    : INFINITY;

	return fmin(fmin(cc->out.rate, by_window), cc->path.line_rate);
}

double ccs_cc_min_rate(const struct ccs_cc *cc)
{
	const int i = ccs_cc_find_param(cc->ops, "min_rate");

	return i < 0 ? 0 : cc->param[i];
}

const char *ccs_cc_variant(const struct ccs_cc *cc)
{
	const int i = ccs_cc_find_param(cc->ops, "variant");

	if (i < 0 || !cc->ops->params[i].choices)
		return "";
	return cc->ops->params[i].choices[(unsigned)cc->param[i]];
}
