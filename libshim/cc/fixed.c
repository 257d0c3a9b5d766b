/* SPDX-License-Identifier: BSD-2-Clause */
/* The baselines none and fixed: no control, and a constant rate. */
#include <math.h>

#include "cc/cc.h"

static void no_params(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void none_init(struct ccs_cc *cc)
{
	cc->out.rate = INFINITY;
	cc->out.window = 0;
}

static void ignore_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	(void)ack;
}

const struct ccs_cc_ops ccs_cc_none = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "none",
	.doc = "no control: measure only",
	.derive = no_params,
	.on_init = none_init, .on_ack = ignore_ack,
};

static const struct ccs_cc_param rate_param = {
	"rate", "bit/s", NAN, 1, 1e15, NULL, "the constant rate",
	"derived: line rate / flows of this host"
};

static void fixed_derive(const struct ccs_cc_path *path, double *p)
{
	if (isnan(p[0]))
		p[0] = path->line_rate / fmax(1, path->flows);
}

static void fixed_init(struct ccs_cc *cc)
{
	cc->out.rate = cc->param[0];
	cc->out.window = 0;
}

static void hold_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = rate;
}

const struct ccs_cc_ops ccs_cc_hold = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "hold",
	.doc = "the rate that was there before",
	.derive = no_params,
	.on_init = none_init, .on_ack = ignore_ack,
	.set_rate = hold_rate,
};

const struct ccs_cc_ops ccs_cc_fixed = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "fixed",
	.doc = "a constant rate, whatever the network says",
	.params = &rate_param, .nparams = 1, .derive = fixed_derive,
	.on_init = fixed_init, .on_ack = ignore_ack,
};
