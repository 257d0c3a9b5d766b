/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace's ring and thread: with several writers each row is complete and in
 * the order of its flow, and dropped rows are counted.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/trace.h"

enum { WRITERS = 4, EACH = 20000 };

static char path[] = "/tmp/ccshim-test-trace.XXXXXX";

static bool nfs, slept;

/* NFS refuses locks that the mode of the file does not permit, as in flock(2). */
int flock(int fd, int operation)
{
	const int mode = fcntl(fd, F_GETFL) & O_ACCMODE;

	if (!nfs || mode != (operation & LOCK_EX ? O_RDONLY : O_WRONLY))
		return (int)syscall(SYS_flock, fd, operation);
	errno = EBADF;
	return -1;
}

/* Note whether the application's thread waits. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
	slept |= gettid() == getpid();
	return (int)syscall(SYS_nanosleep, time, rest);
}

static void *write_events(void *arg)
{
	const uint32_t qp = (uint32_t)(size_t)arg;

	for (unsigned i = 0; i < EACH; i++) {
		const struct ccs_cc_event event = {
			.kind = CCS_CC_EVENT_SEND,
			.ack = { .now_us = i, .bytes = 1000 * qp + i % 7 },
			.out = { .rate = 1e9 + i, .window = qp },
			.origin_ns = 5000000000,
		};

		ccs_trace_put(qp, &ccs_cc_none, &event);
		if (i % 500 == 0) /* let the thread catch up */
			usleep(200);
	}
	return NULL;
}

struct read {
	int last[WRITERS + 1];
	unsigned rows, heads, comments;
	unsigned long lost;
};

static void read_row(struct read *r, const char *line)
{
	unsigned long lost;
	double t, bytes, rate, window, clock;
	unsigned qp;
	char want[64];
	int pid;

	snprintf(want, sizeof(want), "# QP 1 sends to 10.1.2.3 (process %d)\n", (int)getpid());
	if (sscanf(line, "# %lu events are lost", &lost) == 1) {
		r->lost += lost;
	} else if (strncmp(line, "# QP ", 5) == 0) {
		assert_string_equal(line, want);
		r->comments++;
	} else if (*line == '#') {
		r->comments++;
	} else if (strncmp(line, "t_us,", 5) == 0) {
		assert_string_equal(line, CCS_TRACE_HEADER);
		r->heads++;
	} else {
		if (sscanf(line, "%lf,send,%u,,%lf,,,,,,,,,,,%lf,%lf,%lf,%d\n", &t, &qp, &bytes,
			   &rate, &window, &clock, &pid) != 7)
			fail_msg("no row: %s", line);
		assert_int_equal(pid, getpid());
		assert_in_range(qp, 1, WRITERS);
		assert_true(t > r->last[qp] && t < EACH);
		assert_true(bytes == 1000 * qp + (unsigned)t % 7 && rate == 1e9 + t && window == qp);
		assert_true(clock == 5e6 + t);
		r->last[qp] = (int)t;
		r->rows++;
	}
}

/* Another process may write to the same file before this one has an event. */
static void check_header_is_written(void)
{
	char text[sizeof(CCS_TRACE_HEADER) + 16] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_string_equal(text, "# a test\n" CCS_TRACE_HEADER);
}

/* A process that starts while another writes to its file. */
static void start_beside_a_writer(const char *file)
{
	const pid_t pid = fork();
	int status;

	if (!pid) {
		ccs_trace_setup(file, INFINITY, "another");
		_exit(!ccs_trace_on);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(a_file_that_another_process_writes_to_is_not_truncated)
{
	char file[] = "/tmp/ccshim-test-trace.XXXXXX", text[1024] = "";
	const char *header;
	const int fd = mkstemp(file);

	assert_int_equal(write(fd, "kept\n", 5), 5);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	for (int i = 0; i < 2; i++) {
		nfs = i;
		start_beside_a_writer(file);
		assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
		assert_memory_equal(text, "kept\n", 5);
		header = strstr(text, CCS_TRACE_HEADER); /* of the first */
		assert_non_null(header);
		assert_null(strstr(header + 1, CCS_TRACE_HEADER));
	}
	assert_int_equal(flock(fd, LOCK_UN), 0);
	start_beside_a_writer(file);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_memory_equal(text, "# ano", 5);
	nfs = false;
	close(fd);
	unlink(file);
}

/* flock(2) gives an exclusive lock to anyone who can read the file. */
TEST(an_exclusive_lock_of_another_process_delays_no_application)
{
	char file[] = "/tmp/ccshim-test-trace.XXXXXX", text[1024] = "";
	const uint8_t gid[16] = { 0 };
	const int fd = mkstemp(file);
	int status;
	pid_t pid;

	assert_int_equal(flock(fd, LOCK_EX), 0);
	pid = fork();
	if (!pid) {
		ccs_trace_setup(file, INFINITY, "a test");
		ccs_trace_peer(1, gid);
		ccs_trace_finish();
		_exit(!ccs_trace_on || slept);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_ptr_equal(strstr(text, "# a test\n" CCS_TRACE_HEADER "# QP 1 sends to "), text);
	close(fd);
	unlink(file);
}

/* The child writes a trace, and has a child, which ends when `end` is closed. */
static pid_t start_writer(const char *file, const int end[2])
{
	int started[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(started), 0);
	pid = fork();
	if (!pid) {
		ccs_trace_setup(file, INFINITY, "a test");
		if (!fork()) {
			close(end[1]);
			_exit((int)read(end[0], &byte, 1));
		}
		close(end[1]);
		if (write(started[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &byte, 1), 1);
	close(started[0]);
	return pid;
}

TEST(the_lock_of_a_trace_ends_with_its_process)
{
	char file[] = "/tmp/ccshim-test-trace.XXXXXX";
	const int fd = mkstemp(file);
	int end[2];
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	pid = start_writer(file, end);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(end[0]);
	close(end[1]);
	close(fd);
	unlink(file);
}

TEST(rows_of_concurrent_writers_are_whole_and_ordered)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 1, 2, 3 };
	struct read r = { .last = { -1, -1, -1, -1, -1 } };
	pthread_t threads[WRITERS];
	char line[CCS_TRACE_ROW_MAX + 1];
	FILE *f;

	ccs_trace_setup(path, INFINITY, "a test");
	assert_true(ccs_trace_on);
	check_header_is_written();
	ccs_trace_peer(1, gid);
	for (size_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_events, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	ccs_trace_finish();
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		read_row(&r, line);
	fclose(f);
	printf("# %u rows, %lu lost\n", r.rows, r.lost);
	assert_true(r.heads == 1 && r.comments == 2);
	assert_true(r.rows > 0 && r.rows + r.lost == WRITERS * EACH);
}

/* The longest possible line, and a name of any length: nothing is written beyond the row. */
TEST(rows_have_a_maximum_length)
{
	struct ccs_cc_event event = { .kind = CCS_CC_EVENT_ACK, .ack = { .nhops = CCS_CC_MAX_HOPS } };
	struct ccs_cc_ops ops = { .name = "x" };
	char row[4 * CCS_TRACE_ROW_MAX], name[2000];
	size_t len;

	event.ack.now_us = event.ack.rtt_us = event.ack.bytes = event.ack.inflight = 1.2345678901234567e-300;
	event.ack.ack_seq = event.ack.snd_nxt = UINT64_MAX;
	event.ack.path = event.ack.flows = UINT32_MAX;
	event.out.rate = event.out.window = 1.2345678901234567e-300;
	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++)
		event.hop[i] = (struct ccs_cc_hop){ UINT64_MAX, UINT64_MAX, UINT64_MAX,
						   1.2345678901234567e-300 };
	len = ccs_trace_row(row, INT32_MAX, UINT32_MAX, &ops, &event);
	assert_true(len < CCS_TRACE_ROW_MAX && row[len - 1] == '\n' && row[0] == '1');
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ops.name = name;
	event.kind = CCS_CC_EVENT_START;
	memset(row, 0x5a, sizeof(row));
	len = ccs_trace_row(row, 7, 1, &ops, &event);
	assert_true(len < CCS_TRACE_ROW_MAX && row[len - 1] == '\n' && row[0] == '#');
	for (size_t i = CCS_TRACE_ROW_MAX; i < sizeof(row); i++)
		assert_int_equal(row[i], 0x5a);
	row[len] = '\0';
	assert_non_null(strstr(row, ",start,1,"));
}

TEST(nan_is_not_written)
{
	const struct ccs_cc_event event = { .kind = CCS_CC_EVENT_TICK, .out = { .rate = NAN, .window = -1 } };
	char row[CCS_TRACE_ROW_MAX];
	const size_t len = ccs_trace_row(row, 7, 5, &ccs_cc_none, &event);

	row[len] = '\0';
	assert_string_equal(row, "0,tick,5,,,,,,,,,,,,,,,0.000,7\n");
}

int main(void)
{
	const int fd = mkstemp(path);
	int failed;

	if (fd < 0)
		return 99;
	close(fd);
	failed = test_run(NULL, NULL);
	unlink(path);
	return failed;
}
