/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of these algorithms, with their drivers, and the parser of their names. */
#include "baselines.h"

#include "base/suggest.h"
#include "priv.h"

static const struct {
	const struct ccs_cc_ops *ops;
	const struct driver *driver;
} baseline[] = {
	{ &fab_reno, &tcp_driver }, { &fab_dctcp, &tcp_driver },
	{ &fab_eqds, &credit_driver }, { &fab_nscc, &nscc_driver },
};

enum { BASELINES = sizeof(baseline) / sizeof(baseline[0]) };

const struct driver *fab_baseline(const struct ccs_cc_spec *spec)
{
	for (unsigned i = 0; i < BASELINES; i++)
		if (spec->ops == baseline[i].ops)
			return baseline[i].driver;
	return NULL;
}

/* The name of the i-th algorithm, or NULL after the last. */
static const char *known_name(unsigned i)
{
	if (i < BASELINES)
		return baseline[i].ops->name;
	return i == BASELINES ? CCS_CC_AUTO : ccs_cc_all[i - BASELINES - 1]
					    ? ccs_cc_all[i - BASELINES - 1]->name : NULL;
}

static bool refuse_unknown(const char *word, char *err, size_t len)
{
	struct ccs_suggestion near = ccs_suggest_for(word);
	char hint[96];
	int at;

	for (unsigned i = 0; known_name(i); i++)
		ccs_suggest_offer(&near, known_name(i));
	at = snprintf(err, len, "there is no algorithm '%s'%s", word,
		      near.best ? ccs_suggest_hint(&near, hint, sizeof(hint)) : "; there are");
	for (unsigned i = 0; !near.best && known_name(i) && (size_t)at < len; i++)
		at += snprintf(err + at, len - (size_t)at, "%s %s", i ? "," : "", known_name(i));
	return false;
}

bool fab_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t len)
{
	const size_t name = ccs_cc_name_len(text);
	char word[32];

	for (unsigned i = 0; i < BASELINES; i++) {
		const struct ccs_cc_ops *ops = baseline[i].ops;

		if (strlen(ops->name) == name && strncmp(ops->name, text, name) == 0)
			return ccs_cc_parse_params(spec, ops, text + name, err, len) == 0;
	}
	snprintf(word, sizeof(word), "%.*s", (int)name, text);
	if (name < sizeof(word) && !ccs_cc_find(word))
		return refuse_unknown(word, err, len);
	return ccs_cc_parse(spec, text, err, len) == 0;
}
