/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PATH_H
#define CCS_TOOLS_PATH_H
/* The options that describe a network path, as rows of a subcommand's table. */
#include <ccshim/cc.h>

#include "options.h"

/* The structure has the member path, a struct ccs_cc_path; effect: as `with` of a row. */
#define PATH_OPTIONS(structure, effect) \
	{ "line-rate", 0, OPTION_PARSE, offsetof(structure, path.line_rate), .call = path_parse, .with = effect }, \
	{ "base-rtt", 0, OPTION_PARSE, offsetof(structure, path.base_rtt_us), .call = path_parse, .with = effect }, \
	{ "rtt-jitter", 0, OPTION_PARSE, offsetof(structure, path.rtt_jitter_us), .call = path_parse, .with = effect }, \
	{ "segment", 0, OPTION_PARSE, offsetof(structure, path.segment), .call = path_parse, .with = effect }, \
	{ "flows", 0, OPTION_COUNT, offsetof(structure, path.flows), .first = 1, .last = 1000000, .with = effect }

/* Parse optarg as the configuration option of that name does; for a table of options. */
int path_parse(const char *cmd, void *value, const struct option_row *row);

#endif
