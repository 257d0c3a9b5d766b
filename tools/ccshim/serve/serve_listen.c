/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds the sockets on which requests arrive. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/ccshim/shared/ccshim.h"

/* Clients wait in turn; where the queue is full, TCP tries again later and later. */
enum { BACKLOG = 4096, TRIES = 20 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* False: it is no address. */
static bool parse(const char *text, unsigned port, union address *a)
{
	*a = (union address){ .v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) } };
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1)
		return true;
	*a = (union address){ .v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) } };
	return inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1;
}

int serve_is_loopback(const char *address)
{
	union address a;

	if (!parse(address, 0, &a))
		return -1;
	return a.any.sa_family == AF_INET ? ntohl(a.v4.sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

static unsigned port_of(int fd)
{
	union address a;
	socklen_t len = sizeof(a);

	getsockname(fd, &a.any, &len);
	return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
}

/* -1 and errno. */
static int bind_one(const char *text, unsigned port)
{
	const int on = 1;
	union address a;
	int fd, saved;

	errno = EINVAL;
	if (!parse(text, port, &a))
		return -1;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, &a.any, a.any.sa_family == AF_INET ? sizeof(a.v4) : sizeof(a.v6)) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static unsigned complain(const char *address, unsigned port)
{
	if (errno == EADDRINUSE)
		tool_error("serve", "port %u of %s is in use; give another port with --port, or 0 for any",
			   port, address);
	else if (errno == EADDRNOTAVAIL)
		tool_error("serve", "--address: this host has no address %s", address);
	else if (errno == EACCES)
		tool_error("serve", "port %u of %s requires root; give a port above 1023 with --port, or 0 "
			   "for any", port, address);
	else
		tool_error("serve", "cannot listen on port %u of %s: %s", port, address, strerror(errno));
	return 0;
}

/* Whether this host has no IPv6. */
static bool lacks_v6(int error)
{
	return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

/* Both loopback addresses have the same port: otherwise another program could be at one of them. */
static unsigned listen_locally(struct serve *s, int fd[SERVE_SOCKETS])
{
	const unsigned wanted = s->port;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		fd[0] = bind_one("127.0.0.1", wanted);
		if (fd[0] < 0)
			return complain("127.0.0.1", wanted);
		s->port = port_of(fd[0]);
		fd[1] = bind_one("::1", s->port);
		if (fd[1] >= 0)
			return 2;
		if (lacks_v6(errno))
			return 1;
		close(fd[0]);
		if (wanted || errno != EADDRINUSE)
			break;
	}
	return complain("::1", s->port);
}

unsigned serve_listen(struct serve *s, int fd[SERVE_SOCKETS])
{
	if (!s->address)
		return listen_locally(s, fd);
	fd[0] = bind_one(s->address, s->port);
	if (fd[0] < 0)
		return complain(s->address, s->port);
	s->port = port_of(fd[0]);
	return 1;
}
