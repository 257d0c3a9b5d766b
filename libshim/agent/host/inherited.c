/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>


union name {
	struct sockaddr sa;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

static bool is_same(const union name *a, const union name *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_UNIX)
		return strcmp(a->un.sun_path, b->un.sun_path) == 0;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_port == b->in.sin_port &&
		       a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return a->sa.sa_family == AF_INET6 && a->in6.sin6_port == b->in6.sin6_port &&
	       memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) == 0;
}

static bool is_bound_to(int fd, int type, const union name *at)
{
	union name own = { .sa.sa_family = AF_UNSPEC };
	socklen_t len = sizeof(own) - 1; /* a path may have no end */

	return option(fd, SOL_SOCKET, SO_TYPE) == type && !getsockname(fd, &own.sa, &len) &&
	       is_same(&own, at) &&
	       (type != SOCK_SEQPACKET || option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1) &&
	       (own.sa.sa_family != AF_INET6 || option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1);
}

/* -- a UDP port that others also use ----------------------------------------------------- */

/* A socket in /proc/net/udp. */
struct bound {
	char address[33];
	unsigned port, uid;
	unsigned long inode;
};

static bool read_bound(FILE *f, struct bound *b)
{
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*u: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %u %*s %lu", b->address,
			   &b->port, &b->uid, &b->inode) == 4)
			return true;
	return false;
}

static const char *list_of(sa_family_t family)
{
	return family == AF_INET ? "/proc/self/net/udp" : "/proc/self/net/udp6";
}

bool ccs_inherited_port_user(sa_family_t family, uint16_t port, unsigned *uid)
{
	FILE *f = fopen(list_of(family), "re");
	struct bound b;
	bool found = false;

	while (f && !found && read_bound(f, &b))
		found = b.port == port && b.uid;
	if (found)
		*uid = b.uid;
	if (f)
		fclose(f);
	return found;
}

static bool is_any(const char *address)
{
	return address[strspn(address, "0")] == '\0';
}

/* Both get messages for an address. Root's sockets are trusted. */
static bool is_rival(const struct bound *own, const struct bound *b)
{
	return b->port == own->port && b->inode != own->inode && b->uid &&
	       (is_any(own->address) || is_any(b->address) || !strcmp(own->address, b->address));
}

static void report_rival(struct ccs_agent *a, const char *list, unsigned long inode)
{
	struct bound own = { 0 }, b;
	FILE *f = fopen(list, "re");

	while (f && read_bound(f, &own) && own.inode != inode)
		;
	if (f)
		rewind(f);
	while (f && own.inode == inode && read_bound(f, &b))
		if (is_rival(&own, &b))
			ccs_agent_warn(a, CCS_AGENT_WARN_SHARED_PORT,
				       "a process of user %u has opened UDP port %u, too, and may "
				       "get messages in place of this agent: end it (ss -ulpn)",
				       b.uid, b.port);
	if (f)
		fclose(f);
}

/*
 * systemd sets SO_REUSEADDR, with which each user could bind the port at one address, and get the
 * messages to it. Until the first agent ends that permission, a process may have done so.
 */
static void make_exclusive(struct ccs_agent *a, int fd, sa_family_t family)
{
	const int off = 0;
	struct stat st;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
	if (fstat(fd, &st) == 0)
		report_rival(a, list_of(family), st.st_ino);
}

int ccs_inherited_find(struct ccs_agent *a, int type, const struct sockaddr *at)
{
	for (unsigned i = 0; i < a->config.ninherited; i++) {
		const int fd = a->config.inherited[i];

		if (!is_bound_to(fd, type, (const union name *)at))
			continue;
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		a->inherited_used++;
		if (type == SOCK_DGRAM)
			make_exclusive(a, fd, at->sa_family);
		return fd;
	}
	return -1;
}

void ccs_inherited_check(struct ccs_agent *a)
{
	if (a->inherited_used < a->config.ninherited)
		ccs_agent_warn(a, CCS_AGENT_WARN_INHERITED,
			       "%u sockets of the service manager are not used: they must have the "
			       "path, port and addresses of the options",
			       a->config.ninherited - a->inherited_used);
}
