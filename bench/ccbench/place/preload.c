/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "tools/common/installed.h"
#include "tools/common/preload_list.h"

#define SHIM "libccshim.so"

/* Whether the entry is libccshim.so, in any directory. */
static bool is_shim(const char *entry, size_t len)
{
	const char *slash = memrchr(entry, '/', len);
	size_t dir = slash ? (size_t)(slash + 1 - entry) : 0;

	return len - dir == strlen(SHIM) && !memcmp(entry + dir, SHIM, len - dir);
}

/* The other entries. */
static void remove_shim(const char *list, char *buf, size_t len)
{
	size_t word, n = 0;

	buf[0] = '\0';
	for (; list && *list; list += word + strspn(list + word, ": ")) {
		word = strcspn(list, ": ");
		if (word && !is_shim(list, word) && n < len)
			n += (size_t)snprintf(buf + n, len - n, "%s%.*s", n ? ":" : "", (int)word, list);
	}
}

void preload_value(const char *old, const char *lib, char *buf, size_t len)
{
	char *value;

	remove_shim(old, buf, len);
	value = lib ? preload_list_add(buf, lib) : NULL;
	if (value)
		snprintf(buf, len, "%s", value);
	free(value);
}

int preload_find(char *buf, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", buf, len - 1);
	char *slash, moved[PATH_MAX];

	if (n > 0) {
		buf[n] = '\0';
		/* .../bench/ccbench/ccbench -> .../.libs/libccshim.so */
		for (int up = 0; up < 3 && (slash = strrchr(buf, '/')); up++)
			*slash = '\0';
		n = (ssize_t)strlen(buf);
		snprintf(buf + n, len - (size_t)n, "/.libs/" SHIM);
		if (!access(buf, R_OK))
			return 0;
	}
	snprintf(buf, len, "%s", installed_path(CCS_PKGLIBDIR "/" SHIM, moved, sizeof(moved)));
	return access(buf, R_OK);
}
