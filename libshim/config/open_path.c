/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a path as open(2) does, but follows no symbolic link of another user, also in directories
 * on the way. Each component is opened once and checked by its descriptor, so that a link cannot
 * replace it after the check. Links of procfs, such as /dev/stderr's, have no path to walk: the
 * kernel follows them.
 */
#include "config/filename.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os.h"

enum { LINKS_MAX = 40 };                 /* as in Linux */

static int open_below(int dir, const char *path, int flags, unsigned *links);

/* What the link `name` of dir, open as `link`, leads to. -1 and errno. */
static int follow(int dir, const char *name, int link, const struct stat *st, int flags, unsigned *links)
{
	struct statfs fs;
	char *target;
	ssize_t n;
	int fd = -1;

	if (st->st_uid && st->st_uid != geteuid()) {
		errno = EPERM;
		return -1;
	}
	if (fstatfs(link, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC)
		return openat(dir, name, flags, 0600);
	if (++*links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	target = malloc(PATH_MAX);
	n = target ? readlinkat(link, "", target, PATH_MAX - 1) : -1;
	if (n >= 0) {
		target[n] = '\0';
		fd = open_below(dir, target, flags, links);
	}
	free(target);
	return fd;
}

/* Open a component of a path. */
static int open_component(int dir, const char *name, int flags, unsigned *links)
{
	const int link = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int fd;

	if (link < 0 && errno != ENOENT)
		return -1;
	if (link >= 0 && fstat(link, &st) == 0 && S_ISLNK(st.st_mode))
		fd = follow(dir, name, link, &st, flags, links);
	else
		fd = openat(dir, name, flags | O_NOFOLLOW, 0600);
	ccs_close(link);
	return fd;
}

static int open_below(int dir, const char *path, int flags, unsigned *links)
{
	int at = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, next;
	char name[NAME_MAX + 1];
	bool last;
	size_t n;

	if (*path == '/' && at < 0)
		return -1;
	do {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		last = !path[n + strspn(path + n, "/")];
		if (n > NAME_MAX) {
			errno = ENAMETOOLONG;
			next = -1;
		} else {
			memcpy(name, path, n);
			strcpy(name + n, n ? "" : ".");
			next = open_component(at >= 0 ? at : dir, name, last ? flags
					      : O_PATH | O_DIRECTORY | O_CLOEXEC, links);
		}
		ccs_close(at);
		at = next;
		path += n;
	} while (at >= 0 && !last);
	return at;
}

int ccs_open_path(const char *path, int flags)
{
	unsigned links = 0;

	if (!*path) {
		errno = ENOENT;
		return -1;
	}
	return open_below(AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, &links);
}

int ccs_filename_open(const char *name, int flags)
{
	return ccs_open_path(name, O_WRONLY | flags);
}
