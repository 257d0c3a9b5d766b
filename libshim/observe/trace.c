/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of trace events and the thread that writes them. */
#include "observe/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/thread.h"
#include "config/filename.h"
#include "config/job.h"
#include "observe/log.h"
#include "observe/write_guard.h"

enum {
	RING = 8192,             /* events */
	CHUNK = 65536,           /* bytes per write(2) */
	BATCH_NS = 2000000,      /* between two reads of a busy ring */
	PIPE_TIMEOUT_MS = 1000,  /* for a pipe whose reader is slow */
	HEADER_MS = 5000,        /* for the process that begins the file */
	FINISH_S = 5,
};

/*
 * A bounded queue with many writers and one reader (Vyukov). At a position, a cell whose seq
 * equals the position is free; one whose seq equals the position + 1 holds an event.
 */
struct cell {
	atomic_size_t seq;
	uint32_t qp;
	const struct ccs_cc_ops *ops;    /* NULL: no event, but the peer's GID */
	union {
		struct ccs_cc_event event;
		uint8_t gid[16];
	};
};

bool ccs_trace_on;

static struct {
	struct cell *ring;
	atomic_size_t head;              /* the next position to write */
	size_t tail;                     /* the next position to read; used by the thread only */
	atomic_bool on, stop, asleep;
	atomic_ulong lost;               /* events dropped because the ring was full */
	unsigned long lost_reported;
	sem_t wake;
	pthread_t thread;
	pid_t pid;
	bool late;                       /* the thread begins the file */
	char about[601];                 /* the comment before its rows */
	char path[CCS_FILENAME_MAX];
	double bytes_left;               /* of trace_size */
	char out[CHUNK];
	size_t out_len;
} trace;

static void wake_thread(void)
{
	if (atomic_load(&trace.asleep) && atomic_exchange(&trace.asleep, false))
		sem_post(&trace.wake);
}

/* Claim a cell and its position; NULL: the ring is full. */
static struct cell *claim_cell(size_t *at)
{
	*at = atomic_load_explicit(&trace.head, memory_order_relaxed);
	for (;;) {
		struct cell *cell = &trace.ring[*at % RING];
		const size_t seq = atomic_load_explicit(&cell->seq, memory_order_acquire);

		if (seq != *at && (ptrdiff_t)(seq - *at) < 0)
			return NULL;
		if (seq != *at)
			*at = atomic_load_explicit(&trace.head, memory_order_relaxed);
		else if (atomic_compare_exchange_weak(&trace.head, at, *at + 1))
			return cell;
	}
}

static void put(uint32_t qp, const struct ccs_cc_ops *ops, const void *what, size_t len)
{
	struct cell *cell;
	size_t at;

	if (!atomic_load_explicit(&trace.on, memory_order_relaxed))
		return;
	cell = claim_cell(&at);
	if (!cell) {
		atomic_fetch_add_explicit(&trace.lost, 1, memory_order_relaxed);
		return;
	}
	cell->qp = qp;
	cell->ops = ops;
	memcpy(&cell->event, what, len);
	atomic_store(&cell->seq, at + 1);
	wake_thread();
}

void ccs_trace_put(uint32_t qp, const struct ccs_cc_ops *ops, const struct ccs_cc_event *event)
{
	put(qp, ops, event, sizeof(*event));
}

void ccs_trace_peer(uint32_t qp, const uint8_t gid[16])
{
	put(qp, NULL, gid, 16);
}

static bool is_empty(void)
{
	return atomic_load(&trace.ring[trace.tail % RING].seq) != trace.tail + 1;
}

/* The file is opened for each write: the application's closefrom() would close a descriptor that
 * was kept open, and its number would be reused. */
static int open_file(int flags)
{
	return ccs_open_path(trace.path, O_WRONLY | O_APPEND | flags);
}

static int write_all(int fd, const char *buf, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	while (len) {
		const ssize_t n = write(fd, buf, len);

		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		} else if (n == 0 || (errno != EINTR && (errno != EAGAIN ||
							 poll(&pfd, 1, PIPE_TIMEOUT_MS) <= 0))) {
			return -1;
		}
	}
	return 0;
}

static void flush_chunk(void)
{
	const int fd = trace.out_len ? open_file(0) : -1;

	if (trace.out_len && (fd < 0 || write_all(fd, trace.out, trace.out_len))) {
		ccs_log(CCS_LOG_WARN, "trace %s: %m; later events are not recorded", trace.path);
		atomic_store(&trace.on, false);
	}
	ccs_close(fd);
	trace.out_len = 0;
}

static void append_text(const char *text, size_t len)
{
	const bool fits = (double)len <= trace.bytes_left;

	if (!fits || trace.out_len + len > CHUNK)
		flush_chunk();
	if (!fits && atomic_exchange(&trace.on, false))
		ccs_log(CCS_LOG_WARN, "trace %s: trace_size is reached; later events are not "
			"recorded", trace.path);
	if (!atomic_load_explicit(&trace.on, memory_order_relaxed))
		return;
	memcpy(trace.out + trace.out_len, text, len);
	trace.out_len += len;
	trace.bytes_left -= (double)len;
}

static void append_lost(void)
{
	const unsigned long lost = atomic_load_explicit(&trace.lost, memory_order_relaxed);
	char text[80];

	if (lost == trace.lost_reported)
		return;
	if (!trace.lost_reported)
		ccs_log(CCS_LOG_WARN, "trace %s: events arrive faster than they can be written; "
			"some are missing from the trace", trace.path);
	append_text(text, (size_t)snprintf(text, sizeof(text), "# %lu events are lost near here\n",
					   lost - trace.lost_reported));
	trace.lost_reported = lost;
}

static size_t format_cell(const struct cell *cell, char row[CCS_TRACE_ROW_MAX])
{
	char peer[INET6_ADDRSTRLEN];

	if (cell->ops)
		return ccs_trace_row(row, trace.pid, cell->qp, cell->ops, &cell->event);
	return (size_t)snprintf(row, CCS_TRACE_ROW_MAX, "# QP %u sends to %s (process %d)\n", cell->qp,
				ccs_gid_text(cell->gid, peer), (int)trace.pid);
}

static void write_events(void)
{
	char row[CCS_TRACE_ROW_MAX];

	while (!is_empty()) {
		struct cell *cell = &trace.ring[trace.tail % RING];

		append_text(row, format_cell(cell, row));
		atomic_store_explicit(&cell->seq, trace.tail + RING, memory_order_release);
		trace.tail++;
	}
	append_lost();
	flush_chunk();
}

/* Sleep until there is an event, then a little longer, so that several are written at once. */
static void wait_for_events(void)
{
	const struct timespec batch = { .tv_nsec = BATCH_NS };

	atomic_store(&trace.asleep, true);
	if (is_empty() && !atomic_load(&trace.stop))
		while (sem_wait(&trace.wake) && errno == EINTR)
			;
	atomic_store(&trace.asleep, false);
	if (!atomic_load(&trace.stop))
		nanosleep(&batch, NULL);
}

/* The header of this version is at the beginning of the file. */
static bool has_header(int fd)
{
	char start[4096];
	const ssize_t n = pread(fd, start, sizeof(start), 0);

	return n > 0 && memmem(start, (size_t)n, CCS_TRACE_HEADER, strlen(CCS_TRACE_HEADER));
}

/*
 * A file that no other process writes to is truncated. Its first process writes the header under an
 * exclusive lock, so that the rows of others follow it. Returns an error number, or -1 if another
 * process has such a lock: wait.
 */
static int begin_file(int fd, int locked, bool may_wait)
{
	const bool first = flock(locked, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
	char text[1024];
	int len;

	if (first && ftruncate(fd, 0) && errno != EINVAL) /* EINVAL: no regular file */
		return errno;
	if (!first && flock(locked, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK && may_wait)
		return -1;
	len = snprintf(text, sizeof(text), "# %s\n%s", trace.about,
		       has_header(locked) ? "" : CCS_TRACE_HEADER);
	if (write_all(fd, text, (size_t)len))
		return errno;
	trace.bytes_left -= len;
	flock(locked, LOCK_SH | LOCK_NB);
	return 0;
}

/*
 * The file has a lock to the end of the process, which other processes test. A mapping keeps the
 * lock, not a descriptor: the application may need all descriptors. NFS grants a shared lock only if
 * the file is open for reading, and an exclusive lock only if it is open for writing. A pipe has no
 * mapping, and its descriptor stays open, so that its reader sees one end. Returns as begin_file().
 */
static int create_file(bool may_wait)
{
	const int fd = open_file(O_CREAT);
	const int to_map = fd < 0 ? -1 : ccs_open_path(trace.path, O_RDWR | O_APPEND);
	void *map = to_map < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_NONE, MAP_SHARED, to_map, 0);
	const int locked = map == MAP_FAILED ? fd : to_map;
	const int error = fd < 0 ? errno : begin_file(fd, locked, may_wait);

	if (map != MAP_FAILED && error)
		munmap(map, 1);
	else if (map != MAP_FAILED)
		madvise(map, 1, MADV_DONTFORK);
	if (map != MAP_FAILED || error)
		ccs_close(fd);
	ccs_close(to_map);
	return error;
}

/*
 * Another process holds an exclusive lock while it writes the header. Any process that can read the
 * file may keep it, so neither the application nor its exit waits for the lock.
 */
static void begin_late(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int error;

	for (int i = 0; (error = create_file(i < HEADER_MS && !atomic_load(&trace.stop))) < 0; i++)
		nanosleep(&ms, NULL);
	if (!error)
		return;
	atomic_store(&trace.on, false);
	ccs_log(CCS_LOG_WARN, "trace %s: %s; nothing is recorded", trace.path, strerror(error));
}

static void *trace_thread(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "ccshim-trace");
	uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	if (trace.late)
		begin_late();
	while (!atomic_load(&trace.stop)) {
		wait_for_events();
		write_events();
	}
	write_events();
	return NULL;
}

static int create_file_and_ring(const char *file)
{
	char name[CCS_FILENAME_MAX];
	int error;

	ccs_filename_absolute(file, trace.path, sizeof(trace.path));
	if (ccs_filename_expand(file, ccs_job(), name, sizeof(name)))
		return errno;
	ccs_filename_absolute(name, trace.path, sizeof(trace.path));
	error = create_file(true);
	if (error > 0)
		return error;
	trace.late = error;
	trace.ring = calloc(RING, sizeof(*trace.ring));
	if (!trace.ring || sem_init(&trace.wake, 0, 0))
		return errno;
	for (size_t i = 0; i < RING; i++)
		atomic_init(&trace.ring[i].seq, i);
	return 0;
}

void ccs_trace_setup(const char *file, double max_bytes, const char *head)
{
	struct ccs_write_guard guard;
	int error;

	trace.bytes_left = max_bytes;
	trace.pid = getpid();
	snprintf(trace.about, sizeof(trace.about), "%s", head);
	ccs_write_guard_begin(&guard);
	error = create_file_and_ring(file);
	ccs_write_guard_end(&guard);
	if (!error) {
		atomic_store(&trace.on, true);
		error = ccs_thread_create(&trace.thread, trace_thread, NULL);
	}
	ccs_trace_on = !error;
	if (error)
		ccs_log(CCS_LOG_WARN, "trace %s: %s; nothing is recorded", trace.path,
			strerror(error));
}

void ccs_trace_finish(void)
{
	struct timespec until;

	if (!ccs_trace_on)
		return;
	atomic_store(&trace.stop, true);
	sem_post(&trace.wake);
	until = ccs_clock_timespec(ccs_clock_ns(CLOCK_REALTIME) + FINISH_S * 1000000000ull);
	pthread_timedjoin_np(trace.thread, NULL, &until);
}

void ccs_trace_forget(void)
{
	atomic_store(&trace.on, false);
}
