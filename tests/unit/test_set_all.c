/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set --all, of processes whose owners do what they can to delay it. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/set_all.h"
#include "tools/ccshim/stat/stat.h"

/* One process of the caller. */
void stat_read(struct stat_snapshot *s, pid_t only)
{
	(void)only;
	*s = (struct stat_snapshot){ .process = calloc(1, sizeof(*s->process)), .count = 1 };
	s->process->h.pid = 4711;
	strcpy(s->process->h.program, "victim");
	s->process->owner = geteuid();
}

void stat_free(struct stat_snapshot *s)
{
	free(s->process);
}

int stat_open(const struct stat_process *p, int flags)
{
	(void)p;
	(void)flags;
	return -1;
}

static int stop(const struct stat_process *p, int file, void *arg)
{
	(void)p;
	(void)file;
	(void)arg;
	raise(SIGSTOP);
	return EXIT_OK;
}

static int answer(const struct stat_process *p, int file, void *arg)
{
	(void)p;
	(void)file;
	puts(arg);
	return EXIT_OK;
}

/* What set_all() prints, and its status. */
static char *call(set_sender *send, void *arg, double wait_s, int *status)
{
	static char text[4096];
	const int old = dup(STDOUT_FILENO);
	FILE *f = tmpfile();
	size_t n;

	assert_true(f && old >= 0);
	fflush(stdout);
	dup2(fileno(f), STDOUT_FILENO);
	*status = set_all(send, arg, wait_s);
	fflush(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void a_request_that_its_user_stops_does_not_delay_the_others(void **state)
{
	const char *text;
	int status;

	text = call(stop, NULL, 0.01, &status);
	assert_int_equal(status, EXIT_FAILED);
	assert_non_null(strstr(text, "4711 victim: the request took too long and was ended"));
}

static void answers_do_not_control_the_terminal(void **state)
{
	char forged[] = "one\033[2J\ntwo\rthree";
	const char *text;
	int status;

	text = call(answer, forged, 1e6, &status);
	assert_int_equal(status, EXIT_OK);
	assert_string_equal(text, "   4711 victim: one?[2J\n   4711 victim: two?three\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_that_its_user_stops_does_not_delay_the_others),
		cmocka_unit_test(answers_do_not_control_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
