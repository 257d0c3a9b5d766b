/* SPDX-License-Identifier: BSD-2-Clause */
/* Expands the file names given by options. */
#include "config/filename.h"

#include <stdio.h>
#include <string.h>
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
