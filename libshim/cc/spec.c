/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of "NAME:param=value,...", the text that selects an algorithm. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "cc/cc.h"

bool ccs_cc_is_auto(const char *text)
{
	return strlen(CCS_CC_AUTO) == strcspn(text, ":") &&
	       strncmp(text, CCS_CC_AUTO, strlen(CCS_CC_AUTO)) == 0;
}

#define TEXT_LEN 512
#define TOO_LONG "the algorithm's text is longer than %d bytes", TEXT_LEN - 1

static int refuse_choice(const struct ccs_cc_param *param, const char *text, char *err, size_t len)
{
	ccs_refuse(err, len, "'%s' is no %s", text, param->name);
	for (unsigned i = 0; param->choices[i]; i++)
		ccs_append(err, len, "%s%s", i ? "|" : "; it is one of ", param->choices[i]);
	return -1;
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
		return refuse_choice(param, text, err, len);
	}
	if (ccs_parse_unit(text, ccs_unit_named(param->unit), value))
		return ccs_refuse(err, len, "'%s' is not a value for %s%s%s; allowed: %g to %g", text,
				  param->name, *param->unit ? " in " : "", param->unit, param->min,
				  param->max);
	if (*value < param->min || *value > param->max)
		return ccs_refuse(err, len, "%s=%s is outside %g to %g%s%s", param->name, text,
				  param->min, param->max, *param->unit ? " " : "", param->unit);
	return 0;
}

void ccs_cc_offer_params(struct ccs_suggestion *near, const struct ccs_cc_ops *ops)
{
	for (unsigned i = 0; i < ops->nparams; i++)
		ccs_suggest_offer(near, ops->params[i].name);
}

static int refuse_param(const struct ccs_cc_ops *ops, const char *name, char *err, size_t len)
{
	struct ccs_suggestion near = ccs_suggest_for(name);
	char hint[96];

	ccs_cc_offer_params(&near, ops);
	return ccs_refuse(err, len, "algorithm %s has no parameter '%s'%s", ops->name, name,
			  ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static int parse_param(const struct ccs_cc_ops *ops, char *item, double *given,
		       char *err, size_t len)
{
	char *eq = strchr(item, '=');
	int i;

	if (!eq)
		return ccs_refuse(err, len, "'%s' is not param=value", item);
	*eq = '\0';
	i = ccs_cc_find_param(ops, item);
	if (i < 0)
		return refuse_param(ops, item, err, len);
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
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789_-";
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
		return ccs_refuse(err, errlen, TOO_LONG);
	strcpy(copy, text + !!*text);
	while ((item = strsep(&rest, ",")))
		if (parse_param(ops, item, new.given, err, errlen))
			return -1;
	*spec = new;
	return 0;
}

static int refuse_name(const char *name, char *err, size_t len)
{
	struct ccs_suggestion near = ccs_suggest_for(name);
	char hint[96];

	for (unsigned i = 0; ccs_cc_all[i]; i++)
		ccs_suggest_offer(&near, ccs_cc_all[i]->name);
	ccs_suggest_offer(&near, CCS_CC_AUTO);
	ccs_refuse(err, len, "there is no algorithm '%s'%s", name,
		   near.best ? ccs_suggest_hint(&near, hint, sizeof(hint)) : "; there are " CCS_CC_AUTO);
	for (unsigned i = 0; ccs_cc_all[i] && !near.best; i++)
		ccs_append(err, len, ", %s", ccs_cc_all[i]->name);
	return -1;
}

int ccs_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen)
{
	const size_t len = ccs_cc_name_len(text);
	const struct ccs_cc_ops *ops;
	char name[TEXT_LEN];

	if (len >= sizeof(name))
		return ccs_refuse(err, errlen, TOO_LONG);
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	ops = ccs_cc_find(name);
	if (!ops)
		return refuse_name(name, err, errlen);
	return ccs_cc_parse_params(spec, ops, text + len, err, errlen);
}

bool ccs_cc_set_default_choice(struct ccs_cc_spec *spec, const char *param, const char *choice)
{
	const int i = ccs_cc_find_param(spec->ops, param);
	char err[128];

	return i >= 0 && spec->ops->params[i].choices && isnan(spec->given[i]) &&
	       !parse_value(&spec->ops->params[i], choice, &spec->given[i], err, sizeof(err));
}
