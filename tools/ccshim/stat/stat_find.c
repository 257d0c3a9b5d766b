/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the statistics files of processes, also in containers. This program reads only /proc and the
 * names in directories of the host; a child process for each user or container reads the files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "config/options.h"
#include "observe/stats_dir.h"
#include "stat_search.h"
#include "subuid.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/children.h"

/* Names that are read of a directory in which all users can make some. */
enum { NAMES_MAX = 65536 };

/* -- parties ------------------------------------------------------------------------- */

static void add_party(struct search *f, uid_t user, uint64_t mount_ns)
{
	for (size_t i = 0; i < f->nparties; i++)
		if (f->party[i].user == user && f->party[i].mount_ns == mount_ns)
			return;
	if (CCS_GROW(f->party, f->nparties))
		f->party[f->nparties++] = (struct party){ user, mount_ns };
}

static void add_uid(struct search *f, uid_t uid)
{
	for (size_t i = f->nuids; i-- > 0;)
		if (f->uid[i] == uid)
			return;
	if (!CCS_GROW(f->uid, f->nuids))
		return;
	f->uid[f->nuids++] = uid;
	add_party(f, subuid_user(uid), 0);
}

/* Without root, only the caller's files can be read. */
static void find_parties(struct search *f)
{
	const struct namespaces *ns = &f->ns;

	add_uid(f, geteuid());
	for (size_t i = 0; i < ns->count && !geteuid(); i++) {
		const struct ns_process *p = &ns->process[i];
		uid_t owner;

		add_uid(f, p->effective);
		add_uid(f, p->saved);
		if (!namespaces_is_in_other_mount(ns, p) || (i && p->mount_ns == p[-1].mount_ns))
			continue;
		owner = namespaces_mount_owner(ns, p);
		add_party(f, owner, owner ? 0 : p->mount_ns);
	}
}

/* Whether a child of an earlier call still waits for the party's files. */
static bool is_waited_for(const struct search *f, const struct party *party)
{
	char name[16];

	stat_party_name(party, name);
	for (size_t i = 0; i < f->ns.count; i++)
		if (f->ns.process[i].abandoned && f->ns.process[i].effective == geteuid() &&
		    strcmp(f->ns.process[i].name, name) == 0)
			return true;
	return false;
}

static void add_stuck(struct search *f, const struct party *party)
{
	char *text = f->s->stuck;

	ccs_append(text, sizeof(f->s->stuck), "%s%s %lu", *text ? ", " : "",
		   party->mount_ns ? "container with mount namespace" : "user",
		   party->mount_ns ? (unsigned long)party->mount_ns : (unsigned long)party->user);
}

/* -- directories --------------------------------------------------------------------- */

static void add_dir(struct search *f, const char *name, uid_t user)
{
	struct found_dir *new;

	for (size_t i = 0; i < f->ndirs; i++)
		if (strcmp(f->dir[i].name, name) == 0)
			return;
	if (!CCS_GROW(f->dir, f->ndirs))
		return;
	new = &f->dir[f->ndirs];
	if ((size_t)snprintf(new->name, sizeof(new->name), "%s", name) >= sizeof(new->name))
		return;
	new->user = user;
	f->ndirs++;
}

/* The default directories of a user ID that has processes. */
static void add_defaults(struct search *f, uid_t uid)
{
	const uid_t user = subuid_user(uid);
	char name[320];

	snprintf(name, sizeof(name), "/run/user/%lu/ccshim", (unsigned long)uid);
	add_dir(f, name, user);
	snprintf(name, sizeof(name), "/tmp/ccshim-%lu", (unsigned long)uid);
	add_dir(f, name, user);
	if (!uid)
		add_dir(f, "/run/ccshim-stats", user);
	if (!*f->stats_dir)
		return;
	snprintf(name, sizeof(name), "%s/ccshim-%lu", f->stats_dir, (unsigned long)uid);
	add_dir(f, name, user);
}

/* A user may have made a directory under any name, which that user's child opens. */
static void add_entry(struct search *f, int parent, const char *parent_name, const char *name)
{
	const int fd = namespaces_open_beneath(parent, name);
	unsigned same = 0;
	char path[320];
	struct stat st;

	if (fd < 0)
		f->s->denied += errno == EACCES;
	else if (fstat(fd, &st) == 0) {
		const uid_t user = subuid_user(st.st_uid);

		for (size_t i = 0; i < f->ndirs; i++)
			same += f->dir[i].user == user;
		snprintf(path, sizeof(path), "%s/%s", parent_name, name);
		if (same < DIRS_OF_USER || !user)
			add_dir(f, path, user);
		else
			f->s->unreadable++;
	}
	if (fd >= 0)
		close(fd);
}

static void add_entries(struct search *f, const char *parent)
{
	DIR *d = opendir(parent);
	const struct dirent *e;

	for (unsigned n = 0; d && (e = readdir(d));) {
		if (strncmp(e->d_name, "ccshim-", 7) != 0 || e->d_name[7] < '0' || e->d_name[7] > '9')
			continue;
		if (n++ == NAMES_MAX) {
			f->s->unreadable++;
			break;
		}
		add_entry(f, dirfd(d), parent, e->d_name);
	}
	if (d)
		closedir(d);
}

static void find_dirs(struct search *f)
{
	for (size_t i = 0; i < f->nuids && !geteuid(); i++)
		add_defaults(f, f->uid[i]);
	add_entries(f, "/tmp");
	if (*f->stats_dir)
		add_entries(f, f->stats_dir);
}

/* -- results ------------------------------------------------------------------------- */

/* Takes the record's queue pairs from data. Returns the length of the record; 0: it is incomplete. */
static size_t add_process(struct search *f, const char *data, size_t len)
{
	struct stat_snapshot *s = f->s;
	struct stat_process *new;
	size_t size;

	if (len < sizeof(*new) || !CCS_GROW(s->process, s->count))
		return 0;
	new = &s->process[s->count];
	memcpy(new, data, sizeof(*new));
	size = new->count * sizeof(*new->qp);
	if (len - sizeof(*new) < size)
		return 0;
	new->qp = calloc(new->count + 1, sizeof(*new->qp));
	if (!new->qp)
		return 0;
	memcpy(new->qp, data + sizeof(*new), size);
	s->count++;
	return sizeof(*new) + size;
}

static size_t add_record(struct search *f, uint32_t kind, const char *data, size_t len)
{
	struct search_omitted o;

	if (kind == SEARCH_PROCESS)
		return add_process(f, data, len);
	if (kind == SEARCH_OBSTACLE && len >= sizeof(f->s->obstacle)) {
		memcpy(f->s->obstacle, data, sizeof(f->s->obstacle));
		return sizeof(f->s->obstacle);
	}
	if (kind != SEARCH_OMITTED || len < sizeof(o))
		return 0;
	memcpy(&o, data, sizeof(o));
	f->s->denied += o.denied;
	f->s->invisible += o.invisible;
	f->s->unreadable += o.unreadable;
	return sizeof(o);
}

static void run_party(void *arg, size_t i, int out)
{
	const struct search *f = arg;

	if (!is_waited_for(f, &f->party[i]))
		stat_party_read(f, &f->party[i], out);
}

/* A child that was stuck has written what it had read before. */
static void add_results(void *arg, size_t i, const char *data, size_t len, bool complete)
{
	struct search *f = arg;
	size_t at = 0, n;
	uint32_t kind;

	while (len - at >= sizeof(kind)) {
		memcpy(&kind, data + at, sizeof(kind));
		n = add_record(f, kind, data + at + sizeof(kind), len - at - sizeof(kind));
		if (!n)
			break;
		at += sizeof(kind) + n;
	}
	if (!complete || !len)
		add_stuck(f, &f->party[i]);
}

/* By process; a file in the process's mount namespace is the first. */
static int by_pid(const void *a, const void *b)
{
	const struct stat_process *x = a, *y = b;

	if (x->h.pid != y->h.pid)
		return x->h.pid < y->h.pid ? -1 : 1;
	return (int)y->in_own_mount - (int)x->in_own_mount;
}

/* Each process is shown once, by the file in its mount namespace. Two such files are reported. */
static void merge(struct stat_snapshot *s)
{
	size_t n = 0;

	if (s->count)
		qsort(s->process, s->count, sizeof(*s->process), by_pid);
	for (size_t i = 0; i < s->count; i++) {
		struct stat_process *p = &s->process[i], *last = n ? &s->process[n - 1] : NULL;

		if (!last || last->h.pid != p->h.pid) {
			s->process[n++] = *p;
			continue;
		}
		if (last->in_own_mount == p->in_own_mount && (last->ino != p->ino || last->dev != p->dev)) {
			last->ambiguous = true;
			snprintf(last->other_file, sizeof(last->other_file), "%s", p->file);
		}
		free(p->qp);
	}
	s->count = n;
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

void stat_warn_of_option(const char *cmd)
{
	const char *obstacle = ccs_stats_dir_obstacle(read_option());

	if (obstacle)
		tool_error(cmd, "warning: stats_dir=%s: %s; processes that have this option keep their "
			   "statistics elsewhere. Make it a directory with mode 1777, or unset stats_dir",
			   read_option(), obstacle);
}

static void read_all(struct stat_snapshot *s, pid_t only, bool brief)
{
	struct search f = { .s = s, .only = only, .brief = brief, .stats_dir = read_option() };
	const struct children c = { run_party, add_results, &f };

	*s = (struct stat_snapshot){ .now_ns = ccs_clock_ns(CLOCK_MONOTONIC),
				     .unix_ns = ccs_clock_ns(CLOCK_REALTIME) };
	ccs_stats_dir_set(read_option());
	namespaces_read(&f.ns, only);
	find_parties(&f);
	find_dirs(&f);
	children_run(&c, f.nparties);
	namespaces_free(&f.ns);
	free(f.party);
	free(f.dir);
	free(f.uid);
	merge(s);
}

void stat_read(struct stat_snapshot *s, pid_t only)
{
	read_all(s, only, false);
}

void stat_read_brief(struct stat_snapshot *s, pid_t only)
{
	read_all(s, only, true);
}

bool stat_read_increase(struct stat_snapshot *s, struct stat_snapshot *last)
{
	struct stat_snapshot now;
	bool ok;

	stat_read(&now, 0);
	ok = stat_copy(s, &now) == 0;
	if (ok)
		stat_subtract(s, last);
	stat_free(last);
	*last = now;
	if (s->since_s <= 0)
		s->since_s = 1e-9; /* the clock was set */
	return ok;
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
