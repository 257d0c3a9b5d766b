/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes a reading of all counters. */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/sysfs.h"
#include "feedback/ipc.h"
#include "tools/common/ask_agent.h"
#include "tools/common/json_read.h"
#include "tools/common/provider.h"
#include "tools/common/slurp.h"

static void add_counter(struct doctor_port *p, enum doctor_source source, const char *name,
			uint64_t value)
{
	struct doctor_counter *c;

	if (!CCS_GROW(p->counter, p->counters))
		return;
	c = &p->counter[p->counters++];
	*c = (struct doctor_counter){ .source = source, .value = value };
	c->means = doctor_meaning_of(source, name, &c->priority);
	snprintf(c->name, sizeof(c->name), "%s", name);
}

/* -- files of sysfs ---------------------------------------------------------------------------- */

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void note_denial(struct doctor_port *p)
{
	p->denied += errno == EACCES || errno == EPERM;
}

/* False: the file has no number, as counters that are switched off. */
static bool read_counter(struct doctor_port *p, const char *path, uint64_t *value)
{
	char text[32], *end;

	if (!ccs_read_file(path, text, sizeof(text)))
		note_denial(p);
	*value = strtoull(text, &end, 0);
	return end != text && *text != '-';
}

/* Each file of the directory is a counter, except the age that cached values may have. */
static void add_directory(struct doctor_port *p, enum doctor_source source, const char *dir)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct dirent **list = NULL;
	uint64_t value;
	const int n = scandir(dir, &list, is_visible, alphasort);

	if (n < 0)
		note_denial(p);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (strcmp(list[i]->d_name, "lifespan") != 0 && read_counter(p, path, &value))
			add_counter(p, source, list[i]->d_name, value);
		free(list[i]);
	}
	free(list);
}

/* -- a port ------------------------------------------------------------------------------------ */

static void add_statistic(void *arg, const char *name, uint64_t value)
{
	add_counter(arg, DOCTOR_ETHTOOL, name, value);
}

/* The origin of a reading, and the priority of RDMA traffic. */
struct place {
	const char *root;
	char sysfs[PATH_MAX / 2];
	unsigned priority;
};

static void read_interface(struct doctor_port *p, const struct place *at)
{
	const char *const root = at->root, *const sysfs = at->sysfs;
	char path[PATH_MAX], file[64];
	struct qdisc_stats q;

	p->mtu = nic_read_number(sysfs, p->interface, "mtu");
	p->speed_bps = ccs_sysfs_speed(sysfs, p->interface);
	p->has_dcb = nic_read_dcb(root, p->interface, &p->dcb);
	snprintf(file, sizeof(file), "ecn/roce_np/enable/%u", at->priority);
	p->np = nic_read_number(sysfs, p->interface, file);
	snprintf(file, sizeof(file), "ecn/roce_rp/enable/%u", at->priority);
	p->rp = nic_read_number(sysfs, p->interface, file);
	snprintf(path, sizeof(path), "%s/class/net/%s/statistics", sysfs, p->interface);
	add_directory(p, DOCTOR_NETDEV, path);
	nic_read_statistics(root, p->interface, add_statistic, p);
	if (doctor_read_qdisc(root, p->interface, &q)) {
		add_counter(p, DOCTOR_QDISC, "qdisc_drops", q.drops);
		add_counter(p, DOCTOR_QDISC, "qdisc_marks", q.marks);
	}
}

/* Read the driver's name from the link of a hardware device in sysfs, unless it is known. */
static void read_driver(struct doctor_port *p, const char *sysfs, const char *class, const char *device)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/%s/%s/device/driver", sysfs, class, device);
	if (!*p->driver && !p->is_software)
		driver_name(AT_FDCWD, path, p->driver, sizeof(p->driver));
}

/* "4: ACTIVE" */
static void read_state(struct doctor_port *p, const char *sysfs)
{
	char path[PATH_MAX], line[32];

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/state", sysfs, p->device, p->port);
	if (ccs_read_file(path, line, sizeof(line)))
		sscanf(line, "%*u: %15[A-Z_]", p->state);
}

static struct doctor_port *add_port(struct doctor_reading *r, const struct doctor_port *like)
{
	if (!CCS_GROW(r->port, r->ports))
		return NULL;
	r->port[r->ports] = *like;
	return &r->port[r->ports++];
}

/* The interfaces below a bond, a VLAN or a bridge have the counters of the hardware. */
static void read_members(struct doctor_reading *r, const struct doctor_port *like, const struct place *at,
			 const char *interface)
{
	char names[NIC_MEMBERS][IF_NAMESIZE + 1];
	const unsigned n = nic_hardware(at->sysfs, interface, names);

	for (unsigned i = 0; i < n; i++) {
		struct doctor_port *p = strcmp(names[i], interface) != 0 ? add_port(r, like) : NULL;

		if (!p)
			continue;
		memcpy(p->interface, names[i], sizeof(p->interface));
		read_driver(p, at->sysfs, "net", names[i]);
		read_interface(p, at);
	}
}

static void read_port(struct doctor_reading *r, const struct place *at, const char *device, unsigned port)
{
	struct doctor_port *p, like = { .port = port, .mtu = -1, .np = -1, .rp = -1 };
	char path[PATH_MAX], interface[IF_NAMESIZE + 1] = "";

	snprintf(like.device, sizeof(like.device), "%.63s", device);
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/parent", at->sysfs, device);
	like.is_software = access(path, F_OK) == 0;
	read_driver(&like, at->sysfs, "infiniband", device);
	p = add_port(r, &like);
	if (!p)
		return;
	read_state(p, at->sysfs);
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/hw_counters", at->sysfs, device, port);
	add_directory(p, DOCTOR_HW, path);
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/counters", at->sysfs, device, port);
	add_directory(p, DOCTOR_PORT, path);
	if (!ccs_sysfs_netdev(at->sysfs, device, port, interface))
		return;
	memcpy(p->interface, interface, sizeof(p->interface));
	read_driver(p, at->sysfs, "net", interface);
	read_interface(p, at);
	like.is_member = true;
	read_members(r, &like, at, interface);
}

/* Scan for devices or ports. If the caller may not, one port 0 stands for all. */
static int list_directory(struct doctor_reading *r, const char *path, const char *device, struct dirent ***list)
{
	struct doctor_port unread = { .mtu = -1, .np = -1, .rp = -1 };
	const int n = scandir(path, list, is_visible, alphasort);

	if (n < 0)
		note_denial(&unread);
	snprintf(unread.device, sizeof(unread.device), "%.63s", device);
	if (unread.denied)
		add_port(r, &unread);
	return n;
}

static void read_device(struct doctor_reading *r, const struct place *at, const char *device)
{
	char path[PATH_MAX];
	struct dirent **list = NULL;
	int n;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports", at->sysfs, device);
	n = list_directory(r, path, device, &list);
	for (int i = 0; i < n; i++) {
		const unsigned long port = strtoul(list[i]->d_name, NULL, 10);

		if (port > 0 && port < 256)
			read_port(r, at, device, (unsigned)port);
		free(list[i]);
	}
	free(list);
}

/* -- the agent --------------------------------------------------------------------------------- */

static bool read_member(struct json_read *j, const char *key, void *arg)
{
	struct doctor_agent *a = arg;
	double *to = strcmp(key, "ce_dropped") == 0 ? &a->ce_dropped
		   : strcmp(key, "cnps_sent") == 0 ? &a->cnps_sent
		   : strcmp(key, "cnps_received") == 0 ? &a->cnps_received : NULL;

	return to ? json_number(j, to) : json_skip(j);
}

static void read_agent(struct doctor_agent *a, const char *root)
{
	struct json_read j = { 0 };
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s/agent", root);
	text = *root ? slurp(path) : ask_agent(CCS_IPC_SOCKET);
	j.text = j.at = text;
	a->present = text && json_object(&j, read_member, a);
	free(text);
}

void doctor_read(struct doctor_reading *r, const char *root, unsigned priority)
{
	struct place at = { .root = root, .priority = priority };
	char path[PATH_MAX];
	struct dirent **list = NULL;
	int n;

	*r = (struct doctor_reading){ 0 };
	snprintf(at.sysfs, sizeof(at.sysfs), "%s/sys", root);
	snprintf(path, sizeof(path), "%s/class/infiniband", at.sysfs);
	n = list_directory(r, path, "infiniband", &list);
	for (int i = 0; i < n; i++) {
		read_device(r, &at, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	read_agent(&r->agent, root);
	snprintf(path, sizeof(path), "%s/stat", root);
	if (!*root)
		stat_read(&r->stat, 0);
	else
		stat_load(&r->stat, path);
}

void doctor_free(struct doctor_reading *r)
{
	for (size_t i = 0; i < r->ports; i++)
		free(r->port[i].counter);
	free(r->port);
	stat_free(&r->stat);
	*r = (struct doctor_reading){ 0 };
}
