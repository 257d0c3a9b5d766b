/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_RUN_OPTIONS_H
#define CCS_TOOLS_RUN_OPTIONS_H
/* The options of ccshim run that set options of the library, by the environment. */
#include <limits.h>

#include "config/options.h"
#include "tools/ccshim/shared/options.h"

/* Rows of a table of options; offset is of a struct run_options. Only ccshim check has --fabric. */
#define RUN_OPTIONS(offset) \
	{ "cc", 'a', OPTION_PARSE, .at = offset, .call = run_options_parse, .with = "!fabric" }, \
	{ "max-rate", 'r', OPTION_PARSE, .at = offset, .call = run_options_parse, .with = "!fabric" }, \
	{ "mode", 'm', OPTION_PARSE, .at = offset, .call = run_options_parse, .with = "!fabric" }, \
	{ "trace", 't', OPTION_PARSE, .at = offset, .call = run_options_parse, .with = "!fabric" }, \
	{ "option", 'o', OPTION_PARSE, .at = offset, .call = run_options_parse, .with = "!fabric" }, \
	{ "config", 'c', OPTION_PARSE, .at = offset, .call = run_options_parse, .with = "!fabric" }

struct run_options {
	struct ccs_options scratch;         /* to check each value */
	const char *value[CCS_OPT_MAX];     /* by option; NULL: not given here */
	char config[PATH_MAX], trace[PATH_MAX];
	char algorithm[PATH_MAX + 512];     /* a plug-in with its absolute path */
};

/* For RUN_OPTIONS. getopt's optarg must remain valid and may be changed. */
int run_options_parse(const char *cmd, void *options, const struct option_row *row);
/* Returns 0, or EXIT_USAGE after a message of the subcommand cmd. */
int run_options_set(struct run_options *o, const char *cmd, const char *name, const char *value);
/* NULL if the option was not set. */
const char *run_options_value(const struct run_options *o, const char *name);

/* Set the variables, CCSHIM_CONFIG too. They return 0, or -1 after a message. */
int run_options_export(const struct run_options *o, const char *cmd);
int run_set_variable(const char *cmd, const char *name, const char *value);

#endif
