/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/gids.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>

#include "base/sysfs.h"

#define READ_NS 1000000000ull

static void read_gids(struct ccs_gids *g, const char *sysfs)
{
	char text[PATH_MAX];
	glob_t files;

	g->n = 0;
	snprintf(text, sizeof(text), "%s/class/infiniband/*/ports/*/gids/*", sysfs);
	if (glob(text, 0, NULL, &files))
		return;
	for (size_t i = 0; i < files.gl_pathc && g->n < CCS_GIDS; i++) {
		struct ccs_address *gid = &g->gid[g->n];
		const int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (ccs_sysfs_read_line(fd, text, sizeof(text)) &&
		    inet_pton(AF_INET6, text, gid) == 1 && ccs_address_is_unicast(gid))
			g->n++;
	}
	globfree(&files);
}

static bool has(const struct ccs_gids *g, const struct ccs_address *address)
{
	for (unsigned i = 0; i < g->n; i++)
		if (ccs_address_equal(&g->gid[i], address))
			return true;
	return false;
}

bool ccs_gids_admit(struct ccs_gids *g, const char *sysfs, const struct ccs_address *address, uint64_t now_ns)
{
	if (has(g, address))
		return true;
	if (!g->read_ns || now_ns - g->read_ns >= READ_NS) {
		read_gids(g, sysfs);
		g->read_ns = now_ns;
	}
	return !g->n || has(g, address);
}
