/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIM_H
#define CCS_TOOLS_CCSHIM_H
/* What the subcommands share. Each is one file with one entry here. */
#include <stdio.h>

#include "runtime/options.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,         /* a wrong option, value or configuration */
	EXIT_ERROR = 125,       /* run: ccshim itself failed; these three as env(1) */
	EXIT_NO_EXEC = 126,
	EXIT_NO_COMMAND = 127,
};

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_debug(int argc, char **argv);

/* "ccshim CMD: text" to stderr. */
void tool_error(const char *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says where help is; gives EXIT_USAGE. */
int tool_usage_error(const char *cmd);

/* Whether the algorithm in force can be run; complains if not. 0 or 1. */
int tool_check_cc(const char *cmd, const struct ccs_options *o);

/* For ccs_options_load(): arg is the subcommand's name. */
void tool_complain(void *arg, const char *sentence);

#endif
