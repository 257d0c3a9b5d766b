/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates, grows and writes the statistics file. All of it is allocated (fallocate), because a
 * write to a hole raises SIGBUS when the file system is full. It is open only while it is being
 * mapped: the application's closefrom() would close a descriptor that was kept open, and its
 * number would be reused.
 */
#include "config.h"
#include "observe/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os.h"
#include "config/job.h"
#include "observe/log.h"
#include "observe/write_guard.h"
#include "observe/stats_dir.h"

enum { FIRST_SLOTS = 8, MORE_SLOTS = 1024, MAX_SLOTS = CCS_STATS_MAX_SLOTS, MAX_PARTS = 96 };

/* A slot with its history. Eight are whole pages, and slots begin at different lines of a page. */
struct full_slot {
	struct ccs_stats_slot slot;
	struct ccs_stats_moment history[CCS_STATS_MOMENTS];
	uint64_t spare[3];
};

_Static_assert(sizeof(struct full_slot) == 3584, "eight are whole pages");
_Static_assert(sizeof(struct ccs_stats_header) <= 4096, "one page");

/* A part of the file, with a separate mapping. */
struct part {
	struct full_slot *slot;
	uint32_t count;
};

static struct {
	pthread_mutex_t lock;            /* protects all members but header */
	_Atomic(struct ccs_stats_header *) header;
	char dir[300], name[40];
	dev_t device;
	ino_t inode;
	struct part part[MAX_PARTS];
	atomic_uint parts;               /* may be read without the lock */
	uint64_t slots;                  /* the value in the header, to which others may write */
	_Atomic uint64_t qps;            /* likewise; may be read without the lock */
	uint32_t *unused, unused_count;  /* indices; allocated for all slots */
	bool full;
	atomic_bool closed;              /* the process ends; other threads may continue */
} stats = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void warn(const char *consequence, int error)
{
	ccs_log(CCS_LOG_WARN, "statistics file %s%s%s: %s; %s", stats.dir, *stats.dir ? "/" : "",
		stats.name, strerror(error), consequence);
}

struct ccs_stats_header *ccs_stats_file(void)
{
	return atomic_load_explicit(&stats.header, memory_order_acquire);
}

uint64_t ccs_stats_qps(void)
{
	return atomic_load_explicit(&stats.qps, memory_order_relaxed);
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* True for a file of an ended process, or of this process before exec(); false for a process
 * in another PID namespace. */
static bool may_replace_file(int dir)
{
	struct ccs_stats_header *h = calloc(1, sizeof(*h));
	const int fd = openat(dir, stats.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool may = false;

	if (h)
		may = fd < 0 || read(fd, h, sizeof(*h)) <= 0 || h->magic != CCS_STATS_MAGIC ||
		      h->pid_namespace == ccs_stats_pid_namespace();
	ccs_close(fd);
	free(h);
	return may;
}

static int create_file(int dir)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const int fd = openat(dir, stats.name, flags, 0600);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	if (!may_replace_file(dir))
		snprintf(stats.name, sizeof(stats.name), "%ld.%" PRIu64, (long)getpid(),
			 ccs_stats_pid_namespace());
	if (unlinkat(dir, stats.name, 0) && errno != ENOENT)
		return -1;
	return openat(dir, stats.name, flags, 0600);
}

/* Extend the file by len bytes at `at` and map them; NULL and errno. */
static void *map_new(int fd, size_t at, size_t len)
{
	void *p;
	int error;

	do /* a signal of the application may interrupt it */
		error = posix_fallocate(fd, (off_t)at, (off_t)len);
	while (error == EINTR);
	if (error) {
		errno = error;
		return NULL;
	}
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	return p == MAP_FAILED ? NULL : p;
}

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

static void fill_names(struct ccs_stats_header *h)
{
	const struct ccs_job *job = ccs_job();

	COPY(h->program, program_invocation_short_name);
	COPY(h->version, PACKAGE_VERSION);
	COPY(h->host, job->host);
	COPY(h->job, job->id);
	COPY(h->task, job->task);
	COPY(h->rank, job->rank);
	COPY(h->container, job->container);
}

static void fill_header(struct ccs_stats_header *h, ccs_stats_describe *describe)
{
	struct ccs_stats_identity self;

	ccs_stats_identify(getpid(), &self);
	h->major = CCS_STATS_MAJOR;
	h->minor = CCS_STATS_MINOR;
	h->header_size = page_size();
	h->slot_size = sizeof(struct full_slot);
	h->history_offset = offsetof(struct full_slot, history);
	h->pid = (uint64_t)getpid();
	h->pid_namespace = ccs_stats_pid_namespace();
	h->start_ticks = self.start_ticks;
	h->exec_mark = self.exec_mark;
	h->uid = geteuid();
	h->created_ns = ccs_clock_ns(CLOCK_MONOTONIC);
	h->created_unix_ns = ccs_clock_ns(CLOCK_REALTIME);
	fill_names(h);
	describe(h);
	__atomic_store_n(&h->magic, CCS_STATS_MAGIC, __ATOMIC_RELEASE);
}

static struct ccs_stats_header *map_header(int dir)
{
	const int fd = create_file(dir);
	struct ccs_stats_header *h;
	struct stat st;

	if (fd < 0)
		return NULL;
	h = fstat(fd, &st) ? NULL : map_new(fd, 0, page_size());
	if (h) {
		stats.device = st.st_dev;
		stats.inode = st.st_ino;
	} else {
		const int error = errno;

		unlinkat(dir, stats.name, 0);
		errno = error;
	}
	close(fd);
	return h;
}

static struct ccs_stats_header *map_header_in_dir(void)
{
	const int dir = ccs_stats_dir_open(stats.dir, sizeof(stats.dir));
	struct ccs_stats_header *h;

	if (dir < 0)
		return NULL;
	ccs_stats_sweep(dir);
	h = map_header(dir);
	ccs_close(dir);
	return h;
}

bool ccs_stats_open(ccs_stats_describe *describe)
{
	struct ccs_stats_header *h;
	struct ccs_write_guard guard;
	const int saved = errno; /* the application's */

	pthread_mutex_lock(&stats.lock);
	snprintf(stats.name, sizeof(stats.name), "%ld", (long)getpid());
	stats.unused = calloc(MAX_SLOTS, sizeof(*stats.unused));
	ccs_write_guard_begin(&guard);
	h = stats.unused ? map_header_in_dir() : NULL;
	ccs_write_guard_end(&guard);
	if (h) {
		fill_header(h, describe);
		atomic_store_explicit(&stats.header, h, memory_order_release);
	} else {
		warn("'ccshim stat' and 'ccshim set' cannot access this process. Name another "
		     "directory with stats_dir, or set stats=n",
		     stats.unused ? errno : ENOMEM);
	}
	pthread_mutex_unlock(&stats.lock);
	errno = saved;
	return h;
}

/* Open our file again; -1 and errno, ESTALE if another file has its name by now. */
static int reopen_file(void)
{
	char path[sizeof(stats.dir) + sizeof(stats.name)];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", stats.dir, stats.name);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == stats.device && st.st_ino == stats.inode)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* Map count more slots after the first `have`. */
static struct full_slot *map_slots(uint64_t have, uint64_t count)
{
	struct full_slot *slot;
	int fd;

	errno = ENOSPC;
	if (stats.parts == MAX_PARTS || have + count > MAX_SLOTS)
		return NULL;
	fd = reopen_file();
	if (fd < 0)
		return NULL;
	slot = map_new(fd, page_size() + have * sizeof(*slot), count * sizeof(*slot));
	ccs_close(fd);
	return slot;
}

/* The number of slots to add: it doubles the file, in whole pages of memory. */
static uint64_t slots_to_add(void)
{
	const uint64_t first = FIRST_SLOTS * page_size() / 4096;

	return stats.slots < first ? first : stats.slots < MORE_SLOTS ? stats.slots : MORE_SLOTS;
}

static void add_slots(struct ccs_stats_header *h)
{
	const uint64_t count = slots_to_add();
	struct full_slot *slot;
	struct ccs_write_guard guard;

	ccs_write_guard_begin(&guard);
	slot = map_slots(stats.slots, count);
	ccs_write_guard_end(&guard);
	if (!slot) {
		warn("'ccshim stat' does not show all queue pairs", errno);
		stats.full = true;
		return;
	}
	stats.part[stats.parts] = (struct part){ slot, (uint32_t)count };
	atomic_fetch_add(&stats.parts, 1);
	for (uint64_t i = count; i--;)
		stats.unused[stats.unused_count++] = (uint32_t)(stats.slots + i);
	stats.slots += count;
	__atomic_store_n(&h->slots, stats.slots, __ATOMIC_RELEASE);
}

static struct ccs_stats_slot *slot_of(uint32_t index)
{
	const struct part *p = stats.part;

	for (; index >= p->count; p++)
		index -= p->count;
	return &p->slot[index].slot;
}

static uint32_t index_of(const struct ccs_stats_slot *slot)
{
	const struct full_slot *full = (const struct full_slot *)(const void *)slot;
	const struct part *p = stats.part;
	uint32_t before = 0;

	for (; full < p->slot || full >= p->slot + p->count; p++)
		before += p->count;
	return before + (uint32_t)(full - p->slot);
}

/* Clear a slot; the next generation marks another queue pair. */
static void clear_slot(struct ccs_stats_slot *slot)
{
	struct ccs_stats_qp qp = { .generation = slot->qp.generation + 1 };

	ccs_stats_write(slot, &qp);
	ccs_stats_set(&slot->moments, 0);
	for (size_t i = 0; i < sizeof(slot->rtt) / 8; i++)
		ccs_stats_set((uint64_t *)(void *)&slot->rtt + i, 0);
}

struct ccs_stats_slot *ccs_stats_claim_slot(void)
{
	struct ccs_stats_header *h = ccs_stats_file();
	struct ccs_stats_slot *slot = NULL;
	const int saved = errno;

	if (!h)
		return NULL;
	pthread_mutex_lock(&stats.lock);
	if (!stats.unused_count && !stats.full && !atomic_load(&stats.closed))
		add_slots(h);
	if (stats.unused_count)
		slot = slot_of(stats.unused[--stats.unused_count]);
	if (slot)
		clear_slot(slot);
	else
		ccs_stats_set(&h->qps_unshown, h->qps_unshown + 1);
	ccs_stats_set(&h->qps, ++stats.qps);
	pthread_mutex_unlock(&stats.lock);
	errno = saved;
	return slot;
}

/* Store a word such that a reader that sees it also sees that `changes` is odd. */
static void store_release(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void add_to_gone(struct ccs_stats_gone *gone, const struct ccs_stats_qp *last)
{
	store_release(&gone->qps, gone->qps + 1);
	store_release(&gone->posts, gone->posts + last->posts);
	store_release(&gone->completions, gone->completions + last->completions);
	store_release(&gone->segments, gone->segments + last->segments);
	store_release(&gone->bytes, gone->bytes + last->bytes);
	store_release(&gone->cnps, gone->cnps + last->cnps);
	store_release(&gone->losses, gone->losses + last->losses);
	store_release(&gone->samples, gone->samples + last->samples);
	store_release(&gone->gated_ns, gone->gated_ns + last->gated_ns);
}

void ccs_stats_release_slot(struct ccs_stats_slot *slot, const struct ccs_stats_qp *last)
{
	struct ccs_stats_header *h = ccs_stats_file();

	if (!h)
		return;
	pthread_mutex_lock(&stats.lock);
	__atomic_store_n(&h->changes, h->changes + 1, __ATOMIC_RELAXED);
	add_to_gone(&h->gone, last);
	if (slot) {
		clear_slot(slot);
		stats.unused[stats.unused_count++] = index_of(slot);
	}
	__atomic_store_n(&h->changes, h->changes + 1, __ATOMIC_RELEASE);
	ccs_stats_set(&h->qps, --stats.qps);
	pthread_mutex_unlock(&stats.lock);
}

/*
 * Each word is stored with release semantics, so that a reader that loads one of them also sees
 * the odd version afterwards (feedback/shm_path.c does the same in the opposite direction).
 */
void ccs_stats_write(struct ccs_stats_slot *slot, const struct ccs_stats_qp *qp)
{
	uint64_t *to = (uint64_t *)(void *)&slot->qp;
	uint64_t word[sizeof(*qp) / 8];
	const uint64_t version = slot->version | 1;

	memcpy(word, qp, sizeof(word));
	__atomic_store_n(&slot->version, version, __ATOMIC_RELAXED);
	for (size_t i = 0; i < sizeof(word) / 8; i++)
		__atomic_store_n(&to[i], word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&slot->version, version + 1, __ATOMIC_RELEASE);
	ccs_stats_set(&slot->live.idle, 0);
	ccs_stats_set(&slot->live.posts, qp->posts);
	ccs_stats_set(&slot->live.completions, qp->completions);
	ccs_stats_set(&slot->live.segments, qp->segments);
	ccs_stats_set(&slot->live.bytes, qp->bytes);
	ccs_stats_set(&slot->live.sent, qp->sent);
	ccs_stats_set(&slot->live.internal_completions, qp->internal_completions);
	ccs_stats_set(&slot->live.gated_ns, qp->gated_ns);
}

struct ccs_stats_moment *ccs_stats_history(struct ccs_stats_slot *slot)
{
	return ((struct full_slot *)(void *)slot)->history;
}

bool ccs_stats_part(unsigned number, struct ccs_stats_layout *l)
{
	const struct part *p = &stats.part[number];

	if (number >= atomic_load_explicit(&stats.parts, memory_order_acquire))
		return false;
	*l = (struct ccs_stats_layout){ .file = p->slot, .slot_size = sizeof(*p->slot), .slots = p->count };
	return true;
}

void ccs_stats_close(void)
{
	char path[sizeof(stats.dir) + sizeof(stats.name)];
	struct stat st;

	if (!ccs_stats_file())
		return;
	atomic_store(&stats.closed, true);
	snprintf(path, sizeof(path), "%s/%s", stats.dir, stats.name);
	if (lstat(path, &st) == 0 && st.st_dev == stats.device && st.st_ino == stats.inode)
		unlink(path);
}
