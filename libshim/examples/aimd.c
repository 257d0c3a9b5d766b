/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A congestion-control plug-in for ccshim: additive increase while the RTT is
 * below a target, multiplicative decrease, at most once an RTT, while it is not.
 *
 * Build it, print its parameters, run a program under it:
 *
 *	cc -O2 -fPIC -shared $(pkg-config --cflags ccshim) -o libaimd.so aimd.c -lm
 *	ccshim info -a ./libaimd.so:beta=0.7 --line-rate 100g
 *	ccshim run -a ./libaimd.so:beta=0.7 PROGRAM
 */
#include <ccshim/cc.h>
#include <math.h>

enum { TARGET, ADD_RATE, BETA, MIN_RATE, MAX_RATE, NPARAMS };

static const struct ccs_cc_param params[NPARAMS] = {
	[TARGET] = { "target", "us", NAN, 0, 1e9, NULL,
		"RTT above which the rate falls", "derived: base RTT, noise, eight segments" },
	[ADD_RATE] = { "add_rate", "bit/s", NAN, 0, 1e15, NULL,
		"increase per RTT", "derived: line rate / 1000" },
	[BETA] = { "beta", "", 0.5, 0.01, 0.99, NULL,
		"factor applied to the rate by a decrease", "Chiu and Jain 1989" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: line rate / 1000" },
	[MAX_RATE] = { "max_rate", "bit/s", NAN, 1, 1e15, NULL,
		"ceiling of the rate", "derived: line rate" },
};

/* One flow's state, in ccs_cc.priv. */
struct aimd {
	double last_decrease_us;
	double increases, decreases;
};

static void derive(const struct ccs_cc_path *path, double *p)
{
	const double segment_us = 8e6 * path->segment / path->line_rate;
	const double derived[NPARAMS] = {
		[TARGET] = path->base_rtt_us + path->rtt_jitter_us + 8 * segment_us,
		[ADD_RATE] = path->line_rate / 1000,
		[MIN_RATE] = path->line_rate / 1000,
		[MAX_RATE] = path->line_rate,
	};

	for (unsigned i = 0; i < NPARAMS; i++)
		if (isnan(p[i])) /* no value and no default */
			p[i] = derived[i];
}

static void set_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = fmax(fmin(rate, cc->param[MAX_RATE]), cc->param[MIN_RATE]);
}

static void on_init(struct ccs_cc *cc)
{
	*CCS_CC_PRIV(struct aimd, cc) = (struct aimd){ .last_decrease_us = -INFINITY };
	set_rate(cc, cc->param[MAX_RATE]); /* no window, no timer: both are off */
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct aimd *a = CCS_CC_PRIV(struct aimd, cc);

	if (!(ack->rtt_us > 0))
		return; /* not measured */
	if (ack->rtt_us <= cc->param[TARGET]) {
		/* An RTT at this rate acknowledges rate * rtt bits; this ack covers a share of
		 * them. */
		const double share = 8e6 * ack->bytes / (cc->out.rate * ack->rtt_us);

		set_rate(cc, cc->out.rate + cc->param[ADD_RATE] * fmin(share, 1));
		a->increases++;
	} else if (ack->now_us - a->last_decrease_us >= ack->rtt_us) {
		set_rate(cc, cc->out.rate * cc->param[BETA]);
		a->last_decrease_us = ack->now_us;
		a->decreases++;
	}
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct aimd *a = (const struct aimd *)(const void *)cc->priv;

	if (max < 2)
		return 0;
	obs[0] = (struct ccs_cc_obs){ .name = "increases", .value = a->increases };
	obs[1] = (struct ccs_cc_obs){ .name = "decreases", .value = a->decreases };
	return 2;
}

const struct ccs_cc_ops ccs_cc_plugin = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "aimd", .doc = "additive increase, multiplicative decrease on an RTT target",
	.needs = CCS_NEEDS_RTT, .params = params, .nparams = NPARAMS,
	.derive = derive, .on_init = on_init, .on_ack = on_ack,
	.set_rate = set_rate, .observe = observe,
};
