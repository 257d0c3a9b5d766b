/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/check_cc.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "config/plugin.h"

void ccs_offer_params(struct ccs_suggestion *near, const struct ccs_cc_ops *ops)
{
	for (unsigned i = 0; i < ops->nparams; i++)
		ccs_suggest_offer(near, ops->params[i].name);
}

static void hint_algorithm(const char *word, char *hint, size_t len)
{
	struct ccs_suggestion near = ccs_suggest_for(word);

	for (unsigned i = 0; ccs_cc_all[i]; i++)
		ccs_suggest_offer(&near, ccs_cc_all[i]->name);
	ccs_suggest_offer(&near, CCS_CC_AUTO);
	if (near.best) {
		ccs_suggest_hint(&near, hint, len);
		return;
	}
	snprintf(hint, len, "; there are " CCS_CC_AUTO);
	for (unsigned i = 0; ccs_cc_all[i]; i++)
		ccs_append(hint, len, ", %s", ccs_cc_all[i]->name);
}

static void hint_choice(const struct ccs_cc_param *param, const char *word, char *hint, size_t len)
{
	for (unsigned i = 0; param->choices[i]; i++)
		if (strcmp(param->choices[i], word) == 0)
			return;
	for (unsigned i = 0; param->choices[i]; i++)
		ccs_append(hint, len, "%s%s", i ? "|" : "; it is one of ", param->choices[i]);
}

/* Write a hint for the first item with an unknown parameter or an unknown choice. */
static void hint_param(const struct ccs_cc_ops *ops, char *items, char *hint, size_t len)
{
	char *item;

	while (!*hint && (item = strsep(&items, ","))) {
		char *value = strchr(item, '=');
		struct ccs_suggestion near;
		int i;

		if (!value)
			return;
		*value++ = '\0';
		i = ccs_cc_find_param(ops, item);
		if (i >= 0 && ops->params[i].choices)
			hint_choice(&ops->params[i], value, hint, len);
		if (i >= 0)
			continue;
		near = ccs_suggest_for(item);
		ccs_offer_params(&near, ops);
		ccs_suggest_hint(&near, hint, len);
		return;
	}
}

/* params is the text after the name. Not inlined: a thread that parses may have a small stack. */
static __attribute__((noinline)) void
hint_params(const struct ccs_cc_ops *ops, const char *params, char *hint, size_t len)
{
	char items[512];

	if (*params && snprintf(items, sizeof(items), "%s", params + 1) < (int)sizeof(items))
		hint_param(ops, items, hint, len);
}

/* The index of the parameter whose name has `to` in place of `from` (min_rate, max_rate); -1
 * if it does not exist. */
static int find_partner(const struct ccs_cc_ops *ops, const char *name, const char *from, const char *to)
{
	const char *at = strstr(name, from);
	char other[64];

	if (!at)
		return -1;
	snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - name), name, to, at + strlen(from));
	return ccs_cc_find_param(ops, other);
}

/* A given minimum above its given maximum is a mistake for every algorithm. */
static int check_pairs(const struct ccs_cc_spec *cc, char *err, size_t errlen)
{
	static const char *const pairs[][2] = { { "min", "max" }, { "low", "high" } };

	for (unsigned i = 0; i < cc->ops->nparams; i++)
		for (unsigned k = 0; k < sizeof(pairs) / sizeof(*pairs); k++) {
			const char *name = cc->ops->params[i].name;
			const int j = find_partner(cc->ops, name, pairs[k][0], pairs[k][1]);

			if (j >= 0 && cc->given[i] > cc->given[j])
				return ccs_refuse(err, errlen, "%s of %s is above %s; lower it",
						  name, cc->ops->name, cc->ops->params[j].name);
		}
	return 0;
}

/* Its name is the first len bytes of the text. */
static __attribute__((noinline)) const struct ccs_cc_ops *
find_algorithm(const char *text, size_t len, char *err, size_t errlen)
{
	const struct ccs_cc_ops *ops;
	char name[512], hint[160] = "";

	if (snprintf(name, sizeof(name), "%.*s", (int)len, text) >= (int)sizeof(name)) {
		snprintf(err, errlen, "the algorithm's name is longer than %zu bytes",
			 sizeof(name) - 1);
		return NULL;
	}
	if (ccs_cc_is_path(name))
		return ccs_plugin_load(name, err, errlen);
	ops = ccs_cc_find(name);
	if (!ops) {
		hint_algorithm(name, hint, sizeof(hint));
		snprintf(err, errlen, "there is no algorithm '%s'%s", name, hint);
	}
	return ops;
}

int ccs_spec_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen)
{
	const size_t len = ccs_cc_name_len(text);
	const struct ccs_cc_ops *ops;
	struct ccs_cc_spec new;
	char hint[160] = "";

	ops = find_algorithm(text, len, err, errlen);
	if (!ops)
		return -1;
	if (ccs_cc_parse_params(&new, ops, text + len, err, errlen)) {
		hint_params(ops, text + len, hint, sizeof(hint));
		ccs_append(err, errlen, "%s", hint);
		return -1;
	}
	if (check_pairs(&new, err, errlen))
		return -1;
	*spec = new;
	return 0;
}

int ccs_check_cc(const char *text, char *err, size_t errlen)
{
	struct ccs_cc_spec spec;

	return ccs_cc_is_path(text) ? 0 : ccs_spec_parse(&spec, text, err, errlen);
}
