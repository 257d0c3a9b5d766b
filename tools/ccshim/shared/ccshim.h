/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIM_H
#define CCS_TOOLS_CCSHIM_H
/* Declarations that the subcommands share, and the entry point of each. */
#include <stdbool.h>
#include <stdio.h>

#include "config/options.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,         /* a wrong option, value or configuration */
	EXIT_ERROR = 125,       /* run: ccshim itself failed; these three are as in env(1) */
	EXIT_NO_EXEC = 126,
	EXIT_NO_COMMAND = 127,
};

int cmd_run(int argc, char **argv);
int cmd_impair(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_debug(int argc, char **argv);

/* Print "ccshim CMD: text" to stderr. */
void tool_error(const char *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a wrong value, as an expression that is EXIT_USAGE. */
#define tool_refuse(...) (tool_error(__VA_ARGS__), EXIT_USAGE)

/* Print how to get help; returns EXIT_USAGE. */
int tool_usage_error(const char *cmd);
/* Both. */
#define tool_refuse_usage(cmd, ...) (tool_error(cmd, __VA_ARGS__), tool_usage_error(cmd))

/* Check that the algorithm of the options can be run; prints the error. 0 or 1. */
int tool_check_cc(const char *cmd, const struct ccs_options *o);

/* For ccs_options_load_as(): arg is the subcommand's name. */
void tool_complain(void *arg, const char *sentence);

#endif
