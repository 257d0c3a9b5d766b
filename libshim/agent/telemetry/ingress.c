/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/sysfs.h"

/* Each port of a device has a netdev. */
static void open_ports(struct ccs_ingress *in, const char *sysfs, const char *interface)
{
	static const char netdev[] = "gid_attrs/ndevs/0";
	char path[PATH_MAX], name[IF_NAMESIZE + 1];
	unsigned n = 0;
	glob_t files;

	snprintf(path, sizeof(path), "%s/class/infiniband/*/ports/*/%s", sysfs, netdev);
	if (glob(path, 0, NULL, &files))
		return;
	for (size_t i = 0; i < files.gl_pathc && n < CCS_INGRESS_PORTS; i++) {
		const char *file = files.gl_pathv[i];

		if (!ccs_sysfs_read_line(open(file, O_RDONLY | O_CLOEXEC), name, sizeof(name)) ||
		    strcmp(name, interface) != 0)
			continue;
		snprintf(path, sizeof(path), "%.*scounters/port_rcv_data",
			 (int)(strlen(file) - strlen(netdev)), file);
		in->rdma[n] = open(path, O_RDONLY | O_CLOEXEC);
		n += in->rdma[n] >= 0;
	}
	globfree(&files);
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
