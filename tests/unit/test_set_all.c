/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set --all, of processes whose owners do what they can to delay it. */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#include "base/clock.h"
#include "observe/stats_dir.h"
#include "tools/common/seconds.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/set.h"
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

TEST(a_request_that_its_user_stops_does_not_delay_the_others)
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

TEST(answers_do_not_control_the_terminal)
{
	assert_int_equal(send_all(1, report_forged), EXIT_TIMEOUT);
	assert_string_equal(said, "4711 3 one?[2J\ntwo?three\n");
}

static void refuse(const struct set_request *request, const struct stat_process *const *p, size_t n, int out)
{
	fail_msg("sent to %d", (int)p[0]->h.pid);
}

TEST(nothing_is_sent_to_either_of_two_files)
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

/* -- a process that accepts the request and never answers, in virtual time --------------- */

static struct ccs_stats_header *accepting; /* NULL: real time */
static unsigned pauses;
static int results;

int stat_open(const struct stat_process *p, int flags)
{
	return open(p->file, flags | O_CLOEXEC);
}

double seconds_now(clockid_t clock)
{
	return accepting ? pauses / 500.0 : (double)ccs_clock_ns(clock) / 1e9;
}

/* Each pause is 2 ms. */
int nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!accepting)
		return (int)syscall(SYS_nanosleep, t, left);
	accepting->mailbox.request_gen += accepting->mailbox.request_gen & 1;
	if (++pauses < 5000)
		return 0;
	set_report(results, 0, EXIT_FAILED, "it waits longer than 10 s");
	_exit(0);
}

static void send_in_virtual_time(const struct set_request *request, const struct stat_process *const *p,
				 size_t n, int out)
{
	const int fd = open(p[0]->file, O_RDWR);

	results = out;
	accepting = mmap(NULL, sizeof(*accepting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	set_send(request, p, n, out);
}

static void accept_and_never_answer(double timeout_us)
{
	const struct set_request request = {
		.text = "all\nmode=off\n", .timeout_us = timeout_us, .stays = true,
	};
	struct ccs_stats_header h = {
		.magic = CCS_STATS_MAGIC, .major = CCS_STATS_MAJOR, .pid = (uint64_t)getpid(),
	};
	struct stat_snapshot s = processes(1);
	struct ccs_stats_identity id;
	struct stat st;
	int fd;

	assert_int_equal(ccs_stats_identify(getpid(), &id), 0);
	h.start_ticks = id.start_ticks;
	h.exec_mark = id.exec_mark;
	strcpy(process->file, "/tmp/ccshim-test-XXXXXX");
	fd = mkstemp(process->file);
	assert_int_equal(write(fd, &h, sizeof(h)), sizeof(h));
	assert_int_equal(fstat(fd, &st), 0);
	process->h.pid = h.pid;
	process->h.start_ticks = h.start_ticks;
	process->h.exec_mark = h.exec_mark;
	process->owner = st.st_uid;
	process->dev = st.st_dev;
	process->ino = st.st_ino;
	*said = '\0';
	assert_int_equal(set_all(&s, &request, send_in_virtual_time, print), EXIT_FAILED);
	assert_non_null(strstr(said, "accepted the request but has not answered within 2 s"));
	unlink(process->file);
	close(fd);
}

TEST(a_process_that_accepts_and_never_answers_does_not_delay_the_end)
{
	accept_and_never_answer(2e6);
}

/* Otherwise most of them would seem not to answer. */
TEST(processes_that_accept_have_2_s_to_answer)
{
	accept_and_never_answer(0);
}
