/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/check_cc.h"

#include <stdio.h>

#include "base/text.h"
#include "config/plugin.h"

/* Not inlined: a thread that parses may have a small stack. */
static __attribute__((noinline)) const struct ccs_cc_ops *
load_plugin(const char *text, size_t len, char *err, size_t errlen)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%.*s", (int)len, text) < (int)sizeof(path))
		return ccs_plugin_load(path, err, errlen);
	ccs_refuse(err, errlen, "the algorithm's name is longer than %zu bytes", sizeof(path) - 1);
	return NULL;
}

int ccs_spec_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen)
{
	const size_t len = ccs_cc_name_len(text);
	const struct ccs_cc_ops *ops;

	if (!ccs_cc_is_path(text))
		return ccs_cc_parse(spec, text, err, errlen);
	ops = load_plugin(text, len, err, errlen);
	return ops ? ccs_cc_parse_params(spec, ops, text + len, err, errlen) : -1;
}

int ccs_check_cc(const char *text, char *err, size_t errlen)
{
	struct ccs_cc_spec spec;

	return ccs_cc_is_path(text) ? 0 : ccs_cc_parse(&spec, text, err, errlen);
}
