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

enum { USERS = 300 };                    /* more than children at once */

static struct stat_process process[USERS];
static char said[USERS * 256];
static char forged[] = "one\033[2J\ntwo\rthree";

/* One process of each of n users; the first has the lowest ID. */
static struct stat_snapshot processes(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		process[i] = (struct stat_process){ .party = n - i, .file = "/tmp/file" };
		process[i].h.pid = 4711 + i;
		strcpy(process[i].h.program, "victim");
	}
	return (struct stat_snapshot){ .process = process, .count = n };
}

static void print(const struct stat_process *p, int status, char *text)
{
	sprintf(said + strlen(said), "%d %d %s\n", (int)p->h.pid, status, text);
}

static int send_all(size_t n, set_sender *send)
{
	const struct set_request request = { .timeout_us = 1 };
	struct stat_snapshot s = processes(n);

	*said = '\0';
	return set_all(&s, &request, send, print);
}

/* The user of the first process has stopped the sender, or its file does not respond. */
static void stop_first(const struct set_request *request, const struct stat_process *const *p,
		       size_t n, int out)
{
	assert_int_equal(n, 1);
	if (p[0] == process)
		raise(SIGSTOP);
	set_report(out, 0, 0, NULL);
	set_report(out, 0, EXIT_OK, "done");
}

static void a_request_that_its_user_stops_does_not_delay_the_others(void **state)
{
	assert_int_equal(send_all(USERS, stop_first), EXIT_FAILED);
	assert_non_null(strstr(said, "4711 1 not reached: the request took too long and was ended"));
	for (unsigned i = 1; i < USERS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "\n%u 0 done\n", 4711 + i);
		assert_non_null(strstr(said, line));
	}
}

static void report_forged(const struct set_request *request, const struct stat_process *const *p,
			  size_t n, int out)
{
	set_report(out, 0, EXIT_TIMEOUT, "%s", forged);
	set_report(out, 0, EXIT_OK, "twice");
	set_report(out, n, EXIT_OK, "another's");
}

static void answers_do_not_control_the_terminal(void **state)
{
	assert_int_equal(send_all(1, report_forged), EXIT_TIMEOUT);
	assert_string_equal(said, "4711 3 one?[2J\ntwo?three\n");
}

static void refuse(const struct set_request *request, const struct stat_process *const *p, size_t n, int out)
{
	fail_msg("sent to %d", (int)p[0]->h.pid);
}

static void nothing_is_sent_to_either_of_two_files(void **state)
{
	const struct set_request request = { .timeout_us = 1 };
	struct stat_snapshot s = processes(1);

	*said = '\0';
	process->ambiguous = true;
	strcpy(process->other_file, "/tmp/forged");
	assert_int_equal(set_all(&s, &request, refuse, print), EXIT_FAILED);
	assert_string_equal(said, "4711 1 not sent: two files claim to be its statistics, /tmp/file and "
			    "/tmp/forged; remove the wrong one\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_that_its_user_stops_does_not_delay_the_others),
		cmocka_unit_test(answers_do_not_control_the_terminal),
		cmocka_unit_test(nothing_is_sent_to_either_of_two_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
