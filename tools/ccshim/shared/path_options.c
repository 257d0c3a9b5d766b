/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the options that describe a network path. */
#include "path_options.h"

#include "ccshim.h"

/* Parse optarg as the configuration option of that name does. */
static int parse_as_option(const char *cmd, const char *name, double *value)
{
	const struct ccs_opt *opt = ccs_opt_find(name);
	struct ccs_options o;
	char err[512];

	ccs_options_default(&o);
	if (ccs_options_set(&o, name, optarg, err, sizeof(err))) {
		tool_error(cmd, "%s", err);
		return EXIT_USAGE;
	}
	if (*(double *)((char *)&o + opt->offset) > 0) /* 0 is auto: keep *value */
		*value = *(double *)((char *)&o + opt->offset);
	return 0;
}

static int parse_flows(const char *cmd, unsigned *flows)
{
	unsigned long value;

	if (!tool_parse_count(cmd, "--flows", optarg, 1, 1000000, &value))
		return EXIT_USAGE;
	*flows = (unsigned)value;
	return 0;
}

int path_parse(const char *cmd, int letter, struct ccs_cc_path *path)
{
	switch (letter) {
	case PATH_LINE_RATE: return parse_as_option(cmd, "line_rate", &path->line_rate);
	case PATH_BASE_RTT: return parse_as_option(cmd, "base_rtt", &path->base_rtt_us);
	case PATH_RTT_JITTER: return parse_as_option(cmd, "rtt_jitter", &path->rtt_jitter_us);
	case PATH_SEGMENT: return parse_as_option(cmd, "segment", &path->segment);
	case PATH_FLOWS: return parse_flows(cmd, &path->flows);
	default: return tool_usage_error(cmd);
	}
}
