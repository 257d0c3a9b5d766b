/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim check --fabric: whether the interfaces of RoCE devices are set up for a lossless priority
 * and for DCQCN in the NIC.
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "check.h"
#include "nic.h"

enum { CNP_DSCP = 48, ROCE_MTU = 4096, ROCE_HEADERS = 64 };

struct interface {
	struct check *c;
	char sysfs[PATH_MAX], device[NAME_MAX + 1], name[IF_NAMESIZE + 1];
	unsigned priority;       /* of RDMA traffic */
};

static long read_number(const struct interface *i, const char *file)
{
	return nic_read_number(i->sysfs, i->name, file);
}

static void check_mtu(const struct interface *i)
{
	const long mtu = read_number(i, "mtu");

	if (mtu < 0)
		return;
	if (mtu >= ROCE_MTU + ROCE_HEADERS)
		check_report(i->c, CHECK_OK, "mtu", NULL, "%s: %ld, enough for RoCE's 4096", i->name, mtu);
	else
		check_report(i->c, CHECK_WARN, "mtu", "set 4200 or more, also at all switches",
			     "%s: %ld leaves RoCE packets of %d bytes", i->name, mtu,
			     mtu >= 2048 + ROCE_HEADERS ? 2048 : mtu >= 1024 + ROCE_HEADERS ? 1024 : 512);
}

static void check_pfc(const struct interface *i, const struct nic_dcb *d)
{
	char remedy[128];

	snprintf(remedy, sizeof(remedy), "dcb pfc set dev %s prio-pfc %u:on, or give --priority", i->name,
		 i->priority);
	if (!(d->pfc & 1u << i->priority))
		check_report(i->c, CHECK_FAIL, "pfc", remedy, "%s: priority %u has no PFC: its packets are "
			     "lost where a buffer is full", i->name, i->priority);
	else if (d->pfc & ~(1u << i->priority))
		check_report(i->c, CHECK_WARN, "pfc", "switch it off for priorities that carry no RDMA",
			     "%s: PFC is on for priority %u and for others (mask 0x%02x)", i->name,
			     i->priority, d->pfc);
	else
		check_report(i->c, CHECK_OK, "pfc", NULL, "%s: on for priority %u alone", i->name,
			     i->priority);
}

static void check_trust(const struct interface *i, const struct nic_dcb *d)
{
	unsigned mapped = 0;
	char remedy[128];

	snprintf(remedy, sizeof(remedy), "dcb app add dev %s dscp-prio DSCP:%u, with your traffic's DSCP",
		 i->name, i->priority);
	for (unsigned dscp = 0; dscp < NIC_DSCPS; dscp++)
		mapped += d->priority[dscp] == (signed char)i->priority;
	if (!d->trusts_dscp)
		check_report(i->c, CHECK_WARN, "trust", remedy, "%s: priorities come from VLAN "
			     "tags, which routed RoCE packets do not have", i->name);
	else if (!mapped)
		check_report(i->c, CHECK_FAIL, "trust", remedy, "%s: no DSCP leads to priority %u", i->name, i->priority);
	else
		check_report(i->c, CHECK_OK, "trust", NULL, "%s: DSCP; %u of them lead to priority %u",
			     i->name, mapped, i->priority);
}

static void check_dcb(const struct interface *i)
{
	struct nic_dcb d;

	if (!nic_read_dcb(i->c->root, i->name, &d)) {
		check_report(i->c, CHECK_WARN, "pfc", "use the driver's own tool, such as mlnx_qos -i",
			     "%s: the driver does not report PFC and trust to the kernel", i->name);
		return;
	}
	check_pfc(i, &d);
	check_trust(i, &d);
}

/* DCQCN's two ends in the NIC, as NVIDIA's drivers show them. */
static void check_ecn(const struct interface *i)
{
	char np_file[64], rp_file[64], remedy[128];
	long np, rp, dscp;

	snprintf(np_file, sizeof(np_file), "ecn/roce_np/enable/%u", i->priority);
	snprintf(rp_file, sizeof(rp_file), "ecn/roce_rp/enable/%u", i->priority);
	np = read_number(i, np_file);
	rp = read_number(i, rp_file);
	if (np < 0 && rp < 0) {
		check_report(i->c, CHECK_OK, "ecn", NULL, "%s: the driver does not show the NIC's DCQCN; "
			     "ccshim does not need it", i->name);
		return;
	}
	snprintf(remedy, sizeof(remedy), "echo 1 > /sys/class/net/%s/ecn/roce_%s/enable/%u", i->name,
		 np != 1 ? "np" : "rp", i->priority);
	if (np != 1 || rp != 1)
		check_report(i->c, CHECK_WARN, "ecn", remedy, "%s: priority %u %s", i->name, i->priority,
			     np != 1 && rp != 1 ? "neither sends CNPs nor obeys them"
			     : np != 1 ? "sends no CNPs for marked packets" : "does not obey CNPs");
	else
		check_report(i->c, CHECK_OK, "ecn", NULL, "%s: priority %u sends CNPs and obeys them",
			     i->name, i->priority);
	dscp = read_number(i, "ecn/roce_np/cnp_dscp");
	if (dscp >= 0)
		check_report(i->c, dscp == CNP_DSCP ? CHECK_OK : CHECK_WARN, "cnp",
			     dscp == CNP_DSCP ? NULL : "set 48, or give this DSCP the CNPs' queue in all "
			     "switches", "%s: CNPs have DSCP %ld", i->name, dscp);
}

static bool is_software(const struct interface *i)
{
	const int fd = ccs_sysfs_open(i->sysfs, "infiniband/%s/parent", i->device);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* False: the device has no Ethernet interface. */
static bool check_interface(struct check *c, const char *device)
{
	struct interface i = { .c = c, .priority = c->priority };
	char hardware[NIC_MEMBERS][IF_NAMESIZE + 1];
	unsigned n;

	snprintf(i.sysfs, sizeof(i.sysfs), "%s/sys", c->root);
	snprintf(i.device, sizeof(i.device), "%s", device);
	if (!ccs_sysfs_netdev(i.sysfs, device, 1, i.name))
		return false;
	if (is_software(&i)) {
		check_report(c, CHECK_OK, "fabric", NULL, "%s, on %s, is Soft-RoCE: it neither sends nor "
			     "obeys CNPs or PAUSE frames; ccshim's agents send and obey CNPs", device, i.name);
		check_mtu(&i);
		return true;
	}
	check_mtu(&i);
	n = nic_hardware(i.sysfs, i.name, hardware);
	for (unsigned k = 0; k < n; k++) {
		memcpy(i.name, hardware[k], sizeof(i.name));
		check_dcb(&i);
		check_ecn(&i);
	}
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void check_fabric(struct check *c)
{
	char path[PATH_MAX];
	struct dirent **list = NULL;
	int n, found = 0;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband", c->root);
	n = scandir(path, &list, is_visible, alphasort);
	for (int i = 0; i < n; i++) {
		found += check_interface(c, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	if (!found)
		check_report(c, CHECK_WARN, "fabric", NULL, "no RDMA device has an Ethernet interface");
}
