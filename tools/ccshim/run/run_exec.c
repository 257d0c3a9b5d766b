/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes the command, or explains why that is not possible. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf.h"
#include "run_exec.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/command/command.h"
#include "tools/ccshim/shared/preload.h"

/* The file exists: what it needs does not, the dynamic linker or a script's interpreter. */
static void explain_missing_interpreter(char *const *argv, const char *path)
{
	struct command *c = malloc(sizeof(*c));
	const char *linker;
	struct ccs_elf e;

	if (ccs_elf_open(&e, path) == 0) {
		linker = ccs_elf_interpreter(&e);
		tool_error("run", "%s: its dynamic linker %s does not exist; install the C library that it "
			   "was built for", path, linker ? linker : "");
		ccs_elf_close(&e);
	} else if (c && !command_follow(c, argv)) {
		tool_error("run", "%s; correct its first line, or install the interpreter", c->problem);
	} else {
		tool_error("run", "%s: %s", path, strerror(ENOENT));
	}
	free(c);
}

static void explain(char *const *argv, int error)
{
	char buf[PATH_MAX];
	const char *path = preload_which(*argv, buf, sizeof(buf));
	struct stat st;

	if (error == ENOENT && path)
		explain_missing_interpreter(argv, path);
	else if (error == ENOENT && !strchr(*argv, '/'))
		tool_error("run", "%s: %s in any directory of PATH", *argv, strerror(error));
	else if (error == EACCES && stat(*argv, &st) == 0 && S_ISDIR(st.st_mode))
		tool_error("run", "%s: it is a directory; give the path of a program", *argv);
	else if (error == EACCES && stat(*argv, &st) == 0 && access(*argv, X_OK) != 0)
		tool_error("run", "%s: %s; make it executable with chmod +x", *argv, strerror(error));
	else
		tool_error("run", "%s: %s", *argv, strerror(error));
}

int run_exec(char **argv)
{
	int error;

	execvp(*argv, argv);
	error = errno;
	explain(argv, error);
	return error == ENOENT ? EXIT_NO_COMMAND : EXIT_NO_EXEC;
}
