/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads a plug-in. It runs in the process and is trusted, so only its user, or root, may have
 * written it; the other checks only find mistakes.
 */
#include "config/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* dlerror() without the leading file name, which the message has already. */
static const char *linker_error(const char *path)
{
	const char *text = dlerror();
	const size_t len = strlen(path);

	if (!text)
		return "the dynamic linker gives no reason";
	return strncmp(text, path, len) == 0 && text[len] == ':' ? text + len + 2 : text;
}

/* Why others could change it: its owner, or everyone. NULL: they cannot. */
static const char *who_may_change(const struct stat *s)
{
	if (s->st_uid != 0 && s->st_uid != geteuid())
		return "belongs to another user";
	return (s->st_mode & S_IWOTH) && !(S_ISDIR(s->st_mode) && (s->st_mode & S_ISVTX))
		? "may be written by everyone" : NULL;
}

/* Check the file and its directory. Returns the reason to refuse it, or NULL. Restores `real`. */
static const char *check_owner(char *real, char *why, size_t len)
{
	char *const slash = strrchr(real, '/');
	struct stat file, dir;
	const char *who;
	int rc;

	rc = stat(real, &file);
	*slash = '\0';
	rc = rc ? rc : stat(slash == real ? "/" : real, &dir);
	*slash = '/';
	if (rc)
		return NULL; /* the dynamic linker says why */
	who = who_may_change(&file);
	if (who)
		snprintf(why, len, "it %s: copy it, and use the copy", who);
	else if ((who = who_may_change(&dir)))
		snprintf(why, len, "its directory %s: move it to one of yours", who);
	return who ? why : NULL;
}

/* Symbolic links are resolved once, so that the file that was checked is loaded. */
static void *load(const char *path, char *err, size_t errlen)
{
	char *const real = realpath(path, NULL);
	const char *const name = real ? real : path;
	char why[128];
	void *object = NULL;

	if (getauxval(AT_SECURE))
		snprintf(err, errlen, "%s: not loaded into a program that gains privileges", path);
	else if (real && check_owner(real, why, sizeof(why)))
		snprintf(err, errlen, "%s: %s", path, why);
	else if (!(object = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
		snprintf(err, errlen, "%s: it cannot be loaded: %s", path, linker_error(name));
	free(real);
	return object;
}

const struct ccs_cc_ops *ccs_plugin_load(const char *path, char *err, size_t errlen)
{
	void *const object = load(path, err, errlen);
	const struct ccs_cc_ops *ops;
	char why[256];

	if (!object)
		return NULL;
	ops = dlsym(object, "ccs_cc_plugin");
	if (!ops) {
		snprintf(err, errlen, "%s: it does not export ccs_cc_plugin", path);
		return NULL;
	}
	if (ccs_plugin_check(ops, why, sizeof(why))) {
		snprintf(err, errlen, "%s: %s", path, why);
		return NULL;
	}
	return ops;
}
