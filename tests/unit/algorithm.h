/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_ALGORITHM_H
#define CCS_TESTS_ALGORITHM_H
/* Helpers of the tests of algorithms. Include cmocka.h first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc/cc.h"

#define RELATIVE 1e-9 /* tolerance for published traces */

/* Opens a file of tests/data. */
static inline FILE *data(const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/%s", getenv("top_srcdir"), name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s cannot be read", path);
	return f;
}

static inline struct ccs_cc_spec parse(const char *text)
{
	struct ccs_cc_spec spec = { 0 };
	char err[256] = "";

	if (ccs_cc_parse(&spec, text, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	return spec;
}

/* Only one exists at a time, with the latest spec. */
static inline void start(struct ccs_cc *cc, const char *text, const struct ccs_cc_path *path)
{
	static struct ccs_cc_spec spec;

	spec = parse(text);
	ccs_cc_start(cc, &spec, path);
}

static inline struct ccs_cc_obs observed(const struct ccs_cc *cc, const char *name)
{
	struct ccs_cc_obs obs[16];
	const unsigned n = cc->ops->observe(cc, obs, 16);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(obs[i].name, name) == 0)
			return obs[i];
	fail_msg("no observed value %s", name);
	return obs[0];
}

static inline double param(const struct ccs_cc *cc, const char *name)
{
	for (unsigned i = 0; i < cc->ops->nparams; i++)
		if (strcmp(cc->ops->params[i].name, name) == 0)
			return cc->param[i];
	fail_msg("no parameter %s", name);
	return 0;
}

static inline void check_close(const char *what, int step, double got, double want)
{
	if (!(fabs(got - want) <= RELATIVE * fmax(fabs(want), 1e-300)) && got != want)
		fail_msg("step %d: %s is %.17g, not %.17g", step, what, got, want);
}

#endif
