/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the statistics files of processes, also in containers: in directories that the caller shares
 * with them, and in other mount namespaces. A file is attributed to a process only if the process
 * exists with that ID in the file's PID namespace, was started at the time that the file states, and
 * belongs to the file's owner.
 */
#include "stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/options.h"
#include "namespaces.h"
#include "observe/stats_dir.h"
#include "tools/ccshim/ccshim.h"

/*
 * Limits of directories and slots that are read for each user except root and the caller, so that a
 * user cannot delay or hide the statistics of others. A file counts as its slots plus FILE_COST.
 */
enum { DIRS_MAX = 4096, DIRS_OF_USER = 1024, SLOTS_OF_USER = 131072, FILE_COST = 16 };

struct seen {
	dev_t dev;
	ino_t ino;
	uid_t owner;
	uint64_t slots;                  /* that were read there */
};

struct search {
	struct stat_snapshot *s;
	struct namespaces ns;
	pid_t only, only_inner;          /* 0: all */
	struct seen seen[DIRS_MAX];
	unsigned count;
};

/* A directory of statistics files. */
struct place {
	int dir;
	const char *name;
	uid_t owner;
	uint64_t mount_ns;               /* in which it is; 0: the caller's */
	uint64_t *slots;                 /* that were read there */
};

/* -- whose file it is ------------------------------------------------------------ */

/* The process's ID in the caller's namespace; 0: not found. */
static pid_t find_process(const struct search *f, const struct ccs_stats_header *h)
{
	if (h->pid_namespace == f->ns.pid_ns)
		return ccs_stats_is_stale(h) ? 0 : (pid_t)h->pid;
	return namespaces_find(&f->ns, h->pid_namespace, (pid_t)h->pid);
}

/* Users can write any process's ID into a file, but only into files that they own. In a user
 * namespace, h.uid differs from the number of the file's owner. */
static bool is_of_process(const struct search *f, const struct stat_process *p, pid_t pid,
			  const struct place *at)
{
	struct ccs_stats_identity id;
	char proc[32];
	struct stat st;

	if (p->h.pid_namespace == f->ns.pid_ns && p->h.uid != at->owner && !at->mount_ns)
		return false;
	if (at->mount_ns && namespaces_mount(&f->ns, pid) != at->mount_ns)
		return false;
	snprintf(proc, sizeof(proc), "/proc/%ld", (long)pid);
	return ccs_stats_identify(pid, &id) == 0 && ccs_stats_same(&p->h, &id) &&
	       stat(proc, &st) == 0 && (st.st_uid == at->owner || st.st_uid == 0);
}

/* The process of a file has certainly ended if the file is older than the list of all processes. */
static void sweep_foreign(struct search *f, const struct place *at, const char *name, const struct stat *st)
{
	if (!f->ns.complete)
		f->s->invisible++;
	else if (!at->mount_ns && st->st_ctim.tv_sec + 1 < f->ns.read_s)
		unlinkat(at->dir, name, 0);
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

/* The host's name of the control group has the ID, which a process in a container may not see. */
static void read_container(struct stat_process *p)
{
	char proc[32], id[CCS_CONTAINER_LEN];

	snprintf(proc, sizeof(proc), "/proc/%" PRIu64, p->h.pid);
	if (ccs_container_read(proc, id))
		snprintf(p->h.container, sizeof(p->h.container), "%s", id);
}

/* Takes p->qp if it returns true. */
static bool identify(struct search *f, struct stat_process *p, const struct place *at, const char *name,
		     const struct stat *st)
{
	const pid_t pid = p->h.pid == (uint64_t)ccs_stats_pid_of(name) ? find_process(f, &p->h) : 0;
	const bool foreign = p->h.pid_namespace != f->ns.pid_ns;

	if (!pid && foreign)
		sweep_foreign(f, at, name, st);
	if (!pid || (f->only && pid != f->only) || !is_of_process(f, p, pid, at))
		return false;
	p->inner_pid = foreign ? p->h.pid : 0;
	p->h.pid = (uint64_t)pid;
	p->owner = at->owner;
	p->other_root = at->mount_ns != 0;
	if (foreign)
		read_container(p);
	return (size_t)snprintf(p->file, sizeof(p->file), "%s/%s", at->name, name) < sizeof(p->file) &&
	       add_process(f->s, p);
}

/* -- files ------------------------------------------------------------------------- */

/* The process has not written the header yet. The owner may truncate the file, so it is not mapped. */
static bool is_unfinished(int fd)
{
	uint64_t magic;

	return pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) || !magic;
}

static void read_mapped(struct search *f, const void *mapped, const struct place *at, const char *name,
			const struct stat *st)
{
	struct stat_process p = { 0 };

	*at->slots += FILE_COST;
	if (!stat_parse_mapped(mapped, (size_t)st->st_size, &p)) {
		f->s->unreadable++;
		return;
	}
	*at->slots += p.h.slots;
	if (!identify(f, &p, at, name, st))
		free(p.qp);
}

static bool is_limited(uid_t owner)
{
	return owner && owner != geteuid();
}

static bool has_used_up(const struct search *f, uid_t owner)
{
	uint64_t slots = 0;

	for (unsigned i = 0; is_limited(owner) && i < f->count; i++)
		slots += f->seen[i].owner == owner ? f->seen[i].slots : 0;
	return slots >= SLOTS_OF_USER;
}

static void read_file(struct search *f, const struct place *at, const char *name)
{
	const int fd = ccs_stats_open_file(at->dir, name, O_RDONLY);
	struct stat st;
	void *mapped;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == at->owner && !is_unfinished(fd)) {
		mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (mapped != MAP_FAILED) {
			read_mapped(f, mapped, at, name, &st);
			munmap(mapped, (size_t)st.st_size);
		}
	}
	close(fd);
}

/* -- directories --------------------------------------------------------------- */

/* NULL: it was read before, or there are too many. */
static struct seen *add_dir(struct search *f, const struct stat *st)
{
	unsigned same = 0;

	for (unsigned i = 0; i < f->count; i++) {
		if (f->seen[i].dev == st->st_dev && f->seen[i].ino == st->st_ino)
			return NULL;
		same += f->seen[i].owner == st->st_uid;
	}
	if (f->count == DIRS_MAX || (is_limited(st->st_uid) && same >= DIRS_OF_USER))
		return NULL;
	f->seen[f->count] = (struct seen){ .dev = st->st_dev, .ino = st->st_ino, .owner = st->st_uid };
	return &f->seen[f->count++];
}

static void read_entries(struct search *f, struct place *at)
{
	DIR *d = fdopendir(at->dir);
	const struct dirent *e;

	if (!d) {
		close(at->dir);
		return;
	}
	while ((e = readdir(d))) {
		const pid_t pid = ccs_stats_pid_of(e->d_name);

		if (!pid || (f->only && pid != f->only && pid != f->only_inner))
			continue;
		if (has_used_up(f, at->owner)) {
			f->s->unreadable++;
			break;
		}
		read_file(f, at, e->d_name);
	}
	closedir(d);
}

/* Takes the descriptor, which may be -1 with errno. */
static void read_dir(struct search *f, int dir, const char *name, uint64_t mount_ns)
{
	struct place at = { .dir = dir, .name = name, .mount_ns = mount_ns };
	struct seen *seen;
	struct stat st;

	if (dir < 0) {
		f->s->denied += errno == EACCES && !mount_ns;
		return;
	}
	if (fstat(dir, &st) || (st.st_uid != geteuid() && geteuid()) || !(seen = add_dir(f, &st))) {
		close(dir);
		return;
	}
	at.owner = st.st_uid;
	at.slots = &seen->slots;
	if (!mount_ns) /* a user can have any directory there, also one of other files */
		ccs_stats_sweep(dir);
	read_entries(f, &at);
}

static void read_own_dir(struct search *f, const char *name)
{
	read_dir(f, open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), name, 0);
}

/* The directories of all users in the caller's mount namespace. */
static void read_own_root(struct search *f, const char *const *patterns)
{
	char name[512];
	glob_t found;

	for (unsigned n = 0; ccs_stats_dir_name(n, name, sizeof(name)); n++)
		read_own_dir(f, name);
	for (; *patterns; patterns++) {
		if (glob(*patterns, GLOB_NOSORT | GLOB_NOMAGIC, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc; k++)
				read_own_dir(f, found.gl_pathv[k]);
		globfree(&found);
	}
}

/* -- other mount namespaces -------------------------------------------------------- */

/* Read parent/PREFIX*suffix below the root of that process; * begins with a digit. */
static void read_matching(struct search *f, const struct ns_process *p, const char *parent,
			  const char *prefix, const char *suffix)
{
	const int dir = namespaces_open_dir(p->pid, parent);
	DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
	const size_t len = strlen(prefix);
	const struct dirent *e;
	char name[320];

	if (!d && dir >= 0)
		close(dir);
	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, prefix, len) == 0 && e->d_name[len] >= '0' && e->d_name[len] <= '9' &&
		    (size_t)snprintf(name, sizeof(name), "%s/%s%s", parent, e->d_name, suffix) < sizeof(name))
			read_dir(f, namespaces_open_dir(p->pid, name), name, p->mount_ns);
	if (d)
		closedir(d);
}

static bool is_first_of_mount_ns(const struct namespaces *n, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (n->process[i].mount_ns == n->process[at].mount_ns)
			return false;
	return n->process[at].mount_ns != n->mount_ns;
}

static void read_other_roots(struct search *f, const char *stats_dir)
{
	static const char root_dir[] = "/run/ccshim-stats";

	for (size_t i = 0; i < f->ns.count; i++) {
		const struct ns_process *p = &f->ns.process[i];

		if (!is_first_of_mount_ns(&f->ns, i))
			continue;
		read_dir(f, namespaces_open_dir(p->pid, root_dir), root_dir, p->mount_ns);
		read_matching(f, p, "/run/user", "", "/ccshim");
		read_matching(f, p, "/tmp", "ccshim-", "");
		if (*stats_dir)
			read_matching(f, p, stats_dir, "ccshim-", "");
	}
}

/* -- all --------------------------------------------------------------------------- */

static void ignore(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static const char *read_option(void)
{
	static struct ccs_options o;
	static bool done;

	if (!done)
		ccs_options_load_as("ccshim", &o, ignore, NULL);
	done = true;
	return o.stats_dir;
}

void stat_use_option(void)
{
	ccs_stats_dir_set(read_option());
}

void stat_warn_of_option(const char *cmd)
{
	const char *obstacle = ccs_stats_dir_obstacle(read_option());

	if (obstacle)
		tool_error(cmd, "warning: stats_dir=%s: %s; processes that have this option keep their "
			   "statistics elsewhere. Make it a directory with mode 1777, or unset stats_dir",
			   read_option(), obstacle);
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
	char configured[320] = "";
	const char *const patterns[] = { "/run/ccshim-stats", "/run/user/*/ccshim", "/tmp/ccshim-[0-9]*",
					 *read_option() ? configured : NULL, NULL };
	struct search *f = calloc(1, sizeof(*f));

	*s = (struct stat_snapshot){ .now_ns = clock_ns(CLOCK_MONOTONIC),
				     .unix_ns = clock_ns(CLOCK_REALTIME) };
	if (!f)
		return;
	stat_use_option();
	snprintf(configured, sizeof(configured), "%s/ccshim-[0-9]*", read_option());
	f->s = s;
	namespaces_read(&f->ns);
	f->only = only;
	f->only_inner = only ? namespaces_inner(&f->ns, only) : 0;
	read_own_root(f, patterns);
	read_other_roots(f, read_option());
	namespaces_free(&f->ns);
	free(f);
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

int stat_open(const struct stat_process *p, int flags)
{
	const char *base = strrchr(p->file, '/');
	char parent[sizeof(p->file)];
	int dir, fd, error;

	snprintf(parent, sizeof(parent), "%.*s", (int)(base - p->file), p->file);
	dir = p->other_root ? namespaces_open_dir((pid_t)p->h.pid, parent)
			    : open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = ccs_stats_open_file(dir, base + 1, flags);
	error = errno;
	close(dir);
	errno = error;
	return fd;
}
