/* SPDX-License-Identifier: BSD-2-Clause */
/* Expands the file names given by options, and opens the files for writing. */
#include "config/filename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ccs_filename_expand(const char *name, char *out, size_t len)
{
	const char *p = strstr(name, "%p");

	if (p)
		snprintf(out, len, "%.*s%ld%s", (int)(p - name), name, (long)getpid(), p + 2);
	else
		snprintf(out, len, "%s", name);
}

void ccs_filename_absolute(const char *name, char *out, size_t len)
{
	size_t at = 0;

	if (*name != '/' && getcwd(out, len - 1)) {
		at = strlen(out);
		out[at++] = '/';
	}
	if (at + strlen(name) < len)
		strcpy(out + at, name);
	else
		snprintf(out, len, "%s", name);
}

int ccs_filename_open(const char *name, int flags)
{
	struct stat st;

	flags |= O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	if (lstat(name, &st) || !S_ISLNK(st.st_mode))
		return open(name, flags | O_NOFOLLOW, 0600);
	if (!st.st_uid || st.st_uid == geteuid())
		return open(name, flags, 0600);
	errno = EPERM;
	return -1;
}
