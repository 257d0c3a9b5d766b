/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the options that describe a network path. */
#include "path_options.h"

#include <getopt.h>
#include <string.h>

#include "ccshim.h"

int path_parse(const char *cmd, void *value, const struct option_row *row)
{
	struct ccs_options o;
	char err[512], name[32];
	const double *parsed;

	snprintf(name, sizeof(name), "%s", row->name);
	for (char *dash = name; (dash = strchr(dash, '-'));)
		*dash = '_';
	parsed = (const double *)(void *)((char *)&o + ccs_opt_find(name)->offset);
	ccs_options_default(&o);
	if (ccs_options_set(&o, name, optarg, err, sizeof(err)))
		return tool_refuse(cmd, "%s", err);
	if (*parsed > 0) /* 0 is auto: keep the value */
		*(double *)value = *parsed;
	return 0;
}
