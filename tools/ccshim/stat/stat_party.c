/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the statistics files of a user or container, in a child process. Files are opened by the
 * IDs of the processes whose user owns the directory: other files cost no time, and no file is
 * attributed to a process of another user. A file is a process's only if it also states its PID
 * namespace and its start.
 */
#include "stat_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/stats_dir.h"
#include "subuid.h"
#include "tools/ccshim/shared/children.h"

/* Limits for each party except root and the caller: names to open, names to list, queue pairs. */
enum { TRIES_OF_PARTY = 262144, NAMES_OF_PARTY = 4096, SLOTS_OF_PARTY = 131072 };

/* A directory of statistics files. */
struct place {
	int dir;
	const char *name;
	uid_t owner;
	uint64_t mount_ns;               /* in which it is; 0: the caller's */
};

struct reader {
	const struct search *f;
	const struct party *party;
	int out;
	bool limited;
	unsigned tries, names;
	uint64_t slots;
	struct { dev_t dev; ino_t ino; } seen[DIRS_OF_PARTY];
	unsigned nseen;
	struct search_omitted omitted;
};

/* -- files ------------------------------------------------------------------------- */

static void write_kind(const struct reader *r, uint32_t kind, const void *data, size_t len)
{
	children_write(r->out, &kind, sizeof(kind));
	children_write(r->out, data, len);
}

/* Why the file of the process that the caller named cannot be used. */
static void write_obstacle(const struct reader *r, const struct place *at, const char *name,
			   const struct stat *st, const struct ccs_stats_header *h)
{
	char text[sizeof(r->f->s->obstacle)];
	const char *why = st->st_mode & 077 ? ": not a statistics file, or accessible to other users"
		: h->magic != CCS_STATS_MAGIC ? " is not a statistics file"
		: h->major != CCS_STATS_MAJOR ? " was written by another version of ccshim" : NULL;

	if (!r->f->only || !why)
		return;
	memset(text, 0, sizeof(text));
	snprintf(text, sizeof(text), "%s/%s%s", at->name, name, why);
	write_kind(r, SEARCH_OBSTACLE, text, sizeof(text));
}

static bool is_of_process(const struct ccs_stats_header *h, const struct ns_process *process)
{
	struct ccs_stats_identity id;

	return h->pid == (uint64_t)process->inner && h->pid_namespace == process->pid_ns &&
	       ccs_stats_identify(process->pid, &id) == 0 && ccs_stats_same(h, &id);
}

/* The host's name of the control group has the ID, which a process in a container may not see. */
static void read_container(struct stat_process *p)
{
	char proc[32], id[CCS_CONTAINER_LEN];

	snprintf(proc, sizeof(proc), "/proc/%" PRIu64, p->h.pid);
	if (ccs_container_read(proc, id))
		snprintf(p->h.container, sizeof(p->h.container), "%s", id);
}

static void write_process(struct reader *r, const struct place *at, const char *name,
			  const struct ns_process *process, struct stat_process *p)
{
	const bool foreign = process->pid_ns != r->f->ns.pid_ns;

	p->inner_pid = foreign ? p->h.pid : 0;
	p->h.pid = (uint64_t)process->pid;
	p->h.uid = p->owner = at->owner;
	p->other_root = at->mount_ns != 0;
	p->in_own_mount = p->other_root || !namespaces_is_in_other_mount(&r->f->ns, process);
	p->party = (size_t)(r->party - r->f->party);
	if (foreign)
		read_container(p);
	if ((size_t)snprintf(p->file, sizeof(p->file), "%s/%s", at->name, name) >= sizeof(p->file))
		return;
	write_kind(r, SEARCH_PROCESS, p, sizeof(*p));
	children_write(r->out, p->qp, p->count * sizeof(*p->qp));
}

/* A user with too many slots is shown without some queue pairs. */
static bool is_brief(struct reader *r, const struct ccs_stats_header *h)
{
	if (r->f->brief)
		return true;
	r->slots += h->slots;
	if (!r->limited || r->slots <= SLOTS_OF_PARTY)
		return false;
	r->slots -= h->slots;
	r->omitted.unreadable++;
	return true;
}

static void read_mapped(struct reader *r, const struct place *at, const char *name,
			const struct ns_process *process, const struct stat *st, int fd,
			const struct ccs_stats_header *h)
{
	struct stat_process p = { .dev = st->st_dev, .ino = st->st_ino };
	void *mapped = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return;
	if (stat_parse_mapped(mapped, (size_t)st->st_size, is_brief(r, h), &p))
		write_process(r, at, name, process, &p);
	else
		r->omitted.unreadable++;
	free(p.qp);
	munmap(mapped, (size_t)st->st_size);
}

static void try_file(struct reader *r, const struct place *at, const struct ns_process *process,
		     const char *name)
{
	struct ccs_stats_header h = { 0 };
	struct stat st;
	int fd;

	if (r->limited && r->tries++ >= TRIES_OF_PARTY)
		return;
	fd = ccs_stats_open_file(at->dir, name, O_RDONLY);
	if (fd < 0)
		return;
	/* The owner may truncate the file, so it is not mapped before it is identified. */
	if (fstat(fd, &st) == 0 && st.st_uid == at->owner &&
	    pread(fd, &h, offsetof(struct ccs_stats_header, mailbox), 0) >= 0) {
		write_obstacle(r, at, name, &st, &h);
		if (h.magic == CCS_STATS_MAGIC && is_of_process(&h, process))
			read_mapped(r, at, name, process, &st, fd, &h);
	}
	close(fd);
}

/* -- the rest of a directory --------------------------------------------------------- */

/* The process of a file has certainly ended if the file is older than the list of all processes. */
static bool is_left_over(struct reader *r, const struct ccs_stats_header *h, const struct stat *st)
{
	const struct namespaces *ns = &r->f->ns;

	if (h->pid_namespace == ns->pid_ns || namespaces_find(ns, h->pid_namespace, (pid_t)h->pid))
		return false;
	r->omitted.invisible += !ns->complete;
	return ns->complete && st->st_ctim.tv_sec + 1 < ns->read_s;
}

/* Remove the file of a process that has ended, and count a damaged one. */
static void sweep_file(struct reader *r, const struct place *at, const char *name)
{
	struct ccs_stats_header h = { 0 };
	struct ccs_stats_layout layout;
	struct stat st;
	bool remove = ccs_stats_is_stale_file(at->dir, name);
	const int fd = remove ? -1 : ccs_stats_open_file(at->dir, name, O_RDONLY);

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == at->owner &&
	    pread(fd, &h, sizeof(h), 0) > 0 && h.magic) {
		if (ccs_stats_layout(&h, (size_t)st.st_size, &layout))
			remove = is_left_over(r, &h, &st);
		else
			r->omitted.unreadable++;
	}
	if (fd >= 0)
		close(fd);
	if (remove)
		unlinkat(at->dir, name, 0);
}

/* Takes at->dir. */
static void sweep(struct reader *r, const struct place *at)
{
	DIR *d = fdopendir(at->dir);
	const struct dirent *e;

	if (!d) {
		close(at->dir);
		return;
	}
	while ((e = readdir(d))) {
		const pid_t pid = ccs_stats_pid_of(e->d_name);

		if (r->limited && r->names++ >= NAMES_OF_PARTY)
			break;
		if (pid && (!r->f->only || pid == r->f->only))
			sweep_file(r, at, e->d_name);
	}
	closedir(d);
}

/* -- directories --------------------------------------------------------------------- */

static bool is_owned(const struct place *at, const struct ns_process *p)
{
	return (p->effective == at->owner || p->saved == at->owner) && p->pid_ns &&
	       (!at->mount_ns || p->mount_ns == at->mount_ns);
}

static void read_files(struct reader *r, const struct place *at)
{
	const struct namespaces *ns = &r->f->ns;
	char name[48];

	for (size_t i = 0; i < ns->count; i++) {
		const struct ns_process *p = &ns->process[i];

		if (!is_owned(at, p))
			continue;
		snprintf(name, sizeof(name), "%ld", (long)p->inner);
		try_file(r, at, p, name);
		snprintf(name, sizeof(name), "%ld.%" PRIu64, (long)p->inner, p->pid_ns);
		try_file(r, at, p, name);
	}
	r->omitted.unreadable += r->limited && r->tries > TRIES_OF_PARTY;
}

static bool is_new(struct reader *r, const struct stat *st)
{
	for (unsigned i = 0; i < r->nseen; i++)
		if (r->seen[i].dev == st->st_dev && r->seen[i].ino == st->st_ino)
			return false;
	if (r->nseen == DIRS_OF_PARTY) {
		r->omitted.unreadable++;
		return false;
	}
	r->seen[r->nseen].dev = st->st_dev;
	r->seen[r->nseen++].ino = st->st_ino;
	return true;
}

/* Takes the descriptor, which may be -1 with errno. */
static void read_dir(struct reader *r, int dir, const char *name, uint64_t mount_ns)
{
	struct place at = { .dir = dir, .name = name, .mount_ns = mount_ns };
	struct stat st;

	if (dir < 0) {
		r->omitted.denied += errno == EACCES && !mount_ns;
		return;
	}
	if (fstat(dir, &st) || (st.st_uid != geteuid() && geteuid()) ||
	    (!mount_ns && subuid_user(st.st_uid) != r->party->user) || !is_new(r, &st)) {
		close(dir);
		return;
	}
	at.owner = st.st_uid;
	read_files(r, &at);
	if (mount_ns) /* a user can have any directory there, also one of other files */
		close(dir);
	else
		sweep(r, &at);
}

static int open_plain(const char *name)
{
	return open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void read_own_mount(struct reader *r)
{
	const struct search *f = r->f;
	char name[512];

	if (r->party->user == subuid_user(geteuid()))
		for (unsigned n = 0; ccs_stats_dir_name(n, name, sizeof(name)); n++)
			read_dir(r, open_plain(name), name, 0);
	for (size_t i = 0; i < f->ndirs; i++)
		if (f->dir[i].user == r->party->user)
			read_dir(r, open_plain(f->dir[i].name), f->dir[i].name, 0);
}

/* -- other mount namespaces ---------------------------------------------------------- */

/* Read parent/PREFIX*suffix below the root of that process; * begins with a digit. */
static void read_matching(struct reader *r, const struct ns_process *p, const char *parent,
			  const char *prefix, const char *suffix)
{
	const int dir = namespaces_open_dir(p->pid, parent);
	DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
	const size_t len = strlen(prefix);
	const struct dirent *e;
	char name[320];

	if (!d && dir >= 0)
		close(dir);
	for (unsigned n = 0; d && (e = readdir(d)); n++) {
		if (n == NAMES_OF_PARTY) {
			r->omitted.unreadable++;
			break;
		}
		if (strncmp(e->d_name, prefix, len) == 0 && e->d_name[len] >= '0' && e->d_name[len] <= '9' &&
		    (size_t)snprintf(name, sizeof(name), "%s/%s%s", parent, e->d_name, suffix) < sizeof(name))
			read_dir(r, namespaces_open_dir(p->pid, name), name, p->mount_ns);
	}
	if (d)
		closedir(d);
}

static void read_other_mount(struct reader *r, const struct ns_process *p)
{
	static const char root_dir[] = "/run/ccshim-stats";

	read_dir(r, namespaces_open_dir(p->pid, root_dir), root_dir, p->mount_ns);
	read_matching(r, p, "/run/user", "", "/ccshim");
	read_matching(r, p, "/tmp", "ccshim-", "");
	if (*r->f->stats_dir)
		read_matching(r, p, r->f->stats_dir, "ccshim-", "");
}

/* Whether the party's child reads the mount namespace of that process. */
static bool is_of_party(const struct reader *r, const struct ns_process *p)
{
	const uid_t owner = r->party->mount_ns ? 0 : namespaces_mount_owner(&r->f->ns, p);

	return r->party->mount_ns ? p->mount_ns == r->party->mount_ns : owner && owner == r->party->user;
}

void stat_party_name(const struct party *party, char name[16])
{
	snprintf(name, 16, "ccs%c%lu", party->mount_ns ? 'm' : 'u',
		 party->mount_ns ? (unsigned long)party->mount_ns : (unsigned long)party->user);
}

void stat_party_read(const struct search *f, const struct party *party, int out)
{
	struct reader *r = calloc(1, sizeof(*r));
	char name[16];

	if (!r)
		return;
	*r = (struct reader){ .f = f, .party = party, .out = out,
			      .limited = party->mount_ns || (party->user && party->user != geteuid()) };
	stat_party_name(party, name);
	prctl(PR_SET_NAME, name);
	if (!party->mount_ns)
		read_own_mount(r);
	for (size_t i = 0; i < f->ns.count; i++)
		if (namespaces_is_in_other_mount(&f->ns, &f->ns.process[i]) &&
		    (!i || f->ns.process[i].mount_ns != f->ns.process[i - 1].mount_ns) &&
		    is_of_party(r, &f->ns.process[i]))
			read_other_mount(r, &f->ns.process[i]);
	write_kind(r, SEARCH_OMITTED, &r->omitted, sizeof(r->omitted));
	free(r);
}
