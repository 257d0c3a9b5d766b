/* SPDX-License-Identifier: BSD-2-Clause */
/* Subcommands that are separate programs: in libexec, or beside ccshim in the build tree. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/filename.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/preload.h"
#include "tools/common/next_option.h"

/* Execute it with the path of this program as its first argument. Returns after an error. */
static int execute(const char *name, int argc, char **argv)
{
	char path[PATH_MAX + 32], self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char **args = calloc((size_t)argc + 2, sizeof(*args));

	if (n < 0 || !args) {
		tool_error(argv[0], "%m");
		free(args);
		return EXIT_FAILED;
	}
	self[n] = '\0';
	preload_libexec(name, path, sizeof(path));
	args[0] = path;
	args[1] = self;
	memcpy(args + 2, argv + 1, (size_t)argc * sizeof(*args)); /* with its NULL */
	execv(path, args);
	if (errno == ENOENT)
		tool_error(argv[0], "%s is not installed (Debian: the package ccshim-%s)", path,
			   strcmp(argv[0], "lab") ? "utils" : argv[0]);
	else
		tool_error(argv[0], "%s: %m", path);
	free(args);
	return EXIT_FAILED;
}

/* For the script, which cannot open a file without following links. */
static int copy_file(const char *path)
{
	const int fd = ccs_open_path(path, O_RDONLY);
	char buf[65536];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		tool_error("debug", "%s: %s", path, fd < 0 && errno != EPERM ? strerror(errno) : fd < 0 ?
			   "not read through a symbolic link of another user" : "not a regular file");
		return EXIT_FAILED;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n)
			break;
	close(fd);
	return n ? EXIT_FAILED : EXIT_OK;
}

int cmd_debug(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--copy") == 0)
		return copy_file(argv[2]);
	return execute("ccshim-debug", argc, argv);
}

/* Its libraries would take longer to load than the other subcommands run. */
int cmd_serve(int argc, char **argv)
{
	return execute("ccshim-serve", argc, argv);
}

/* The lab's scripts; in the build tree, "lab" is a link to their folder. */
int cmd_lab(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return print_version("ccshim");
	return execute("lab/lab", argc, argv);
}
