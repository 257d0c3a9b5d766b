/* SPDX-License-Identifier: BSD-2-Clause */
#include "xchg.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

struct header { uint32_t type, len; };

#define MAX_MESSAGE (256u << 20) /* more is a broken stream */

int xchg_send(const struct xchg *x, uint32_t type, const void *data, size_t len)
{
	struct header h = { .type = type, .len = (uint32_t)len };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)data, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	while (iov[0].iov_len + iov[1].iov_len > 0) {
		n = sendmsg(x->fd, &msg, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -1;
		for (int i = 0; i < 2 && n > 0; i++) {
			size_t part = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;

			iov[i].iov_base = (char *)iov[i].iov_base + part;
			iov[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

static int receive_all(int fd, void *data, size_t len)
{
	char *at = data;
	ssize_t n;

	while (len > 0) {
		n = recv(fd, at, len, MSG_WAITALL);
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int xchg_recv(const struct xchg *x, struct xchg_msg *m)
{
	struct header h;

	if (receive_all(x->fd, &h, sizeof(h)))
		return -1;
	if (h.len > MAX_MESSAGE) {
		errno = EBADMSG;
		return -1;
	}
	*m = (struct xchg_msg){ .type = h.type, .len = h.len, .data = malloc(h.len + 1) };
	if (!m->data)
		return -1;
	if (receive_all(x->fd, m->data, h.len)) {
		free(m->data);
		return -1;
	}
	((char *)m->data)[h.len] = '\0'; /* a text can be printed as it is */
	return 0;
}

int xchg_wait_any(const struct xchg *x, size_t n, int64_t ns, const sigset_t *mask)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };
	struct pollfd p[XCHG_MAX];
	size_t i;
	int ready;

	if (n > XCHG_MAX || ns <= 0) {
		errno = ns <= 0 ? ETIMEDOUT : E2BIG;
		return -1;
	}
	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = x[i].fd, .events = POLLIN };
	ready = ppoll(p, (nfds_t)n, &ts, mask);
	if (ready <= 0) {
		if (ready == 0)
			errno = ETIMEDOUT;
		return -1;
	}
	for (i = 0; !p[i].revents; i++)
		;
	return (int)i;
}
