/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds libraries to LD_PRELOAD's list. */
#include "tools/common/preload_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_listed(const char *list, const char *path)
{
	const size_t len = strlen(path);

	for (const char *p = list; (p = strstr(p, path)); p += len)
		if ((p == list || strchr(" :", p[-1])) && strchr(" :", p[len]))
			return true;
	return false;
}

/* Whether the entry is the runtime of a sanitizer, of gcc or clang. */
static bool is_sanitizer(const char *name, size_t len)
{
	static const char *const starts[] = {
		"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libubsan.so", "libclang_rt."
	};
	const char *slash = memrchr(name, '/', len);
	const size_t dir = slash ? (size_t)(slash + 1 - name) : 0;

	for (unsigned i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		const size_t n = strlen(starts[i]);

		if (len - dir >= n && memcmp(name + dir, starts[i], n) == 0)
			return true;
	}
	return false;
}

/* The part of the list after the runtimes of sanitizers at its head. */
static const char *skip_sanitizers(const char *list)
{
	const char *p = list + strspn(list, " :");
	size_t len;

	while ((len = strcspn(p, " :")) && is_sanitizer(p, len))
		p += len + strspn(p + len, " :");
	return p;
}

char *preload_list_add(const char *list, const char *library)
{
	const char *rest = skip_sanitizers(list);
	const int head = (int)(rest - list);
	char *value;

	if (is_listed(list, library))
		return strdup(list);
	return asprintf(&value, "%.*s%s%s%s%s", head, list,
			head && !strchr(" :", rest[-1]) ? ":" : "", library, *rest ? ":" : "", rest) < 0 ?
	       NULL : value;
}
