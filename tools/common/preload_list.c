/* SPDX-License-Identifier: BSD-2-Clause */
/* Appends libraries to LD_PRELOAD's list. */
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

char *preload_list_append(const char *list, const char *library)
{
	char *value;

	if (!*list)
		return strdup(library);
	if (is_listed(list, library))
		return strdup(list);
	return asprintf(&value, "%s:%s", list, library) < 0 ? NULL : value;
}
