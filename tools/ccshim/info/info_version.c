/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info --versions: versions of ccshim and libibverbs. */
#include "config.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "tools/ccshim/shared/preload.h"
#include "tools/common/terminal.h"

/* The file that libibverbs was loaded from; its name carries the version. */
static const char *libibverbs_path(char real[PATH_MAX])
{
	Dl_info where;

	if (!dladdr((void *)ibv_get_device_list, &where) || !realpath(where.dli_fname, real))
		return NULL;
	return real;
}

static const char *version_of(const char *path)
{
	const char *so = path ? strstr(path, ".so.") : NULL;

	return so ? so + 4 : NULL;
}

void info_version_text(void)
{
	char real[PATH_MAX], lib[PATH_MAX], err[PATH_MAX + 128];
	const char *path = libibverbs_path(real), *version = version_of(path);

	printf("ccshim %s\n", PACKAGE_VERSION);
	terminal_print(stdout, "  ", "preload %s",
		       preload_find(lib, sizeof(lib), err, sizeof(err)) ? err : lib);
	terminal_print(stdout, "  ", "libibverbs %s (%s)", version ? version : "?",
		       path ? path : "not found");
}

void info_version_json(struct ccs_json *j)
{
	char real[PATH_MAX], lib[PATH_MAX], err[PATH_MAX + 128];
	const char *path = libibverbs_path(real);

	ccs_json_str(j, "preload", preload_find(lib, sizeof(lib), err, sizeof(err)) ? NULL : lib);
	ccs_json_object(j, "libibverbs");
	ccs_json_str(j, "version", version_of(path));
	ccs_json_str(j, "path", path);
	ccs_json_end(j);
}
