/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim debug: executes the script ccshim-debug with the path of this program. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ccshim.h"
#include "preload.h"

#define SCRIPT "/ccshim-debug"

int cmd_debug(int argc, char **argv)
{
	char dir[PATH_MAX], script[PATH_MAX + 32], self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char **args = calloc((size_t)argc + 2, sizeof(*args));

	if (n < 0 || !args) {
		tool_error("debug", "%m");
		free(args);
		return EXIT_FAILED;
	}
	self[n] = '\0';
	if (preload_build_dir(dir, sizeof(dir)))
		snprintf(script, sizeof(script), "%stools/ccshim" SCRIPT, dir);
	else
		snprintf(script, sizeof(script), "%s" SCRIPT, CCS_PKGLIBEXECDIR);
	args[0] = script;
	args[1] = self;
	memcpy(args + 2, argv + 1, (size_t)argc * sizeof(*args)); /* with its NULL */
	execv(script, args);
	tool_error("debug", "%s: %m", script);
	free(args);
	return EXIT_FAILED;
}
