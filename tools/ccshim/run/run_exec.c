/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes the command, or explains why that is not possible. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_exec.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/command/command.h"
#include "tools/ccshim/shared/preload.h"

static void explain(char *const *argv, int error)
{
	struct command *c = malloc(sizeof(*c));
	const char *remedy = NULL;
	char buf[PATH_MAX];
	struct stat st;

	if (error == EACCES && stat(*argv, &st) == 0 && S_ISDIR(st.st_mode))
		remedy = "it is a directory; give the path of a program";
	else if (error == EACCES && access(*argv, F_OK) == 0 && access(*argv, X_OK) != 0)
		remedy = "Permission denied; make it executable with chmod +x";
	if (remedy)
		tool_error("run", "%s: %s", *argv, remedy);
	else if (c && error == ENOENT && preload_which(*argv, buf, sizeof(buf)) && !command_follow(c, argv))
		tool_error("run", "%s; %s", c->problem, c->remedy);
	else
		tool_error("run", "%s: %s%s", *argv, strerror(error),
			   error == ENOENT && !strchr(*argv, '/') ? " in any directory of PATH" : "");
	free(c);
}

int run_exec(char **argv)
{
	int error;

	execvp(*argv, argv);
	error = errno;
	explain(argv, error);
	return error == ENOENT ? EXIT_NO_COMMAND : EXIT_NO_EXEC;
}
