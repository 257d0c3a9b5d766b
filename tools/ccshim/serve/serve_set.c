/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes settings by running 'ccshim set', which checks them. */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/ccshim/ccshim.h"

enum { ARGS = 80 };

/* All other requests wait for this one. */
#define TIMEOUT "1s"

/* False: there are too many settings. */
static bool make_args(char *args[ARGS], const char *pid, const char *lqpn, char *settings)
{
	unsigned n = 0;

	args[n++] = (char *)"ccshim";
	args[n++] = (char *)"set";
	args[n++] = (char *)"--timeout";
	args[n++] = (char *)TIMEOUT;
	args[n++] = (char *)"-p";
	args[n++] = (char *)pid;
	if (lqpn) {
		args[n++] = (char *)"--qp";
		args[n++] = (char *)lqpn;
	}
	args[n++] = (char *)"--";
	for (char *rest = settings, *word; (word = strtok_r(rest, " \t\r\n", &rest));) {
		if (n == ARGS - 1)
			return false;
		args[n++] = word;
	}
	args[n] = NULL;
	return true;
}

/* 0 or an errno. The child has no signals blocked and ignored. */
static int start_command(pid_t *pid, const char *ccshim, char *const *args, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, pipe;
	int error;

	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn(pid, ccshim, &files, &attr, args, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

static char *read_all(int fd)
{
	char part[1024], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && f)
			fwrite(part, 1, (size_t)n, f);
	if (f)
		fclose(f);
	return text;
}

static int run_command(const char *ccshim, char *const *args, char **answer)
{
	int end[2], status = 0, error;
	pid_t pid;

	if (pipe2(end, O_CLOEXEC))
		return EXIT_FAILED;
	error = start_command(&pid, ccshim, args, end[1]);
	close(end[1]);
	if (error)
		*answer = strdup(strerror(error));
	else
		*answer = read_all(end[0]);
	close(end[0]);
	if (error || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return EXIT_FAILED;
	return WEXITSTATUS(status);
}

int serve_set(const struct serve *s, const char *pid, const char *lqpn, char *settings, char **answer)
{
	char *args[ARGS];

	*answer = NULL;
	if (make_args(args, pid, lqpn, settings))
		return run_command(s->ccshim, args, answer);
	*answer = strdup("too many settings; set fewer at once\n");
	return EXIT_USAGE;
}
