/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads a plug-in. It runs in the process and is trusted; the checks only find mistakes. */
#include "config/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

/* dlerror() without the leading file name, which the message has already. */
static const char *linker_error(const char *path)
{
	const char *text = dlerror();
	const size_t len = strlen(path);

	if (!text)
		return "the dynamic linker gives no reason";
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
		snprintf(err, errlen, "%s: it cannot be loaded: %s", path, linker_error(path));
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
