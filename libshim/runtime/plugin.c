/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads a plug-in. It is trusted with everything: it runs in the process; the checks are for slips. */
#include "runtime/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

/* dlerror() without the file's name in front: that is there already. */
static const char *linker_says(const char *path)
{
	const char *text = dlerror();
	const size_t len = strlen(path);

	if (!text)
		return "for no reason that the dynamic linker tells";
	return strncmp(text, path, len) == 0 && text[len] == ':' ? text + len + 2 : text;
}

const struct ccs_cc_ops *ccs_plugin_load(const char *path, char *err, size_t errlen)
{
	const struct ccs_cc_ops *ops;
	char why[256];
	void *object;

	if (getauxval(AT_SECURE)) {
		snprintf(err, errlen, "%s: not loaded into a program that gains privileges", path);
		return NULL;
	}
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		snprintf(err, errlen, "%s: it cannot be loaded: %s", path, linker_says(path));
		return NULL;
	}
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
