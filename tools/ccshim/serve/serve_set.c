/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes settings by running 'ccshim set', which checks them. */
#include "serve.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/program.h"

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

static int run_command(const char *ccshim, char *const *args, char **answer)
{
	size_t len = 0;
	FILE *f = open_memstream(answer, &len);
	const int status = f ? program_run(ccshim, args, -1, true, f) : -1;

	if (f && status < 0)
		fputs(strerror(errno), f);
	if (f)
		fclose(f);
	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
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
