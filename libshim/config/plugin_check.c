/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that an algorithm follows <ccshim/cc.h>; limited to rules that can be checked before it
 * runs. */
#include "base/text.h"
#include "config/plugin.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The buffer for the message. */
struct complaint {
	char *err;
	size_t len;
};

#define refuse(to, ...) ccs_refuse((to)->err, (to)->len, __VA_ARGS__)

static bool is_name(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

static int check_head(const struct ccs_cc_ops *ops, struct complaint *to)
{
	if (ops->abi != CCS_CC_ABI)
		return refuse(to, "it is built for version %u of the interface, but this is %u; rebuild it",
			   ops->abi, CCS_CC_ABI);
	if (ops->size != sizeof(*ops))
		return refuse(to, "its ccs_cc_ops has %u bytes, but here it has %zu; rebuild it", ops->size,
			   sizeof(*ops));
	if (!ops->name || !is_name(ops->name))
		return refuse(to, "it has no name of letters a to z, digits and '_'");
	if (ccs_cc_find(ops->name) && ccs_cc_find(ops->name) != ops)
		return refuse(to, "its name '%s' is that of a built-in algorithm", ops->name);
	if (!ops->doc || !ops->derive || !ops->on_init || !ops->on_ack)
		return refuse(to, "it has no %s", !ops->doc ? "doc" : !ops->derive ? "derive" :
					       !ops->on_init ? "on_init" : "on_ack");
	if (ops->nparams > CCS_CC_MAX_PARAMS)
		return refuse(to, "it has %u parameters, but the maximum is %u", ops->nparams,
			   CCS_CC_MAX_PARAMS);
	if (ops->nparams && !ops->params)
		return refuse(to, "it has %u parameters, but no table of them", ops->nparams);
	return 0;
}

static bool is_unit(const char *unit)
{
	static const char *const units[] = { "", "us", "bit/s", "bytes" };

	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(unit, units[i]) == 0)
			return true;
	return false;
}

static bool is_choice(const struct ccs_cc_param *param, double value)
{
	double i = 0;

	for (const char *const *name = param->choices; *name; name++, i++)
		if (i == value)
			return true;
	return false;
}

static int check_values(const struct ccs_cc_param *param, struct complaint *to)
{
	if (param->choices && !*param->choices)
		return refuse(to, "parameter '%s' has an empty list of choices", param->name);
	if (param->choices)
		return isnan(param->def) || is_choice(param, param->def) ? 0 :
			refuse(to, "the default of parameter '%s' is not one of its choices", param->name);
	if (!(param->min <= param->max))
		return refuse(to, "parameter '%s' has a minimum above its maximum", param->name);
	if (param->def < param->min || param->def > param->max)
		return refuse(to, "the default of parameter '%s' is outside its range", param->name);
	return 0;
}

static int check_param(const struct ccs_cc_ops *ops, unsigned i, struct complaint *to)
{
	const struct ccs_cc_param *param = &ops->params[i];

	if (!param->name || !is_name(param->name))
		return refuse(to, "parameter number %u has no name of letters a to z, digits and '_'",
			   i + 1);
	for (unsigned k = 0; k < i; k++)
		if (strcmp(ops->params[k].name, param->name) == 0)
			return refuse(to, "parameter '%s' is defined twice", param->name);
	if (!param->unit || !is_unit(param->unit))
		return refuse(to, "parameter '%s' has no unit of \"us\", \"bit/s\", \"bytes\" and \"\"",
			   param->name);
	if (!param->doc || !param->source)
		return refuse(to, "parameter '%s' has no %s", param->name,
			   param->doc ? "source" : "doc");
	return check_values(param, to);
}

static int check_derived(const struct ccs_cc *cc, struct complaint *to)
{
	for (unsigned i = 0; i < cc->ops->nparams; i++) {
		const struct ccs_cc_param *param = &cc->ops->params[i];

		if (isnan(cc->param[i]))
			return refuse(to, "derive() leaves parameter '%s' without a value", param->name);
		if (param->choices && !is_choice(param, cc->param[i]))
			return refuse(to, "derive() sets parameter '%s' to none of its choices",
				   param->name);
	}
	return 0;
}

/* Several timers may be due at the same time, 1000 at most. */
static int check_timer(struct ccs_cc *cc, struct complaint *to)
{
	const double due = cc->out.timer_us;

	if (isnan(due))
		return refuse(to, "on_init() sets a timer that is not a number");
	if (due < INFINITY && !cc->ops->on_timer)
		return refuse(to, "on_init() sets a timer, but there is no on_timer");
	if (due < 0)
		return refuse(to, "on_init() sets a timer to %g us, which is before the start", due);
	for (unsigned i = 0; i < 1000 && cc->out.timer_us <= due && due < INFINITY; i++)
		cc->ops->on_timer(cc, due);
	return due == INFINITY || cc->out.timer_us > due ? 0
		: refuse(to, "on_timer() does not set a later time");
}

static bool has_variant(const struct ccs_cc_ops *ops)
{
	struct ccs_cc_spec spec = ccs_cc_default_spec(ops);

	return ccs_cc_set_default_choice(&spec, "variant", ops->without_ports);
}

/* Check the replacement of the algorithm, or of its variant, where feedback is missing. */
static int check_missing_feedback(const struct ccs_cc_ops *ops, struct complaint *to)
{
	const unsigned agent = CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE;
	const struct ccs_cc_ops *fallback = ops->fallback ? ccs_cc_find(ops->fallback) : NULL;

	if (ops->fallback && (!fallback || (fallback->needs & agent)))
		return refuse(to, "its fallback '%s' is no built-in algorithm that works without agents",
			      ops->fallback);
	if (ops->without_ports && !has_variant(ops))
		return refuse(to, "its without_ports '%s' is no value of a parameter 'variant'",
			      ops->without_ports);
	return 0;
}

static int try_path(const struct ccs_cc_ops *ops, const struct ccs_cc_path *path,
		    struct complaint *to)
{
	const struct ccs_cc_spec spec = ccs_cc_default_spec(ops);
	struct ccs_cc cc;

	cc = (struct ccs_cc){ .ops = ops, .spec = &spec, .out.timer_us = INFINITY };
	ccs_cc_repath(&cc, path);
	if (check_derived(&cc, to))
		return -1;
	ops->on_init(&cc);
	if (!(cc.out.rate > 0 && isfinite(cc.out.rate)))
		return refuse(to, "on_init() gives a rate of %g bit/s", cc.out.rate);
	if (!(cc.out.window >= 0))
		return refuse(to, "on_init() gives a window of %g bytes", cc.out.window);
	return check_timer(&cc, to);
}

int ccs_plugin_check(const struct ccs_cc_ops *ops, char *err, size_t errlen)
{
	static const struct ccs_cc_path paths[] = {
		{ .line_rate = 10e9, .base_rtt_us = 10, .segment = 65536, .flows = 1 },
		{ .line_rate = 400e9, .base_rtt_us = 2, .segment = 4096, .flows = 1000 },
		{ .line_rate = 10e6, .base_rtt_us = 1e5, .rtt_jitter_us = 1e4, .segment = 4096, .flows = 2 },
	};
	struct complaint to = { err, errlen };

	if (check_head(ops, &to))
		return -1;
	for (unsigned i = 0; i < ops->nparams; i++)
		if (check_param(ops, i, &to))
			return -1;
	if (check_missing_feedback(ops, &to))
		return -1;
	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (try_path(ops, &paths[i], &to))
			return -1;
	return 0;
}
