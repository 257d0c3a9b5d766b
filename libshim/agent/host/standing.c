/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/standing.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sysfs.h"

#ifndef SO_PEERPIDFD /* in the kernel's headers since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define ALL_USERS UINT32_MAX             /* differs from CCS_NO_USER */
#define OVERFLOW_UID 65534u              /* default of the kernel */

/* NSpid has one number for each PID namespace, from the agent's to the innermost. */
bool ccs_process_read(pid_t pid, struct ccs_process *p)
{
	unsigned long long capabilities;
	char name[64], line[256];
	unsigned found = 0;
	int inner;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%ld/status", (long)pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		found += sscanf(line, "Uid: %u %u %u", &p->uid[0], &p->uid[1], &p->uid[2]) == 3;
		if (strncmp(line, "NSpid:", 6) == 0) {
			p->in_pid_ns = sscanf(line, "NSpid: %*d %d", &inner) != 1;
			found++;
		} else if (sscanf(line, "CapEff: %llx", &capabilities) == 1) {
			p->capabilities = capabilities;
			found++;
		}
	}
	if (f)
		fclose(f);
	return found == 3;
}

/*
 * The agent's user may not inspect the namespaces of other users' processes, but may read their
 * maps of user IDs. A child namespace has another map, unless root made it with all IDs unchanged.
 */
static bool is_in_user_ns(pid_t pid)
{
	char name[64], map[4096], own_map[4096];
	struct stat st, own;

	snprintf(name, sizeof(name), "/proc/%ld/ns/user", (long)pid);
	if (stat(name, &st) == 0 && stat("/proc/self/ns/user", &own) == 0)
		return st.st_ino == own.st_ino;
	snprintf(name, sizeof(name), "/proc/%ld/uid_map", (long)pid);
	return ccs_read_file(name, map, sizeof(map)) &&
	       ccs_read_file("/proc/self/uid_map", own_map, sizeof(own_map)) && strcmp(map, own_map) == 0;
}

/*
 * A process that waits to be accepted may become a program whose file has capabilities. Its user may then
 * not inspect it: its files in /proc belong to root.
 */
static bool has_gained(const struct ucred *peer)
{
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%ld/status", (long)peer->pid);
	return peer->uid && (stat(name, &st) || st.st_uid != peer->uid);
}

static enum ccs_standing read_standing(const struct ucred *peer)
{
	enum ccs_standing standing = CCS_STANDING_USER;
	struct ccs_process p;

	if (peer->pid <= 0 || !ccs_process_read(peer->pid, &p) || p.uid[1] != peer->uid ||
	    !p.in_pid_ns)
		return CCS_STANDING_USER;
	if (p.capabilities >> CAP_NET_ADMIN & 1)
		standing = CCS_STANDING_ADMIN;
	else if (peer->uid && peer->uid == geteuid())
		standing = CCS_STANDING_AGENT;
	return standing && is_in_user_ns(peer->pid) && !has_gained(peer) ? standing : CCS_STANDING_USER;
}

bool ccs_peer_has_ended(int socket)
{
	struct pollfd process = { .fd = -1, .events = POLLIN };
	socklen_t len = sizeof(process.fd);
	bool ended;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process.fd, &len))
		return errno == ESRCH || errno == EINVAL; /* nor has it a parent that waits for it */
	ended = poll(&process, 1, 0) != 0;
	close(process.fd);
	return ended;
}

/* The ID belonged to the process throughout if the process has not ended afterwards. */
enum ccs_standing ccs_standing_of(int socket, const struct ucred *peer)
{
	const enum ccs_standing standing = read_standing(peer);

	return ccs_peer_has_ended(socket) ? CCS_STANDING_USER : standing;
}

/* -- users without a number ------------------------------------------------------------ */

/* Each line of the map is a range. Without /proc it is unknown, and counted as a part. */
static bool are_all_mapped(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long long count, sum = 0;

	while (f && fscanf(f, "%*u %*u %llu", &count) == 1)
		sum += count;
	if (f)
		fclose(f);
	return sum >= ALL_USERS;
}

uid_t ccs_users_unmapped(void)
{
	char text[32];
	unsigned uid;

	if (are_all_mapped())
		return CCS_NO_USER;
	ccs_read_file("/proc/sys/kernel/overflowuid", text, sizeof(text));
	return sscanf(text, "%u", &uid) == 1 ? uid : OVERFLOW_UID;
}
