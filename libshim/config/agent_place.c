/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/agent_place.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* Inode of the initial PID namespace, the same in each kernel since 3.8. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

static const char *const installed[] = {
	CCS_SBINDIR "/ccshimd", "/usr/sbin/ccshimd", "/usr/local/sbin/ccshimd",
	"/etc/systemd/system/ccshimd.service", "/usr/lib/systemd/system/ccshimd.service",
	"/lib/systemd/system/ccshimd.service",
};

static bool stat_below(const char *root, const char *path, struct stat *st)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s%s", root, path);
	return stat(name, st) == 0;
}

const char *ccs_agent_place_obstacle(const char *root)
{
	struct stat st;

	for (unsigned i = 0; i < sizeof(installed) / sizeof(*installed); i++)
		if (stat_below(root, installed[i], &st))
			return "ccshimd is installed here: start it, or set agent_thread=y";
	if (!stat_below(root, "/proc/self/ns/pid", &st) || st.st_ino != FIRST_PID_NAMESPACE)
		return "this process is in a container: start ccshimd on the host, or set "
		       "agent_thread=y";
	return NULL;
}
