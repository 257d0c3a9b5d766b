/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks RDMA devices in sysfs, access to their files, and the limit on locked memory. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "tools/common/capabilities.h"
#include "tools/common/provider.h"
#include "check.h"

#define ENOUGH_MEMLOCK (64ull << 20)     /* bytes of locked memory, for a program's regions */

enum { LINE = 128 };

struct device {
	char name[NAME_MAX + 1];
	char transport[16], state[LINE], rate[LINE], kind[LINE + 32], provider[32];
	bool other_qps;                  /* it has no queue pairs of type RC that could be controlled */
	unsigned port;
};

/* The first line of a file in a directory; "" if it cannot be read. */
static char *read_first_line(char line[LINE], int dir, const char *name)
{
	ccs_sysfs_read_line(openat(dir, name, O_RDONLY | O_CLOEXEC), line, LINE);
	return line;
}

/* "4: ACTIVE" becomes "active". */
static void simplify_state(char line[LINE])
{
	const char *word = strchr(line, ':');
	size_t n = 0;

	if (!word)
		return;
	for (word += strspn(word, ": "); *word; word++)
		line[n++] = (char)tolower((unsigned char)*word);
	line[n] = '\0';
}

static char *read_port_line(char line[LINE], int dir, unsigned port, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "ports/%u/%s", port, what);
	return read_first_line(line, dir, name);
}

/* Read the first active port, or port 1 if all are down. */
static void read_port(int dir, struct device *d)
{
	char layer[LINE];
	unsigned port = 1;

	do
		simplify_state(read_port_line(d->state, dir, port, "state"));
	while (*d->state && strcmp(d->state, "active") != 0 && port++);
	d->port = *d->state ? port : 1;
	if (!*d->state)
		simplify_state(read_port_line(d->state, dir, 1, "state"));
	read_port_line(d->rate, dir, d->port, "rate");
	snprintf(d->transport, sizeof(d->transport), "%s",
		 strcmp(read_port_line(layer, dir, d->port, "link_layer"), "Ethernet") == 0
		 ? "RoCE" : "InfiniBand");
}

/* The driver of the hardware, or the parent of a software device. */
static void read_kind(int dir, struct device *d)
{
	char driver[65], parent[LINE];

	if (driver_name(dir, "device/driver", driver, sizeof(driver))) {
		snprintf(d->kind, sizeof(d->kind), "driver %s", driver);
		return;
	}
	read_first_line(parent, dir, "parent");
	snprintf(d->kind, sizeof(d->kind), *parent ? "software, on %s" : "software", parent);
}

/* The library that drives it, which only an open device shows. */
static void read_provider(struct device *d)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *context = NULL;

	for (int i = 0; i < n && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), d->name) == 0)
			context = ibv_open_device(list[i]);
	if (context) {
		provider_name(context, d->provider, sizeof(d->provider));
		ibv_close_device(context);
	}
	if (list)
		ibv_free_device_list(list);
}

static void read_device(int dir, struct device *d)
{
	char type[LINE];

	read_port(dir, d);
	if (strstr(read_first_line(type, dir, "node_type"), "RNIC"))
		strcpy(d->transport, "iWARP");
	else if (strncmp(type, "5:", 2) == 0 || strncmp(type, "6:", 2) == 0)
		strcpy(d->transport, "usNIC");
	else if (strncmp(type, "7:", 2) == 0)
		strcpy(d->transport, "unspecified"); /* EFA */
	d->other_qps = *type && strncmp(type, "1:", 2) != 0;
	read_kind(dir, d);
}

static bool is_rate_guessed(const struct check *c, const struct device *d)
{
	char sysfs[PATH_MAX];

	snprintf(sysfs, sizeof(sysfs), "%s/sys", c->root);
	return strcmp(d->transport, "RoCE") == 0 &&
	       ccs_sysfs_speed_is_guess(sysfs, d->name, d->port);
}

/* Report a device; returns whether queue pairs on it can be controlled. */
static bool report_device(struct check *c, const struct device *d)
{
	const bool iwarp = strcmp(d->transport, "iWARP") == 0;
	const bool active = strcmp(d->state, "active") == 0;
	const char *remedy = iwarp ? "iWARP is not controlled; use a RoCE or InfiniBand device"
			   : d->other_qps ? "it has no queue pairs of type RC, and others are not controlled; "
			   "use a RoCE or InfiniBand device"
			   : !active ? "bring its link up"
			   : is_rate_guessed(c, d)
			   ? "its interface reports no speed, 10 Gb/s is assumed; set line_rate"
			   : NULL;

	check_report(c, remedy ? CHECK_WARN : CHECK_OK, "device", remedy,
		  "%s, %s, %s%s%s, port %u %s, %s", d->name, d->transport, d->kind,
		  *d->provider ? ", " : "", d->provider, d->port,
		  *d->state ? d->state : "unknown", *d->rate ? d->rate : "rate unknown");
	return !d->other_qps && active;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Open a directory below the root and list its entries; -1 if it does not exist. */
static int list_dir(const struct check *c, const char *below, struct dirent ***list, int *n)
{
	char path[PATH_MAX];
	int dir;

	snprintf(path, sizeof(path), "%s%s", c->root, below);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*n = dir < 0 ? -1 : scandirat(dir, ".", list, is_visible, alphasort);
	return dir;
}

static void free_list(int dir, struct dirent **list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
	if (dir >= 0)
		close(dir);
}

static int check_sysfs(struct check *c)
{
	struct dirent **list;
	int n, usable = 0, fd;
	const int dir = list_dir(c, "/sys/class/infiniband", &list, &n);

	for (int i = 0; i < n; i++) {
		struct device d = { 0 };

		snprintf(d.name, sizeof(d.name), "%s", list[i]->d_name);
		fd = openat(dir, d.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		read_device(fd, &d);
		if (!*c->root)
			read_provider(&d);
		if (fd >= 0)
			close(fd);
		usable += report_device(c, &d);
	}
	free_list(dir, list, n);
	if (n <= 0)
		check_report(c, CHECK_FAIL, "device", "load the card's driver, or create a software "
			  "device: rdma link add rxe0 type rxe netdev NAME", "there is no RDMA device");
	else if (!usable)
		check_report(c, CHECK_FAIL, "device", "bring a link up", "no device is usable");
	return n > 0 ? n : 0;
}

/* Each device is used through one file, which a container may lack. */
static void check_access(struct check *c)
{
	char node[PATH_MAX + NAME_MAX + 32];
	struct dirent **list;
	int n, seen = 0, usable = 0;
	const int dir = list_dir(c, "/sys/class/infiniband_verbs", &list, &n);

	for (int i = 0; i < n; i++) {
		if (strncmp(list[i]->d_name, "uverbs", 6) != 0)
			continue;
		seen++;
		snprintf(node, sizeof(node), "%s/dev/infiniband/%s", c->root, list[i]->d_name);
		if (access(node, F_OK) != 0)
			check_report(c, CHECK_FAIL, "access", "pass it into a container "
				  "(--device /dev/infiniband); on a host, check the udev rules",
				  "%s does not exist", node);
		else if (access(node, R_OK | W_OK) != 0)
			check_report(c, CHECK_FAIL, "access", "join its group, or run as root",
				  "no permission to read and write %s", node);
		else
			usable++;
	}
	free_list(dir, list, n);
	if (usable)
		check_report(c, CHECK_OK, "access", NULL, "%d device file%s in %s/dev/infiniband", usable,
			     usable > 1 ? "s" : "", c->root);
	if (!seen)
		check_report(c, CHECK_FAIL, "access", "modprobe ib_uverbs",
			  "the kernel provides no verbs interface to programs");
}

static void check_memlock(struct check *c)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    has_capability(CAP_IPC_LOCK))
		check_report(c, CHECK_OK, "memlock", NULL, "memory may be locked without limit");
	else
		check_report(c, limit.rlim_cur < ENOUGH_MEMLOCK ? CHECK_WARN : CHECK_OK, "memlock",
			  limit.rlim_cur < ENOUGH_MEMLOCK ? "ulimit -l unlimited, or "
			  "/etc/security/limits.d" : NULL, "%llu KB of memory may be locked",
			  (unsigned long long)limit.rlim_cur >> 10);
}

void check_devices(struct check *c)
{
	if (check_sysfs(c))
		check_access(c);
	check_memlock(c);
}
