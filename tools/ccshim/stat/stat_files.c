/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds statistics files and copies their contents. */
#include "stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "observe/stats_dir.h"

enum { TRIES = 10, DIRS_MAX = 4096 };

/* -- one file ------------------------------------------------------------------ */

/* It may be another user's, and is printed on a terminal: no control characters. */
static void end_text(char *text, size_t len)
{
	text[len - 1] = '\0';
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

#define END(text) end_text(text, sizeof(text))

/* The contents are untrusted, and change meanwhile. */
static void copy_header(const struct ccs_stats_layout *l, struct ccs_stats_header *h)
{
	*h = (struct ccs_stats_header){ 0 };
	memcpy(h, l->file, l->header_size < sizeof(*h) ? l->header_size : sizeof(*h));
	h->slots = l->slots;
	END(h->program), END(h->version), END(h->mode), END(h->cc), END(h->missing_feedback);
	END(h->host), END(h->job), END(h->task), END(h->rank), END(h->container);
	for (unsigned i = 0; i < CCS_STATS_MAX_UNCONTROLLED; i++)
		END(h->uncontrolled[i].name);
}

#define COPY(to, from) memcpy(to, from, sizeof(to) < sizeof(from) ? sizeof(to) : sizeof(from))

struct ccs_job stat_job(const struct ccs_stats_header *h)
{
	struct ccs_job job;

	COPY(job.host, h->host);
	COPY(job.id, h->job);
	COPY(job.task, h->task);
	COPY(job.rank, h->rank);
	COPY(job.container, h->container);
	job.container[sizeof(job.container) - 1] = '\0';
	return job;
}

static void copy_rtt(const struct ccs_stats_rtt *from, struct ccs_stats_rtt *to)
{
	for (size_t i = 0; i < sizeof(*to) / 8; i++)
		((uint64_t *)(void *)to)[i] =
			ccs_stats_load((const uint64_t *)(const void *)from + i);
}

/* False: the slot is free, or is being reused at this moment. */
static bool copy_qp(const struct ccs_stats_layout *l, uint64_t slot, struct stat_qp *qp)
{
	const struct ccs_stats_slot *at = ccs_stats_slot_at(l, slot);

	if (!ccs_stats_read_qp(l, slot, &qp->q) || !qp->q.created_ns)
		return false;
	copy_rtt(&at->rtt, &qp->rtt);
	END(qp->q.device), END(qp->q.uncontrolled), END(qp->q.cc), END(qp->q.variant), END(qp->q.feedback);
	if (qp->q.nhops > CCS_STATS_MAX_HOPS)
		qp->q.nhops = CCS_STATS_MAX_HOPS;
	return ccs_stats_load(&at->qp.generation) == qp->q.generation;
}

static void copy_slots(const struct ccs_stats_layout *l, struct stat_process *p)
{
	p->count = 0;
	for (uint64_t i = 0; i < l->slots; i++)
		p->count += copy_qp(l, i, &p->qp[p->count]);
}

/* Repeat the copy if a queue pair was destroyed meanwhile, which would be counted twice: in its
 * slot and in the sums. */
bool stat_parse(const void *image, size_t size, struct stat_process *p)
{
	const struct ccs_stats_header *mapped = image;
	struct ccs_stats_layout layout;
	uint64_t changes;

	if (!ccs_stats_layout(image, size, &layout))
		return false;
	copy_header(&layout, &p->h);
	p->qp = calloc(layout.slots + 1, sizeof(*p->qp));
	if (!p->qp)
		return false;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		changes = ccs_stats_load(&mapped->changes);
		p->h.gone = mapped->gone;
		copy_slots(&layout, p);
		if (!(changes & 1) && ccs_stats_load(&mapped->changes) == changes)
			break;
	}
	return true;
}

/* -- mapped files -------------------------------------------------------------- */

static sigjmp_buf truncated;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(truncated, 1);
}

/* The owner may truncate the file while it is read, which raises SIGBUS. */
static bool parse_mapped(const void *image, size_t size, struct stat_process *p)
{
	const struct sigaction bus = { .sa_handler = on_bus };
	struct sigaction old;
	volatile bool ok = false;

	sigaction(SIGBUS, &bus, &old);
	if (!sigsetjmp(truncated, 1)) {
		ok = stat_parse(image, size, p);
	} else {
		free(p->qp);
	}
	sigaction(SIGBUS, &old, NULL);
	return ok;
}

/* Whether the file describes a running process of the file's owner. */
static bool is_of_its_process(const struct ccs_stats_header *h, pid_t pid, uid_t owner)
{
	char proc[32];
	struct stat st;

	if (h->pid != (uint64_t)pid || h->uid != owner ||
	    h->pid_namespace != ccs_stats_pid_namespace() || ccs_stats_is_stale(h))
		return false;
	snprintf(proc, sizeof(proc), "/proc/%ld", (long)pid);
	return stat(proc, &st) == 0 && (st.st_uid == owner || st.st_uid == 0);
}

/* Add each process once, even if several files claim to be its. */
static bool add_process(struct stat_snapshot *s, const struct stat_process *p)
{
	struct stat_process *more;

	for (size_t i = 0; i < s->count; i++)
		if (s->process[i].h.pid == p->h.pid)
			return false;
	more = realloc(s->process, (s->count + 1) * sizeof(*more));
	if (!more)
		return false;
	s->process = more;
	more[s->count++] = *p;
	return true;
}

/* The process has not written the header yet. */
static bool is_unfinished(const void *mapped, size_t size)
{
	return size < 8 || !ccs_stats_load(mapped);
}

static void read_mapped(struct stat_snapshot *s, const void *mapped, size_t size, pid_t pid,
			uid_t owner)
{
	struct stat_process p = { 0 };

	if (is_unfinished(mapped, size))
		return;
	if (!parse_mapped(mapped, size, &p)) {
		s->unreadable++;
		return;
	}
	if (!is_of_its_process(&p.h, pid, owner) || !add_process(s, &p))
		free(p.qp);
}

static void read_file(struct stat_snapshot *s, int dir, const char *name, uid_t owner)
{
	const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *mapped;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == owner && st.st_size > 0) {
		mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (mapped != MAP_FAILED) {
			read_mapped(s, mapped, (size_t)st.st_size, ccs_stats_pid_of(name), owner);
			munmap(mapped, (size_t)st.st_size);
		}
	}
	close(fd);
}

/* -- directories --------------------------------------------------------------- */

struct directories {
	struct { dev_t dev; ino_t ino; } seen[DIRS_MAX];
	unsigned count;
};

static bool is_new(struct directories *dirs, const struct stat *st)
{
	for (unsigned i = 0; i < dirs->count; i++)
		if (dirs->seen[i].dev == st->st_dev && dirs->seen[i].ino == st->st_ino)
			return false;
	if (dirs->count == DIRS_MAX)
		return false;
	dirs->seen[dirs->count].dev = st->st_dev;
	dirs->seen[dirs->count++].ino = st->st_ino;
	return true;
}

static void read_entries(struct stat_snapshot *s, int dir, pid_t only, uid_t owner)
{
	DIR *d = fdopendir(dir);
	const struct dirent *e;

	if (!d) {
		close(dir);
		return;
	}
	while ((e = readdir(d))) {
		const pid_t pid = ccs_stats_pid_of(e->d_name);

		if (pid && (!only || pid == only))
			read_file(s, dirfd(d), e->d_name, owner);
	}
	closedir(d);
}

static void read_dir(struct stat_snapshot *s, struct directories *dirs, const char *name, pid_t only)
{
	const int dir = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir < 0) {
		s->denied += errno == EACCES;
		return;
	}
	if (fstat(dir, &st) || !is_new(dirs, &st) || (st.st_uid != geteuid() && geteuid())) {
		close(dir);
		return;
	}
	ccs_stats_sweep(dir);
	read_entries(s, dir, only, st.st_uid);
}

static int by_pid(const void *a, const void *b)
{
	const uint64_t x = ((const struct stat_process *)a)->h.pid;
	const uint64_t y = ((const struct stat_process *)b)->h.pid;

	return x < y ? -1 : x > y;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void stat_read(struct stat_snapshot *s, pid_t only)
{
	static const char *const others[] = { "/run/ccshim-stats", "/run/user/*/ccshim",
					      "/tmp/ccshim-[0-9]*" };
	struct directories *dirs = calloc(1, sizeof(*dirs));
	char name[512];
	glob_t found;

	*s = (struct stat_snapshot){ .now_ns = clock_ns(CLOCK_MONOTONIC),
				     .unix_ns = clock_ns(CLOCK_REALTIME) };
	if (!dirs)
		return;
	for (unsigned n = 0; ccs_stats_dir_name(n, name, sizeof(name)); n++)
		read_dir(s, dirs, name, only);
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (glob(others[i], GLOB_NOSORT | GLOB_NOMAGIC, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc; k++)
				read_dir(s, dirs, found.gl_pathv[k], only);
		globfree(&found);
	}
	free(dirs);
	if (s->count)
		qsort(s->process, s->count, sizeof(*s->process), by_pid);
}

void stat_free(struct stat_snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->process[i].qp);
	free(s->process);
	*s = (struct stat_snapshot){ 0 };
}
