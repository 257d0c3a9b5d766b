/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/ingress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/sysfile.h"

static int open_file(const char *sysfs, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int open_file(const char *sysfs, const char *fmt, ...)
{
	char file[PATH_MAX], name[PATH_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (snprintf(file, sizeof(file), "%s/class/%s", sysfs, name) >= (int)sizeof(file)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(file, O_RDONLY | O_CLOEXEC);
}

static bool is_port_of(const char *sysfs, const char *device, unsigned port, const char *interface)
{
	char name[IF_NAMESIZE + 1] = "";
	const int fd = open_file(sysfs, "infiniband/%s/ports/%u/gid_attrs/ndevs/0", device, port);

	if (fd < 0)
		return false;
	if (read(fd, name, sizeof(name) - 1) < 0)
		*name = '\0';
	close(fd);
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, interface) == 0;
}

/* A device's ports are netdevs of their own. */
static int open_port(const char *sysfs, const char *device, const char *interface)
{
	for (unsigned port = 1; port <= CCS_INGRESS_PORTS; port++)
		if (is_port_of(sysfs, device, port, interface))
			return open_file(sysfs, "infiniband/%s/ports/%u/counters/port_rcv_data",
					 device, port);
	return -1;
}

static void open_ports(struct ccs_ingress *in, const char *sysfs, const char *interface)
{
	char path[PATH_MAX];
	const struct dirent *e;
	unsigned n = 0;
	DIR *devices;

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
	devices = opendir(path);
	if (!devices)
		return;
	while (n < CCS_INGRESS_PORTS && (e = readdir(devices))) {
		if (*e->d_name == '.')
			continue;
		in->rdma[n] = open_port(sysfs, e->d_name, interface);
		if (in->rdma[n] >= 0)
			n++;
	}
	closedir(devices);
}

int ccs_ingress_open(struct ccs_ingress *in, const char *sysfs, const char *interface)
{
	for (unsigned i = 0; i < CCS_INGRESS_PORTS; i++)
		in->rdma[i] = -1;
	in->netdev = open_file(sysfs, "net/%s/statistics/rx_bytes", interface);
	if (in->netdev < 0)
		return errno;
	open_ports(in, sysfs, interface);
	return 0;
}

void ccs_ingress_close(struct ccs_ingress *in)
{
	for (unsigned i = 0; i < CCS_INGRESS_PORTS; i++)
		if (in->rdma[i] >= 0)
			close(in->rdma[i]);
	close(in->netdev);
}

bool ccs_ingress_read(const struct ccs_ingress *in, uint64_t *bytes)
{
	uint64_t words;

	if (!ccs_sysfile_read(in->netdev, bytes))
		return false;
	for (unsigned i = 0; i < CCS_INGRESS_PORTS && in->rdma[i] >= 0; i++) {
		if (!ccs_sysfile_read(in->rdma[i], &words))
			return false;
		*bytes += 4 * words;
	}
	return true;
}

double ccs_ingress_speed(const char *sysfs, const char *interface)
{
	const int fd = open_file(sysfs, "net/%s/speed", interface);
	uint64_t mbit = 0;

	if (fd < 0)
		return 0;
	/* -1 while the link is down, and for ever on devices without one. */
	if (!ccs_sysfile_read(fd, &mbit) || mbit > 100000000)
		mbit = 0;
	close(fd);
	return 1e6 * (double)mbit;
}
