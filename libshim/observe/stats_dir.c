/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe/stats_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ccshim/stats.h>

#include "base/os.h"
#include "base/sysfs.h"
#include "config/environment.h"

enum { STAT_MAX = 1024, SWEEP_MAX = 16384, FIELD_START = 22, FIELD_STACK = 28, UNFINISHED_S = 60 };

/* Field n, counted from 1, of /proc/PID/stat; field 2 may contain spaces and parentheses. */
static uint64_t parse_field(const char *line, unsigned n)
{
	const char *p = strrchr(line, ')');

	for (unsigned i = 2; p && i < n; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

int ccs_stats_identify(pid_t pid, struct ccs_stats_identity *id)
{
	char name[64], line[STAT_MAX];

	*id = (struct ccs_stats_identity){ 0 };
	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	if (!ccs_read_file(name, line, sizeof(line)) && errno)
		return errno == ESRCH ? ENOENT : errno;
	id->start_ticks = parse_field(line, FIELD_START);
	id->exec_mark = parse_field(line, FIELD_STACK);
	return 0;
}

uint64_t ccs_stats_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

static char configured[256];

void ccs_stats_dir_set(const char *dir)
{
	snprintf(configured, sizeof(configured), "%s", dir);
}

/* The n-th directory /tmp/ccshim-UID.XXXXXX of this user. */
static bool find_unpredictable(unsigned n, char *name, size_t len)
{
	DIR *tmp = opendir("/tmp");
	const struct dirent *e;
	bool found = false;
	char prefix[40];
	struct stat st;

	snprintf(prefix, sizeof(prefix), "ccshim-%ld.", (long)geteuid());
	while (tmp && !found && (e = readdir(tmp)))
		found = strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
			!fstatat(dirfd(tmp), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !n-- &&
			(size_t)snprintf(name, len, "/tmp/%s", e->d_name) < len;
	if (tmp)
		closedir(tmp);
	return found;
}

bool ccs_stats_dir_name(unsigned n, char *name, size_t len)
{
	const char *runtime = ccs_environment_get("XDG_RUNTIME_DIR");

	if (*configured && !n--)
		return (size_t)snprintf(name, len, "%s/ccshim-%ld", configured, (long)geteuid()) < len;
	if (!(runtime && *runtime == '/'))
		n++;
	if (geteuid() && n)
		n++;
	switch (n) {
	case 0:
		return (size_t)snprintf(name, len, "%s/ccshim", runtime) < len;
	case 1:
		return (size_t)snprintf(name, len, "/run/ccshim-stats") < len;
	case 2:
		return (size_t)snprintf(name, len, "/tmp/ccshim-%ld", (long)geteuid()) < len;
	default:
		return find_unpredictable(n - 3, name, len);
	}
}

/* The parent must belong to this user: the name may be inherited from another one (su). Or it is
 * sticky, so that no other user can rename the directory. */
static int check_parent(const char *name)
{
	char parent[512];
	struct stat st;

	snprintf(parent, sizeof(parent), "%s", name);
	*strrchr(parent, '/') = '\0';
	if (strcmp(parent, "/tmp") == 0)
		return 0;
	if (stat(parent, &st))
		return -1;
	if (st.st_uid == geteuid() || (st.st_mode & S_ISVTX))
		return 0;
	errno = EPERM;
	return -1;
}

static int open_private_dir(const char *name)
{
	struct stat st;
	int fd;

	if (check_parent(name) || (mkdir(name, 0700) && errno != EEXIST))
		return -1;
	fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

const char *ccs_stats_dir_obstacle(const char *dir)
{
	char own[300];
	struct stat st;

	if (!*dir)
		return NULL;
	snprintf(own, sizeof(own), "%s/ccshim-%ld", dir, (long)geteuid());
	if (stat(dir, &st))
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return strerror(ENOTDIR);
	if (check_parent(own))
		return "it belongs to another user and has no sticky bit";
	if (lstat(own, &st))
		return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) ? strerror(errno) : NULL;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return "its ccshim-UID is not a directory of that user only";
	return faccessat(AT_FDCWD, own, W_OK | X_OK, AT_EACCESS) ? strerror(errno) : NULL;
}

/* Without a free descriptor every directory would fail, and an unused directory would be left. */
static bool has_no_descriptor(void)
{
	return errno == EMFILE || errno == ENFILE;
}

int ccs_stats_dir_open(char *name, size_t len)
{
	int fd = -1;

	errno = ENAMETOOLONG;
	for (unsigned n = 0; fd < 0 && !has_no_descriptor() && ccs_stats_dir_name(n, name, len); n++)
		fd = open_private_dir(name);
	if (fd >= 0 || has_no_descriptor() ||
	    (size_t)snprintf(name, len, "/tmp/ccshim-%ld.XXXXXX", (long)geteuid()) >= len)
		return fd;
	return mkdtemp(name) ? open_private_dir(name) : -1;
}

pid_t ccs_stats_pid_of(const char *name)
{
	const size_t len = strspn(name, "0123456789");
	const char *ns = name + len;

	if (*ns == '.')
		ns += 1 + strspn(ns + 1, "0123456789");
	return len && len < 10 && !*ns ? (pid_t)strtol(name, NULL, 10) : 0;
}

bool ccs_stats_same(const struct ccs_stats_header *h, const struct ccs_stats_identity *id)
{
	return (!id->start_ticks || !h->start_ticks || id->start_ticks == h->start_ticks) &&
	       (!id->exec_mark || !h->exec_mark || id->exec_mark == h->exec_mark);
}

bool ccs_stats_is_stale(const struct ccs_stats_header *h)
{
	struct ccs_stats_identity id;
	const int error = ccs_stats_identify((pid_t)h->pid, &id);

	if (h->pid_namespace != ccs_stats_pid_namespace())
		return false;
	if (error)
		return error == ENOENT && kill((pid_t)h->pid, 0) && errno == ESRCH;
	return !ccs_stats_same(h, &id);
}

/* True for a file whose process ended before it wrote the header, which would identify it. */
static bool is_abandoned(int fd, pid_t pid)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ctim.tv_sec + UNFINISHED_S < time(NULL) &&
	       kill(pid, 0) && errno == ESRCH;
}

int ccs_stats_open_file(int dir, const char *name, int flags)
{
	const int at = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[40];
	struct stat st;
	int fd = -1;

	if (at < 0)
		return -1;
	errno = EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(link, flags | O_CLOEXEC | O_NONBLOCK);
	ccs_close(at);
	return fd;
}

bool ccs_stats_is_stale_file(int dir, const char *name)
{
	const pid_t pid = ccs_stats_pid_of(name);
	const int fd = pid ? ccs_stats_open_file(dir, name, O_RDONLY) : -1;
	struct ccs_stats_header *h = fd >= 0 ? calloc(1, sizeof(*h)) : NULL;
	bool stale = false;

	if (h && read(fd, h, offsetof(struct ccs_stats_header, uid)) > 0 &&
	    h->magic == CCS_STATS_MAGIC)
		stale = ccs_stats_is_stale(h);
	else if (h)
		stale = is_abandoned(fd, pid);
	ccs_close(fd);
	free(h);
	return stale;
}

unsigned ccs_stats_sweep(int dir)
{
	const int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;
	unsigned swept = 0, files = 0;

	if (!d) {
		ccs_close(copy);
		return 0;
	}
	while ((e = readdir(d)) && files++ < SWEEP_MAX)
		if (ccs_stats_is_stale_file(dir, e->d_name) && unlinkat(dir, e->d_name, 0) == 0)
			swept++;
	closedir(d);
	return swept;
}
