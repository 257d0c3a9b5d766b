/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_RUN_ADAPT_H
#define CCS_TOOLS_RUN_ADAPT_H
/* Communication libraries that would bypass the shim, and launchers that would not pass it on. */
#include "tools/ccshim/command/command.h"

struct run_adapt {
	const char *variables[4];       /* that were set; NULL: no more */
};

/*
 * Warn if the command may not be controlled. adapted: set the variables of UCX and Open MPI that make
 * it controlled; otherwise warn if they are needed. In both cases set ASAN_OPTIONS, if the program
 * needs it. c has no path if no program was found. Returns 0, or -1 after an error message.
 */
int run_adapt(struct run_adapt *a, const struct command *c, char *const *argv, bool adapted, bool quiet);

#endif
