/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_RUN_H
#define CCS_TOOLS_RUN_H
/* A command under the library, for ccshim run and ccshim impair. */
#include <stdbool.h>
#include <stddef.h>

#include "run_adapt.h"
#include "run_options.h"

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
