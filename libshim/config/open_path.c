/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a path as open(2) does, but follows no symbolic link of another user, also in directories
 * on the way. Each component is opened once and links are checked by their descriptors, so that none
 * can be replaced after the check. Links of procfs, such as
 * /dev/stderr's, have no path to walk: the kernel follows them.
 */
#include "config/filename.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os.h"

#ifndef SYS_openat2 /* the C library of Debian 11 has no name for it; its number is the same on all */
#define SYS_openat2 437
#endif

enum { LINKS_MAX = 40 };                 /* as in Linux */

static int open_below(int dir, const char *path, int flags, unsigned *links);

/* Read the link into target; 0, or -1 and errno. *magic: the kernel has to follow it. */
static int read_link(int dir, const char *name, char target[PATH_MAX], bool *magic)
{
	const int link = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;
	struct stat st;
	ssize_t n = -1;

	if (link >= 0 && fstat(link, &st) == 0 && fstatfs(link, &fs) == 0) {
		if (!S_ISLNK(st.st_mode))
			errno = ENOTDIR;
		else if (st.st_uid && st.st_uid != geteuid())
			errno = EPERM;
		else
			n = readlinkat(link, "", target, PATH_MAX - 1);
		*magic = fs.f_type == PROC_SUPER_MAGIC;
	}
	ccs_close(link);
	if (n < 0)
		return -1;
	target[n] = '\0';
	return 0;
}

/* What the link `name` of dir leads to. -1 and errno. */
static int follow(int dir, const char *name, int flags, unsigned *links)
{
	char *target;
	bool magic = false;
	int fd = -1;

	if (++*links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	target = malloc(PATH_MAX);
	if (target && read_link(dir, name, target, &magic) == 0)
		fd = magic ? openat(dir, name, flags, 0600) : open_below(dir, target, flags, links);
	free(target);
	return fd;
}

/* Open a component of a path. */
static int open_component(int dir, const char *name, int flags, unsigned *links)
{
	const int fd = openat(dir, name, flags | O_NOFOLLOW, 0600);

	/* The errors of a link; with O_DIRECTORY the second. */
	if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR))
		return fd;
	return follow(dir, name, flags, links);
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

/*
 * Needs no descriptor but the result's, as the application may have left one only. Valgrind prints a
 * warning where it does not know the system call, so it is the second choice.
 */
static int open_without_links(const char *path, int flags)
{
	const struct open_how how = {
		.flags = (unsigned)flags, .mode = flags & O_CREAT ? 0600 : 0, .resolve = RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

int ccs_open_path(const char *path, int flags)
{
	unsigned links = 0;
	int fd;

	if (!*path) {
		errno = ENOENT;
		return -1;
	}
	flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK);
	fd = open_below(AT_FDCWD, path, flags, &links);
	if (fd < 0 && errno == EMFILE) {
		fd = open_without_links(path, flags);
		if (fd < 0)
			errno = EMFILE;
	}
	return fd;
}
