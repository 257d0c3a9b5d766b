/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a request into the mailboxes of many processes, and then waits for all answers together.
 * The owner of a statistics file may truncate it at any time, which concerns only that process.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ccshim/stats.h>

#include "base/units.h"
#include "observe/stats_dir.h"
#include "set.h"
#include "stat/stat.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/seconds.h"

enum { POLL_NS = 2000000, ALIVE_POLLS = 50, ANSWER_S = 60, ANSWER_ALL_S = 2 };

struct target {
	const struct stat_process *p;
	size_t i;                        /* its number in reports */
	int fd;                          /* it keeps the lock */
	struct ccs_stats_header *h;      /* NULL: reported */
	uint64_t asked;                  /* the number of the request */
};

struct sending {
	const struct set_request *request;
	int out;
	double answer_s;                 /* time to answer an accepted request */
	struct target *target;
	size_t n;
};

static void end_target(struct target *t)
{
	if (t->h)
		munmap(t->h, sizeof(*t->h));
	if (t->fd >= 0)
		close(t->fd);
	t->h = NULL;
	t->fd = -1;
}

/* Report a result, which ends the work for that process. */
#define REPORT(s, t, status, ...) \
	do { \
		set_report((s)->out, (t)->i, status, __VA_ARGS__); \
		end_target(t); \
	} while (0)

static sigjmp_buf truncated;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(truncated, 1);
}

/* Do one step for each process that has no result yet. Returns their number. */
static size_t for_each(struct sending *s, void (*step)(struct sending *s, struct target *t))
{
	volatile size_t left = 0;

	for (volatile size_t i = 0; i < s->n; i++) {
		struct target *t = &s->target[i];

		if (!t->h)
			continue;
		if (!sigsetjmp(truncated, 0))
			step(s, t);
		else
			REPORT(s, &s->target[i], EXIT_FAILED, "the statistics file was truncated during the "
			       "request; settings may be changed or not");
		left += s->target[i].h != NULL;
	}
	return left;
}

/* -- the file ---------------------------------------------------------------------- */

/* The reason why the file does not belong to the process, or NULL. */
static const char *find_mismatch(const struct ccs_stats_header *h, const struct stat_process *p)
{
	const uint64_t pid = p->inner_pid ? p->inner_pid : p->h.pid;

	if (h->magic != CCS_STATS_MAGIC)
		return "is not a statistics file";
	if (h->major != CCS_STATS_MAJOR)
		return "was written by another version of ccshim";
	return h->pid == pid && h->start_ticks == p->h.start_ticks ? NULL
								    : "belongs to a process that has ended";
}

static bool is_private(const struct stat *st, const struct stat_process *p)
{
	return S_ISREG(st->st_mode) && st->st_uid == p->owner && !(st->st_mode & 077) &&
	       st->st_dev == p->dev && st->st_ino == p->ino &&
	       st->st_size >= (off_t)sizeof(struct ccs_stats_header);
}

/* Open, lock and map the file. */
static void open_target(struct sending *s, struct target *t)
{
	struct stat st;

	t->fd = stat_open(t->p, O_RDWR);
	if (t->fd < 0 || fstat(t->fd, &st))
		REPORT(s, t, EXIT_FAILED, "%s: %s", t->p->file, strerror(errno));
	else if (!is_private(&st, t->p))
		REPORT(s, t, EXIT_FAILED, "%s: not a statistics file, or accessible to other users", t->p->file);
	else if (flock(t->fd, LOCK_EX | LOCK_NB))
		REPORT(s, t, EXIT_FAILED, "%s: %s", t->p->file, errno == EWOULDBLOCK
		       ? "another 'ccshim set' is in progress; try again" : strerror(errno));
	else
		t->h = mmap(NULL, sizeof(*t->h), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->h != MAP_FAILED)
		return;
	t->h = NULL;
	REPORT(s, t, EXIT_FAILED, "%s: %s", t->p->file, strerror(errno));
}

/* -- the request and its answer ---------------------------------------------------- */

/* The next odd number. A request that a killed tool has left is withdrawn first. */
static uint64_t next_request_gen(struct ccs_stats_mailbox *box)
{
	uint64_t gen = __atomic_load_n(&box->request_gen, __ATOMIC_ACQUIRE);

	if ((gen & 1) && __atomic_compare_exchange_n(&box->request_gen, &gen, gen + 1, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		gen++;
	return gen + 1;
}

static void write_request(struct sending *s, struct target *t)
{
	struct ccs_stats_mailbox *box = &t->h->mailbox;
	const char *why = find_mismatch(t->h, t->p);

	if (why) {
		REPORT(s, t, EXIT_FAILED, "%s %s", t->p->file, why);
	} else if (box->answer_gen == UINT64_MAX) {
		REPORT(s, t, EXIT_FAILED, "process %ld gained privileges when it was executed and accepts no "
		       "requests", (long)t->p->h.pid);
	} else {
		t->asked = next_request_gen(box);
		memcpy(box->request, s->request->text, sizeof(box->request));
		__atomic_store_n(&box->request_gen, t->asked, __ATOMIC_RELEASE);
	}
}

static void report_answer(struct sending *s, struct target *t)
{
	const struct ccs_stats_mailbox *box = &t->h->mailbox;
	char text[CCS_STATS_TEXT];

	if (box->answer_gen != t->asked + 1) {
		REPORT(s, t, EXIT_FAILED, "another program sends requests to process %ld without the lock "
		       "that ccshim/stats.h requires, and has replaced the answer; --show prints the settings",
		       (long)t->p->h.pid);
		return;
	}
	memcpy(text, box->answer, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (box->status)
		REPORT(s, t, EXIT_FAILED, "refused: %s", text);
	else
		REPORT(s, t, EXIT_OK, "%s", text);
}

/* Answered as well if another program has ignored the lock, and its request was answered since. */
static void read_answer(struct sending *s, struct target *t)
{
	if (__atomic_load_n(&t->h->mailbox.answer_gen, __ATOMIC_ACQUIRE) > t->asked)
		report_answer(s, t);
}

static void check_end(struct sending *s, struct target *t)
{
	struct ccs_stats_identity id;
	const int error = ccs_stats_identify((pid_t)t->p->h.pid, &id);

	if (error == ENOENT || (!error && !ccs_stats_same(&t->p->h, &id))) {
		read_answer(s, t);
		if (t->h)
			REPORT(s, t, EXIT_FAILED, "process %ld ended before it answered", (long)t->p->h.pid);
	}
}

/* Both: false if the process accepted the request at this moment. */
static bool withdraw(struct ccs_stats_mailbox *box, uint64_t asked)
{
	return __atomic_compare_exchange_n(&box->request_gen, &asked, asked + 1, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static bool leave_pending(struct ccs_stats_header *h, uint64_t asked)
{
	__atomic_store_n(&h->unattended, asked, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&h->mailbox.request_gen, __ATOMIC_SEQ_CST) == asked;
}

static void end_waiting(struct sending *s, struct target *t)
{
	const bool stays = s->request->stays;
	char timeout[CCS_UNIT_LEN];

	check_end(s, t);
	if (!t->h || !(stays ? leave_pending(t->h, t->asked) : withdraw(&t->h->mailbox, t->asked)))
		return;
	ccs_format_unit(s->request->timeout_us, CCS_UNIT_TIME, timeout, sizeof(timeout));
	if (stays)
		REPORT(s, t, EXIT_TIMEOUT, "pending: it has not answered within %s, since it reads requests "
		       "when it polls its completion queues; it then applies this request or logs its refusal, "
		       "unless another request follows. Repeat the command to see its answer", timeout);
	else
		REPORT(s, t, EXIT_TIMEOUT, "process %ld has not answered within %s: it reads requests when it "
		       "polls its completion queues, and %s; the request is withdrawn. Repeat the command "
		       "while the process communicates, or with a longer --timeout", (long)t->p->h.pid,
		       timeout, t->h->qps ? "has not polled" : "has no controlled queue pair");
}

static void report_silence(struct sending *s, struct target *t)
{
	REPORT(s, t, EXIT_FAILED, "process %ld accepted the request but has not answered within %g s; "
	       "--show prints its settings", (long)t->p->h.pid, s->answer_s);
}

/* Until all have answered or ended, or the time is over. */
static void wait_for_answers(struct sending *s, double wait_s)
{
	const struct timespec interval = { .tv_nsec = POLL_NS };
	const double end_s = seconds_now(CLOCK_MONOTONIC) + wait_s;

	for (unsigned i = 1; for_each(s, read_answer); i++) {
		if (i % ALIVE_POLLS == 0) {
			for_each(s, check_end);
			set_report(s->out, 0, 0, NULL);
		}
		if (seconds_now(CLOCK_MONOTONIC) > end_s)
			return;
		nanosleep(&interval, NULL);
	}
}

/* Each file stays open, with the lock. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void set_send(const struct set_request *request, const struct stat_process *const *p, size_t n, int out)
{
	const struct sigaction bus = { .sa_handler = on_bus, .sa_flags = SA_NODEFER };
	const double timeout_s = request->timeout_us / 1e6;
	const double answer_all_s = timeout_s > ANSWER_ALL_S ? timeout_s : ANSWER_ALL_S;
	struct sending s = { request, out, request->stays ? answer_all_s : ANSWER_S,
			     calloc(n, sizeof(*s.target)), n };

	if (!s.target)
		return;
	raise_descriptor_limit();
	sigaction(SIGBUS, &bus, NULL);
	for (size_t i = 0; i < n; i++) {
		s.target[i] = (struct target){ .p = p[i], .i = i, .fd = -1 };
		open_target(&s, &s.target[i]);
	}
	for_each(&s, write_request);
	wait_for_answers(&s, timeout_s);
	for_each(&s, end_waiting);
	wait_for_answers(&s, s.answer_s); /* of processes that accepted the request at this moment */
	for_each(&s, report_silence);
	free(s.target);
}
