/* SPDX-License-Identifier: BSD-2-Clause */
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/core.h"

#ifndef SO_PEERPIDFD /* in the headers since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

/*
 * The agent's descriptor of a connection is FIRST plus its number: larger than a process's
 * descriptors.
 */
enum { FIRST = 1 << 30, CONNECTIONS = 8, QUEUE = 4, MESSAGE = 512, SOURCES = 32 };

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "tests/fuzz/sockets.c: %s\n", what);
	abort();
}

struct message {
	uint8_t data[MESSAGE];
	size_t len;
	int passed;
};

static struct connection {
	bool process, agent;             /* these ends are open */
	bool accepted;
	uid_t uid;
	struct message queue[QUEUE];
	unsigned first, n;
} connections[CONNECTIONS];

static struct {
	struct ccs_ends ends;
	uint16_t port;
	uint8_t data[2048];
	size_t len;
	bool waits;
} datagram;

static struct source {
	int fd, type;
	void *ptr;
} sources[SOURCES];
static unsigned nsources, ncopies;
static bool is_copy[FD_SETSIZE];

static struct connection *connection_of(int fd)
{
	struct connection *c = &connections[fd - FIRST];

	require(fd >= FIRST && fd < FIRST + CONNECTIONS && c->agent, "no such descriptor");
	return c;
}

/* -- processes and other hosts --------------------------------------------------------- */

unsigned fuzz_connect(uid_t uid)
{
	unsigned i = 0;

	while (i < CONNECTIONS && (connections[i].process || connections[i].agent))
		i++;
	require(i < CONNECTIONS, "too many connections");
	connections[i] = (struct connection){ .process = true, .agent = true, .uid = uid };
	return i;
}

void fuzz_disconnect(unsigned connection)
{
	connections[connection].process = false;
}

void fuzz_send(unsigned connection, const void *data, size_t len, int passed)
{
	struct connection *c = &connections[connection];
	struct message *m = &c->queue[(c->first + c->n) % QUEUE];

	if (!c->agent || c->n == QUEUE)
		return;
	require(len <= sizeof(m->data), "the message is too long");
	memcpy(m->data, data, len);
	m->len = len;
	m->passed = passed;
	c->n++;
}

void fuzz_datagram(const struct ccs_ends *ends, uint16_t port, const void *data, size_t len)
{
	require(len <= sizeof(datagram.data), "the datagram is too long");
	datagram.ends = *ends;
	datagram.port = port;
	memcpy(datagram.data, data, len);
	datagram.len = len;
	datagram.waits = true;
}

unsigned fuzz_descriptors(void)
{
	unsigned n = ncopies;

	for (unsigned i = 0; i < CONNECTIONS; i++)
		n += connections[i].agent;
	return n;
}

/* -- what the loop waits for -------------------------------------------------------------- */

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);

static int type_of(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	if (fd < FIRST)
		__real_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
	return type;
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *e)
{
	unsigned i = 0;

	(void)epoll;
	while (i < nsources && sources[i].fd != fd)
		i++;
	if (op == EPOLL_CTL_ADD) {
		require(i == nsources && nsources < SOURCES, "it is watched already");
		sources[nsources++] = (struct source){ fd, type_of(fd), e->data.ptr };
	} else if (i < nsources) {
		sources[i] = sources[--nsources];
	}
	return 0;
}

/* Also of a connection whose other end is closed. */
static bool is_readable(const struct source *s)
{
	bool connects = false;

	if (s->fd >= FIRST)
		return connection_of(s->fd)->n || !connection_of(s->fd)->process;
	for (unsigned i = 0; i < CONNECTIONS; i++)
		connects |= connections[i].agent && !connections[i].accepted;
	return s->type == SOCK_DGRAM ? datagram.waits : s->type == SOCK_SEQPACKET && connects;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *e, int max, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *e, int max, int timeout)
{
	int n = 0;

	(void)epoll;
	(void)timeout;
	for (unsigned i = 0; i < nsources && n < max; i++)
		if (is_readable(&sources[i]))
			e[n++] = (struct epoll_event){ .events = EPOLLIN, .data.ptr = sources[i].ptr };
	return n;
}

/* Without epoll_pwait2(), as on an old kernel, the agent uses epoll_wait(). */
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	(void)number;
	errno = ENOSYS;
	return -1;
}

/* -- connections ---------------------------------------------------------------------------- */

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	(void)fd;
	(void)flags;
	require(!from && !len, "the agent needs no name");
	for (int i = 0; i < CONNECTIONS; i++)
		if (connections[i].agent && !connections[i].accepted) {
			connections[i].accepted = true;
			return FIRST + i;
		}
	errno = EAGAIN;
	return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (fd < FIRST)
		return __real_getsockopt(fd, level, name, value, len);
	require(level == SOL_SOCKET && (name == SO_PEERCRED || name == SO_PEERPIDFD), "only the user is known");
	if (name == SO_PEERPIDFD) {
		errno = ENOPROTOOPT;
		return -1;
	}
	*(struct ucred *)value = (struct ucred){ .pid = 1 + fd - FIRST, .uid = connection_of(fd)->uid };
	return 0;
}

static void pass(const struct message *m, struct msghdr *h)
{
	struct cmsghdr *c = h->msg_control;
	int copy;

	if (m->passed < 0) {
		h->msg_controllen = 0;
		return;
	}
	if (h->msg_controllen < CMSG_LEN(sizeof(copy))) {
		h->msg_flags |= MSG_CTRUNC;
		return;
	}
	copy = fcntl(m->passed, F_DUPFD_CLOEXEC, 0);
	require(copy >= 0 && copy < FD_SETSIZE, "too many descriptors");
	is_copy[copy] = true;
	ncopies++;
	h->msg_controllen = CMSG_LEN(sizeof(copy));
	*c = (struct cmsghdr){ .cmsg_len = h->msg_controllen, .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &copy, sizeof(copy));
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *h, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *h, int flags)
{
	struct connection *c = connection_of(fd);
	const struct message *m = &c->queue[c->first];
	const size_t room = h->msg_iovlen ? h->msg_iov->iov_len : 0;
	const size_t len = m->len < room ? m->len : room;

	if (!c->n) {
		h->msg_controllen = 0;
		errno = EAGAIN;
		return c->process ? -1 : 0;
	}
	h->msg_flags = len < m->len ? MSG_TRUNC : 0;
	if (len)
		memcpy(h->msg_iov->iov_base, m->data, len);
	pass(m, h);
	if (!(flags & MSG_PEEK)) {
		c->first = (c->first + 1) % QUEUE;
		c->n--;
	}
	return (ssize_t)len;
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	(void)data;
	(void)flags;
	if (connection_of(fd)->process)
		return (ssize_t)len;
	errno = EPIPE;
	return -1;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	if (fd < FIRST) {
		if (fd >= 0 && fd < FD_SETSIZE && is_copy[fd]) {
			is_copy[fd] = false;
			ncopies--;
		}
		return __real_close(fd);
	}
	connection_of(fd)->agent = false;
	return 0;
}

/* As the thread does, at once. */
void __wrap_ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket, int passed);
void __wrap_ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket, int passed)
{
	(void)a;
	(void)entry;
	if (passed >= 0)
		__wrap_close(passed);
	__wrap_close(socket);
}

/* -- datagrams -------------------------------------------------------------------------------- */

static void put_name(struct msghdr *h)
{
	struct sockaddr_in *in = h->msg_name;

	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(datagram.port) };
	memcpy(&in->sin_addr, datagram.ends.remote.b + 12, 4);
}

static void put_info(struct msghdr *h)
{
	struct in_pktinfo info = { .ipi_ifindex = (int)datagram.ends.arrived };
	struct cmsghdr *c = h->msg_control;

	memcpy(&info.ipi_addr, datagram.ends.local.b + 12, 4);
	h->msg_controllen = CMSG_SPACE(sizeof(info));
	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(info)), .cmsg_level = IPPROTO_IP,
			       .cmsg_type = IP_PKTINFO };
	memcpy(CMSG_DATA(c), &info, sizeof(info));
}

int __wrap_recvmmsg(int fd, struct mmsghdr *h, unsigned n, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *h, unsigned n, int flags, struct timespec *timeout)
{
	struct msghdr *m = &h->msg_hdr;

	(void)fd;
	(void)flags;
	(void)timeout;
	if (!n || !datagram.waits) {
		errno = EAGAIN;
		return -1;
	}
	datagram.waits = false;
	h->msg_len = (unsigned)(datagram.len < m->msg_iov->iov_len ? datagram.len
								   : m->msg_iov->iov_len);
	memcpy(m->msg_iov->iov_base, datagram.data, h->msg_len);
	put_name(m);
	put_info(m);
	return 1;
}

/* All bytes sent are read, so that sanitizers check them. */
int __wrap_sendmmsg(int fd, struct mmsghdr *h, unsigned n, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *h, unsigned n, int flags)
{
	static uint8_t sent[sizeof(datagram.data)];

	(void)fd;
	(void)flags;
	for (unsigned i = 0; i < n; i++) {
		const struct iovec *iov = h[i].msg_hdr.msg_iov;

		require(iov->iov_len <= sizeof(sent), "the datagram is too long");
		memcpy(sent, iov->iov_base, iov->iov_len);
	}
	return (int)n;
}
