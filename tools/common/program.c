/* SPDX-License-Identifier: BSD-2-Clause */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0 or an errno. */
static int start(pid_t *pid, const char *file, char *const *argv, int in, bool errors, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, pipe;
	int error;

	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	if (errors)
		posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(pid, file, &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

int program_run(const char *file, char *const *argv, int in, bool errors, FILE *out)
{
	int end[2], status = 0, error;
	char part[65536];
	ssize_t n;
	pid_t pid;

	if (pipe2(end, O_CLOEXEC))
		return -1;
	error = start(&pid, file, argv, in, errors, end[1]);
	close(end[1]);
	while (!error && ((n = read(end[0], part, sizeof(part))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0 && out)
			fwrite(part, 1, (size_t)n, out);
	close(end[0]);
	while (!error && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = error;
	return error ? -1 : status;
}
