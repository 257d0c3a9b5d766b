/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/ingress.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/sysfs.h"

static bool is_port_of(const char *sysfs, const char *device, unsigned port, const char *interface)
{
	char name[IF_NAMESIZE + 1];

	return ccs_sysfs_netdev(sysfs, device, port, name) && strcmp(name, interface) == 0;
}

/* Each port of a device has a netdev. */
static int open_port(const char *sysfs, const char *device, const char *interface)
{
	for (unsigned port = 1; port <= CCS_INGRESS_PORTS; port++)
		if (is_port_of(sysfs, device, port, interface))
			return ccs_sysfs_open(sysfs, "infiniband/%s/ports/%u/counters/port_rcv_data",
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
	in->netdev = ccs_sysfs_open(sysfs, "net/%s/statistics/rx_bytes", interface);
	if (in->netdev < 0)
		return errno;
	open_ports(in, sysfs, interface);
	return 0;
}

void ccs_ingress_close(struct ccs_ingress *in)
{
	for (unsigned i = 0; i < CCS_INGRESS_PORTS; i++)
		ccs_close(in->rdma[i]);
	close(in->netdev);
}

bool ccs_ingress_read(const struct ccs_ingress *in, uint64_t *bytes)
{
	uint64_t words;

	if (!ccs_sysfs_read_number(in->netdev, bytes))
		return false;
	for (unsigned i = 0; i < CCS_INGRESS_PORTS && in->rdma[i] >= 0; i++) {
		if (!ccs_sysfs_read_number(in->rdma[i], &words))
			return false;
		*bytes += 4 * words;
	}
	return true;
}
