/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/loaded.h"

static const char *const names[] = {
	"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", NULL
};

static char **kept;                      /* NAME=value, ended by NULL; NULL if allocation failed */

static bool has_prefix(const char *variable)
{
	return strncmp(variable, CCS_ENVIRONMENT_PREFIX, strlen(CCS_ENVIRONMENT_PREFIX)) == 0;
}

static const char *value_of(const char *variable, const char *name, size_t len)
{
	return strncmp(variable, name, len) == 0 && variable[len] == '=' ? variable + len + 1 : NULL;
}

static bool is_one_of(const char *variable, const char *const *list)
{
	for (; *list; list++)
		if (value_of(variable, *list, strlen(*list)))
			return true;
	return false;
}

static bool is_ours(const char *variable, const char *const *const *more)
{
	bool ours = has_prefix(variable) || is_one_of(variable, names);

	for (; !ours && *more; more++)
		ours = is_one_of(variable, *more);
	return ours;
}

/*
 * Called by a constructor, when another preload may not have run its own: only malloc() and its
 * relatives are called by name, which the dynamic linker has called before.
 */
void ccs_environment_keep(const char *const *const *more)
{
	size_t n = 0, all = 0;

	if (CCS_LIBC(getauxval)(AT_SECURE))
		return;
	for (char **e = environ; e && *e; e++)
		all += is_ours(*e, more);
	kept = calloc(all + 1, sizeof(*kept));
	for (char **e = environ; kept && n < all; e++)
		if (is_ours(*e, more) && (kept[n] = malloc(strlen(*e) + 1)))
			strcpy(kept[n++], *e);
}

static const char *find(char **variables, const char *name, size_t len)
{
	const char *value = NULL;

	for (; !value && variables && *variables; variables++)
		value = value_of(*variables, name, len);
	return value;
}

const char *ccs_environment_get(const char *name)
{
	const char *value = secure_getenv(name);

	return value ? value : find(kept, name, strlen(name));
}

void ccs_environment_each(void (*call)(void *arg, const char *variable), void *arg)
{
	for (char **e = environ; e && *e; e++)
		if (has_prefix(*e))
			call(arg, *e);
	for (char **e = kept; e && *e; e++)
		if (has_prefix(*e) && !find(environ, *e, strcspn(*e, "=")))
			call(arg, *e);
}
