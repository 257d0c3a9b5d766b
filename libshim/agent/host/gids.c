/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/gids.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

enum { PORTS = 8 };
#define READ_NS 1000000000ull

static void add_gid(struct ccs_gids *g, int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	struct ccs_address address;
	char text[64];
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (g->n < CCS_GIDS && inet_pton(AF_INET6, text, address.b) == 1 && ccs_address_is_unicast(&address))
		g->gid[g->n++] = address;
}

static void add_port(struct ccs_gids *g, const char *sysfs, const char *device, unsigned port)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *gids;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/gids", sysfs, device, port);
	gids = opendir(path);
	while (gids && (e = readdir(gids)))
		if (*e->d_name != '.')
			add_gid(g, dirfd(gids), e->d_name);
	if (gids)
		closedir(gids);
}

static void read_gids(struct ccs_gids *g, const char *sysfs)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *devices;

	g->n = 0;
	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
	devices = opendir(path);
	while (devices && (e = readdir(devices)))
		for (unsigned port = 1; *e->d_name != '.' && port <= PORTS; port++)
			add_port(g, sysfs, e->d_name, port);
	if (devices)
		closedir(devices);
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
