/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_RUN_H
#define CCS_TOOLS_RUN_H
/* A command under the library, for ccshim run and ccshim impair. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/options.h"
#include "tools/ccshim/command/command.h"
#include "tools/ccshim/shared/options.h"

/* Rows of a table of options that set the library's, by the environment; offset is of a struct
 * run_options. Only ccshim check has --fabric. */
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

struct run_adapt {
	const char *variables[4];       /* that were set; NULL: no more */
};

/*
 * Warn if the command may not be controlled. adapted: set the variables of UCX and Open MPI that make
 * it controlled; otherwise warn if they are needed. In both cases set ASAN_OPTIONS, if the program
 * needs it. c has no path if no program was found. Returns 0, or -1 after an error message.
 */
int run_adapt(struct run_adapt *a, const struct command *c, char *const *argv, bool adapted, bool quiet);

struct run {
	struct run_options options;
	struct run_adapt adapted;
	struct command command;
	bool dry, quiet, adapt;
	int verbose;
};

/* Rows of a table of options; offset is of a struct run. */
#define RUN_ROWS(offset) \
	RUN_OPTIONS((offset) + offsetof(struct run, options)), \
	{ "adapt", 0, OPTION_FLAG, .at = (offset) + offsetof(struct run, adapt) }, \
	{ "dry-run", 0, OPTION_FLAG, .at = (offset) + offsetof(struct run, dry) }, \
	{ "quiet", 'q', OPTION_CALL, .at = offset, .call = run_set_log_level }, \
	{ "verbose", 'v', OPTION_CALL, .at = offset, .call = run_set_log_level }

int run_set_log_level(const char *cmd, void *run, const struct option_row *row);

/* Execute the command, or print what would be set. Returns the exit status if it does not execute it. */
int run_command(struct run *run, char **argv);

#endif
