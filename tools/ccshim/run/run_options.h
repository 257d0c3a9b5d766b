/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_RUN_OPTIONS_H
#define CCS_TOOLS_RUN_OPTIONS_H
/* The options of ccshim run that set options of the library, by the environment. */
#include <limits.h>

#include "config/options.h"

#define RUN_OPTIONS "a:r:m:t:o:c:"
#define RUN_LONG_OPTIONS \
	{ "cc", required_argument, NULL, 'a' }, \
	{ "max-rate", required_argument, NULL, 'r' }, \
	{ "mode", required_argument, NULL, 'm' }, \
	{ "trace", required_argument, NULL, 't' }, \
	{ "option", required_argument, NULL, 'o' }, \
	{ "config", required_argument, NULL, 'c' }

struct run_options {
	struct ccs_options scratch;         /* to check each value */
	const char *value[CCS_OPT_MAX];     /* by option; NULL: not given here */
	char config[PATH_MAX], trace[PATH_MAX];
	char algorithm[PATH_MAX + 512];     /* a plug-in with its absolute path */
};

/*
 * The functions return 0, or -1 after a message of the subcommand cmd. A letter is one in
 * RUN_OPTIONS. getopt's optarg must remain valid and may be changed.
 */
int run_options_letter(struct run_options *o, const char *cmd, int letter);
int run_options_set(struct run_options *o, const char *cmd, const char *name, const char *value);
/* Set the variables, CCSHIM_CONFIG too. */
int run_options_export(const struct run_options *o, const char *cmd);
int run_set_variable(const char *cmd, const char *name, const char *value);

#endif
