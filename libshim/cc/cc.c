/* SPDX-License-Identifier: BSD-2-Clause */
/* The algorithm registry, the parser of "NAME:param=value", and start-up. */
#include "cc/cc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

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

bool ccs_cc_is_auto(const char *text)
{
	return strlen(CCS_CC_AUTO) == strcspn(text, ":") &&
	       strncmp(text, CCS_CC_AUTO, strlen(CCS_CC_AUTO)) == 0;
}

static int __attribute__((format(printf, 3, 4))) fail(char *err, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return -1;
}

#define TEXT_LEN 512

static int too_long(char *err, size_t len)
{
	return fail(err, len, "the algorithm's text is longer than %d bytes", TEXT_LEN - 1);
}

static int parse_value(const struct ccs_cc_param *param, const char *text, double *value,
		       char *err, size_t len)
{
	if (param->choices) {
		for (unsigned i = 0; param->choices[i]; i++)
			if (strcmp(param->choices[i], text) == 0) {
				*value = i;
				return 0;
			}
		return fail(err, len, "'%s' is no %s", text, param->name);
	}
	if (ccs_parse_unit(text, ccs_unit_named(param->unit), value))
		return fail(err, len, "'%s' is not a value for %s%s%s; allowed: %g to %g", text,
			    param->name, *param->unit ? " in " : "", param->unit, param->min,
			    param->max);
	if (*value < param->min || *value > param->max)
		return fail(err, len, "%s=%s is outside %g to %g%s%s", param->name, text,
			    param->min, param->max, *param->unit ? " " : "", param->unit);
	return 0;
}

static int parse_param(const struct ccs_cc_ops *ops, char *item, double *given,
		       char *err, size_t len)
{
	char *eq = strchr(item, '=');
	int i;

	if (!eq)
		return fail(err, len, "'%s' is not param=value", item);
	*eq = '\0';
	i = ccs_cc_find_param(ops, item);
	if (i < 0)
		return fail(err, len, "algorithm %s has no parameter '%s'", ops->name, item);
	return parse_value(&ops->params[i], eq + 1, &given[i], err, len);
}

struct ccs_cc_spec ccs_cc_default_spec(const struct ccs_cc_ops *ops)
{
	struct ccs_cc_spec spec = { .ops = ops };

	for (unsigned i = 0; i < CCS_CC_MAX_PARAMS; i++)
		spec.given[i] = NAN;
	return spec;
}

bool ccs_cc_is_path(const char *text)
{
	return text[strcspn(text, "/:")] == '/';
}

size_t ccs_cc_name_len(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t end = strcspn(text, ":"), at = end;

	if (!ccs_cc_is_path(text))
		return end;
	for (end = strlen(text); text[at]; at += 1 + strcspn(text + at + 1, ":"))
		if (text[at + 1 + strspn(text + at + 1, letters)] == '=')
			end = at;
	return end;
}

int ccs_cc_parse_params(struct ccs_cc_spec *spec, const struct ccs_cc_ops *ops, const char *text,
			char *err, size_t errlen)
{
	struct ccs_cc_spec new = ccs_cc_default_spec(ops);
	char copy[TEXT_LEN], *rest = *text ? copy : NULL, *item;

	if (strlen(text) >= sizeof(copy))
		return too_long(err, errlen);
	strcpy(copy, text + !!*text);
	while ((item = strsep(&rest, ",")))
		if (parse_param(ops, item, new.given, err, errlen))
			return -1;
	*spec = new;
	return 0;
}

int ccs_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen)
{
	const size_t len = ccs_cc_name_len(text);
	const struct ccs_cc_ops *ops;
	char name[TEXT_LEN];

	if (len >= sizeof(name))
		return too_long(err, errlen);
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	ops = ccs_cc_find(name);
	if (!ops)
		return fail(err, errlen, "there is no algorithm '%s'", name);
	return ccs_cc_parse_params(spec, ops, text + len, err, errlen);
}

bool ccs_cc_set_default_choice(struct ccs_cc_spec *spec, const char *param, const char *choice)
{
	const int i = ccs_cc_find_param(spec->ops, param);
	char err[128];

	return i >= 0 && spec->ops->params[i].choices && isnan(spec->given[i]) &&
	       !parse_value(&spec->ops->params[i], choice, &spec->given[i], err, sizeof(err));
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

void ccs_cc_switch(struct ccs_cc *cc, const struct ccs_cc_spec *spec,
		   const struct ccs_cc_path *path)
{
	const double rate = ccs_cc_throughput(cc);

	ccs_cc_start(cc, spec, path);
	ccs_cc_set_rate(cc, rate);
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
