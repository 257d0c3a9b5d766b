/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/check_cc.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cc/cc.h"

static const struct ccs_cc_param *find_param(const struct ccs_cc_ops *ops, const char *name)
{
	for (unsigned i = 0; i < ops->nparams; i++)
		if (strcmp(ops->params[i].name, name) == 0)
			return &ops->params[i];
	return NULL;
}

static void hint_algorithm(const char *word, char *hint, size_t len)
{
	struct ccs_nearest near = ccs_nearest_to(word);

	for (unsigned i = 0; ccs_cc_all[i]; i++)
		ccs_nearest_offer(&near, ccs_cc_all[i]->name);
	if (near.best) {
		ccs_nearest_hint(&near, hint, len);
		return;
	}
	for (unsigned i = 0; ccs_cc_all[i]; i++) {
		const size_t at = strlen(hint);

		snprintf(hint + at, len - at, "%s%s", i ? ", " : "; there are ",
			 ccs_cc_all[i]->name);
	}
}

static void hint_choice(const struct ccs_cc_param *param, const char *word, char *hint, size_t len)
{
	for (unsigned i = 0; param->choices[i]; i++)
		if (strcmp(param->choices[i], word) == 0)
			return;
	for (unsigned i = 0; param->choices[i]; i++) {
		const size_t at = strlen(hint);

		snprintf(hint + at, len - at, "%s%s", i ? "|" : "; it is one of ",
			 param->choices[i]);
	}
}

/* For the first parameter that does not exist, or whose word does not. */
static void hint_param(const struct ccs_cc_ops *ops, char *items, char *hint, size_t len)
{
	char *item;

	while (!*hint && (item = strsep(&items, ","))) {
		char *value = strchr(item, '=');
		const struct ccs_cc_param *param;
		struct ccs_nearest near;

		if (!value)
			return;
		*value++ = '\0';
		param = find_param(ops, item);
		if (param && param->choices)
			hint_choice(param, value, hint, len);
		if (param)
			continue;
		near = ccs_nearest_to(item);
		for (unsigned i = 0; i < ops->nparams; i++)
			ccs_nearest_offer(&near, ops->params[i].name);
		ccs_nearest_hint(&near, hint, len);
		return;
	}
}

static void hint_for(const char *spec, char *hint, size_t len)
{
	char text[512], *items;
	const struct ccs_cc_ops *ops;

	*hint = '\0';
	if (snprintf(text, sizeof(text), "%s", spec) >= (int)sizeof(text))
		return;
	items = strchr(text, ':');
	if (items)
		*items++ = '\0';
	ops = ccs_cc_find(text);
	if (!ops)
		hint_algorithm(text, hint, len);
	else if (items)
		hint_param(ops, items, hint, len);
}

/* The name with `from` in it replaced, if that is a parameter too: min_rate, max_rate. */
static int partner(const struct ccs_cc_ops *ops, const char *name, const char *from, const char *to)
{
	const char *at = strstr(name, from);
	char other[64];
	const struct ccs_cc_param *param;

	if (!at)
		return -1;
	snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - name), name, to, at + strlen(from));
	param = find_param(ops, other);
	return param ? (int)(param - ops->params) : -1;
}

/* A given floor above its given ceiling is a slip too, whichever algorithm it is. */
static int check_pairs(const struct ccs_cc_spec *cc, char *err, size_t errlen)
{
	static const char *const pairs[][2] = { { "min", "max" }, { "low", "high" } };

	for (unsigned i = 0; i < cc->ops->nparams; i++)
		for (unsigned k = 0; k < sizeof(pairs) / sizeof(*pairs); k++) {
			const char *name = cc->ops->params[i].name;
			const int j = partner(cc->ops, name, pairs[k][0], pairs[k][1]);

			if (j < 0 || !(cc->given[i] > cc->given[j]))
				continue;
			snprintf(err, errlen, "%s of %s is above %s", name, cc->ops->name,
				 cc->ops->params[j].name);
			return -1;
		}
	return 0;
}

int ccs_check_cc(const char *spec, char *err, size_t errlen)
{
	char hint[160];
	struct ccs_cc_spec cc;
	size_t len;

	if (ccs_cc_parse(&cc, spec, err, errlen) == 0)
		return check_pairs(&cc, err, errlen);
	hint_for(spec, hint, sizeof(hint));
	len = strlen(err);
	snprintf(err + len, errlen - len, "%s", hint);
	return -1;
}
