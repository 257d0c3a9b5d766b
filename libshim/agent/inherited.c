/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/inherited.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "agent/core.h"

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
	switch (a->sa.sa_family) {
	case AF_UNIX:
		return strcmp(a->un.sun_path, b->un.sun_path) == 0;
	case AF_INET:
		return a->in.sin_port == b->in.sin_port &&
		       a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	case AF_INET6:
		return a->in6.sin6_port == b->in6.sin6_port &&
		       memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) == 0;
	default:
		return false;
	}
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

int ccs_inherited_find(struct ccs_agent *a, int type, const struct sockaddr *at)
{
	for (unsigned i = 0; i < a->config.ninherited; i++) {
		const int fd = a->config.inherited[i];

		if (!is_bound_to(fd, type, (const union name *)at))
			continue;
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		a->inherited_used++;
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
