/* SPDX-License-Identifier: BSD-2-Clause */
/* Subcommands that are separate programs: in libexec, or beside ccshim in the build tree. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ccshim.h"
#include "preload.h"
#include "tools/common/installed.h"

/* Execute it with the path of this program as its first argument. Returns after an error. */
static int execute(const char *name, int argc, char **argv)
{
	char dir[PATH_MAX], path[PATH_MAX + 32], self[PATH_MAX], moved[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char **args = calloc((size_t)argc + 2, sizeof(*args));

	if (n < 0 || !args) {
		tool_error(argv[0], "%m");
		free(args);
		return EXIT_FAILED;
	}
	self[n] = '\0';
	if (preload_build_dir(dir, sizeof(dir)))
		snprintf(path, sizeof(path), "%stools/ccshim/%s", dir, name);
	else
		snprintf(path, sizeof(path), "%s/%s",
			 installed_path(CCS_PKGLIBEXECDIR, moved, sizeof(moved)), name);
	args[0] = path;
	args[1] = self;
	memcpy(args + 2, argv + 1, (size_t)argc * sizeof(*args)); /* with its NULL */
	execv(path, args);
	tool_error(argv[0], "%s: %m", path);
	free(args);
	return EXIT_FAILED;
}

int cmd_debug(int argc, char **argv)
{
	return execute("ccshim-debug", argc, argv);
}

/* Its libraries would take longer to load than the other subcommands run. */
int cmd_serve(int argc, char **argv)
{
	return execute("ccshim-serve", argc, argv);
}
