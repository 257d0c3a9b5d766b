/* SPDX-License-Identifier: BSD-2-Clause */
#include "nic.h"

#include <dirent.h>
#include <limits.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/netlink.h"
#include "base/sysfs.h"

/* -- data center bridging -------------------------------------------------------------------- */

static void clear(struct nic_dcb *d)
{
	d->pfc = 0;
	d->trusts_dscp = false;
	memset(d->priority, -1, sizeof(d->priority));
}

static void add_dscp(struct nic_dcb *d, unsigned dscp, unsigned priority)
{
	if (dscp >= NIC_DSCPS || priority >= NIC_PRIORITIES)
		return;
	d->trusts_dscp = true;
	d->priority[dscp] = (signed char)priority;
}

static void add_apps(struct nic_dcb *d, const struct ccs_netlink_attr *table)
{
	struct ccs_netlink_attrs apps = ccs_netlink_nested(table);
	struct ccs_netlink_attr a;
	struct dcb_app app;

	while (ccs_netlink_next(&apps, &a)) {
		if (a.type != DCB_ATTR_IEEE_APP || a.len < sizeof(app))
			continue;
		memcpy(&app, a.data, sizeof(app));
		if (app.selector == IEEE_8021QAZ_APP_SEL_DSCP)
			add_dscp(d, app.protocol, app.priority);
	}
}

struct answer {
	struct nic_dcb *dcb;
	bool has_pfc;
};

static void read_answer(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, sizeof(struct dcbmsg));
	struct answer *answer = arg;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		struct ccs_netlink_attrs ieee = ccs_netlink_nested(&a);
		struct ccs_netlink_attr b;

		if (a.type != DCB_ATTR_IEEE)
			continue;
		while (ccs_netlink_next(&ieee, &b)) {
			if (b.type == DCB_ATTR_IEEE_PFC && b.len >= sizeof(struct ieee_pfc)) {
				answer->dcb->pfc = (unsigned char)b.data[offsetof(struct ieee_pfc, pfc_en)];
				answer->has_pfc = true;
			} else if (b.type == DCB_ATTR_IEEE_APP_TABLE) {
				add_apps(answer->dcb, &b);
			}
		}
	}
}

static bool ask_kernel(const char *interface, struct nic_dcb *d)
{
	const struct dcbmsg header = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET };
	struct {
		struct nlattr attr;
		char name[IF_NAMESIZE];
	} name = { { NLA_HDRLEN + IF_NAMESIZE, DCB_ATTR_IFNAME }, "" };
	struct answer answer = { .dcb = d };
	struct ccs_netlink_request request;
	struct ccs_netlink netlink;

	if (ccs_netlink_open(&netlink, NETLINK_ROUTE))
		return false;
	snprintf(name.name, sizeof(name.name), "%s", interface);
	ccs_netlink_begin(&netlink, &request, RTM_GETDCB, 0);
	ccs_netlink_put_header(&request, &header, sizeof(header));
	ccs_netlink_put_header(&request, &name, sizeof(name));
	ccs_netlink_ask(&netlink, &request, read_answer, &answer);
	ccs_netlink_close(&netlink);
	return answer.has_pfc;
}

static FILE *open_record(const char *root, const char *interface, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/nic/%s/%s", root, interface, name);
	return fopen(path, "re");
}

static bool read_record(const char *root, const char *interface, struct nic_dcb *d)
{
	FILE *f = open_record(root, interface, "dcb");
	unsigned a, b;
	char line[80];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "pfc %u", &a) == 1 && a < NIC_PRIORITIES)
			d->pfc |= 1u << a;
		else if (sscanf(line, "dscp %u %u", &a, &b) == 2)
			add_dscp(d, a, b);
	}
	if (f)
		fclose(f);
	return f;
}

bool nic_read_dcb(const char *root, const char *interface, struct nic_dcb *d)
{
	clear(d);
	return *root ? read_record(root, interface, d) : ask_kernel(interface, d);
}

/* -- statistics ------------------------------------------------------------------------------ */

static bool ethtool(int fd, const char *interface, void *command)
{
	struct ifreq request = { .ifr_data = command };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

static bool ask_driver(const char *interface, nic_statistic *handle, void *arg)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *values = NULL;
	bool ok = fd >= 0 && ethtool(fd, interface, &info) && info.n_stats;

	if (ok) {
		names = calloc(1, sizeof(*names) + (size_t)info.n_stats * ETH_GSTRING_LEN);
		values = calloc(1, sizeof(*values) + info.n_stats * sizeof(uint64_t));
		ok = names && values;
	}
	if (ok) {
		*names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS,
						    .len = info.n_stats };
		*values = (struct ethtool_stats){ .cmd = ETHTOOL_GSTATS, .n_stats = info.n_stats };
		ok = ethtool(fd, interface, names) && ethtool(fd, interface, values);
	}
	for (unsigned i = 0; ok && i < info.n_stats; i++) {
		char name[ETH_GSTRING_LEN + 1] = "";

		memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		handle(arg, name, values->data[i]);
	}
	free(names);
	free(values);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool nic_read_recorded(const char *root, const char *interface, const char *file,
		       nic_statistic *handle, void *arg)
{
	FILE *f = open_record(root, interface, file);
	unsigned long long value;
	char line[160], name[80];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %79[^:]: %llu", name, &value) == 2)
			handle(arg, name, value);
	if (f)
		fclose(f);
	return f;
}

bool nic_read_statistics(const char *root, const char *interface, nic_statistic *handle, void *arg)
{
	return *root ? nic_read_recorded(root, interface, "statistics", handle, arg)
		     : ask_driver(interface, handle, arg);
}

/* -- attributes ------------------------------------------------------------------------------ */

long nic_read_number(const char *sysfs, const char *interface, const char *file)
{
	char text[32];

	return ccs_sysfs_read_line(ccs_sysfs_open(sysfs, "net/%s/%s", interface, file), text, sizeof(text))
		? strtol(text, NULL, 10) : -1;
}

static int is_lower(const struct dirent *entry)
{
	return strncmp(entry->d_name, "lower_", 6) == 0 && strlen(entry->d_name + 6) <= IF_NAMESIZE;
}

/* Append to names, which has n; depth: levels of lower interfaces that may follow. */
static unsigned add_hardware(const char *sysfs, const char *interface, char names[NIC_MEMBERS][IF_NAMESIZE + 1],
			     unsigned n, unsigned depth)
{
	char path[PATH_MAX];
	struct dirent **list = NULL;
	int lowers;

	snprintf(path, sizeof(path), "%s/class/net/%s", sysfs, interface);
	lowers = depth ? scandir(path, &list, is_lower, alphasort) : 0;
	for (int i = 0; i < lowers; i++) {
		n = add_hardware(sysfs, list[i]->d_name + 6, names, n, depth - 1);
		free(list[i]);
	}
	free(list);
	if (lowers <= 0 && n < NIC_MEMBERS)
		snprintf(names[n++], sizeof(*names), "%s", interface);
	return n;
}

unsigned nic_hardware(const char *sysfs, const char *interface, char names[NIC_MEMBERS][IF_NAMESIZE + 1])
{
	return add_hardware(sysfs, interface, names, 0, 4);
}
