/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads plug-ins. A plug-in runs in the process and is trusted, so only its user, or root, may have
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

#include "base/text.h"

/* dlerror() without the leading file name, which the message has already. */
static const char *linker_error(const char *path)
{
	const char *text = dlerror();
	const size_t len = strlen(path);

	if (!text)
		return "the dynamic linker gives no reason";
	return strncmp(text, path, len) == 0 && text[len] == ':' ? text + len + 2 : text;
}

/*
 * The reason why other users could change the file or directory, as StrictModes of sshd_config(5)
 * has it, or NULL. In a directory with the sticky bit others cannot replace the file. The owner of
 * / decides what this process sees: root, or the number that stands for root in a user namespace.
 */
static const char *find_fault(const char *path)
{
	struct stat s, top;

	if (stat(path, &s) || stat("/", &top))
		return NULL; /* the dynamic linker says why */
	if (s.st_uid != 0 && s.st_uid != geteuid() && !(S_ISDIR(s.st_mode) && s.st_uid == top.st_uid))
		return "belongs to another user";
	if (S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX))
		return NULL;
	if (s.st_mode & S_IWOTH)
		return "may be written by everyone";
	return s.st_mode & S_IWGRP ? "may be written by its group" : NULL;
}

/* Check the file and all directories above it, whose names `real` is cut to for the time of the
 * call. Returns the reason to refuse it, or NULL. */
static const char *check_owner(char *real, char *why, size_t len)
{
	const char *fault = find_fault(real);

	if (fault) {
		snprintf(why, len, "it %s: copy it, and use the copy with chmod go-w", fault);
		return why;
	}
	for (char *slash = strchr(real + 1, '/'); slash && !fault; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		fault = find_fault(real);
		if (fault)
			snprintf(why, len, "its directory %s %s: move it to a directory that only you "
				 "and root may change, also in all directories above", real, fault);
		*slash = '/';
	}
	return fault ? why : NULL;
}

/* Symbolic links are resolved once, so that the file that was checked is loaded. */
static void *load(const char *path, char *err, size_t errlen)
{
	char *const real = realpath(path, NULL);
	const char *const name = real ? real : path;
	char why[512];
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

/* Not inlined: a thread that parses may have a small stack. */
static __attribute__((noinline)) const struct ccs_cc_ops *
load_plugin(const char *text, size_t len, char *err, size_t errlen)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%.*s", (int)len, text) < (int)sizeof(path))
		return ccs_plugin_load(path, err, errlen);
	ccs_refuse(err, errlen, "the algorithm's name is longer than %zu bytes", sizeof(path) - 1);
	return NULL;
}

/* The index of the parameter whose name has `to` in place of `from` (min_rate, max_rate); -1
 * if it does not exist. */
static int find_partner(const struct ccs_cc_ops *ops, const char *name, const char *from, const char *to)
{
	const char *at = strstr(name, from);
	char other[64];

	if (!at)
		return -1;
	snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - name), name, to, at + strlen(from));
	return ccs_cc_find_param(ops, other);
}

/* A given minimum above its given maximum is a mistake for every algorithm. */
static int check_pairs(const struct ccs_cc_spec *cc, char *err, size_t errlen)
{
	static const char *const pairs[][2] = { { "min", "max" }, { "low", "high" } };

	for (unsigned i = 0; i < cc->ops->nparams; i++)
		for (unsigned k = 0; k < sizeof(pairs) / sizeof(*pairs); k++) {
			const char *name = cc->ops->params[i].name;
			const int j = find_partner(cc->ops, name, pairs[k][0], pairs[k][1]);

			if (j >= 0 && cc->given[i] > cc->given[j])
				return ccs_refuse(err, errlen, "%s of %s is above %s; lower it",
						  name, cc->ops->name, cc->ops->params[j].name);
		}
	return 0;
}

int ccs_spec_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen)
{
	const size_t len = ccs_cc_name_len(text);
	const struct ccs_cc_ops *ops;
	struct ccs_cc_spec new;

	if (ccs_cc_is_path(text)) {
		ops = load_plugin(text, len, err, errlen);
		if (!ops || ccs_cc_parse_params(&new, ops, text + len, err, errlen))
			return -1;
	} else if (ccs_cc_parse(&new, text, err, errlen)) {
		return -1;
	}
	if (check_pairs(&new, err, errlen))
		return -1;
	*spec = new;
	return 0;
}

int ccs_check_cc(const char *text, char *err, size_t errlen)
{
	struct ccs_cc_spec spec;

	return ccs_cc_is_path(text) ? 0 : ccs_spec_parse(&spec, text, err, errlen);
}
