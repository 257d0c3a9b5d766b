/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshim/feed.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "feedback/ipc.h"

#define API __attribute__((visibility("default")))

struct ccs_feed {
	int fd;                          /* -1: not connected */
	struct sockaddr_un agent;
};

static void disconnect(struct ccs_feed *h)
{
	const int err = errno;

	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	errno = err;
}

/* Returns 0, or -1 with errno after closing the connection, so that a late reply cannot be taken
 * for the reply to the next request. */
static int failed(struct ccs_feed *h, int err)
{
	errno = err == EAGAIN ? ETIMEDOUT : err;
	disconnect(h);
	return -1;
}

static int send_request(struct ccs_feed *h, const void *message, size_t len)
{
	const ssize_t n = TEMP_FAILURE_RETRY(send(h->fd, message, len, MSG_NOSIGNAL));

	return n < 0 ? failed(h, errno == EPIPE ? ECONNRESET : errno) : 0;
}

static int receive_reply(struct ccs_feed *h, struct ccs_ipc_result *reply)
{
	const ssize_t n = TEMP_FAILURE_RETRY(recv(h->fd, reply, sizeof(*reply), 0));

	if (n <= 0)
		return failed(h, n < 0 ? errno : ECONNRESET);
	if ((size_t)n < sizeof(*reply) || reply->type != CCS_IPC_RESULT || reply->error < 0)
		return failed(h, EPROTO);
	return 0;
}

static int send_hello(struct ccs_feed *h)
{
	const struct ccs_ipc_hello hello = {
		.type = CCS_IPC_HELLO, .version = CCS_IPC_VERSION,
	};
	struct ccs_ipc_result reply;

	if (send_request(h, &hello, sizeof(hello)) || receive_reply(h, &reply))
		return -1;
	return reply.error ? failed(h, reply.error) : 0;
}

static int connect_agent(struct ccs_feed *h)
{
	static const struct timeval timeout = { .tv_sec = 3 };

	h->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (h->fd < 0)
		return -1;
	setsockopt(h->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (TEMP_FAILURE_RETRY(connect(h->fd, (void *)&h->agent, sizeof(h->agent))))
		return failed(h, errno == ENOENT ? ECONNREFUSED : errno);
	return send_hello(h);
}

API struct ccs_feed *ccs_feed_open(const char *path)
{
	struct ccs_feed *h;

	path = path ? path : CCS_IPC_SOCKET;
	if (strlen(path) >= sizeof(h->agent.sun_path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->fd = -1;
	h->agent.sun_family = AF_UNIX;
	strcpy(h->agent.sun_path, path);
	if (connect_agent(h) == 0)
		return h;
	ccs_feed_close(h);
	return NULL;
}

/* An agent that was restarted closed the connection and has not received the request: send it again
 * on a new connection. */
static int send_with_reconnect(struct ccs_feed *h, const void *message, size_t len)
{
	if (h->fd >= 0 && send_request(h, message, len) == 0)
		return 0;
	return connect_agent(h) ? -1 : send_request(h, message, len);
}

static int request(struct ccs_feed *h, const void *message, size_t len)
{
	struct ccs_ipc_result reply;

	if (send_with_reconnect(h, message, len) || receive_reply(h, &reply))
		return -1;
	errno = reply.error ? reply.error : errno;
	return reply.error ? -1 : 0;
}

API int ccs_feed_cnp(struct ccs_feed *h, const char *device, uint32_t qpn, uint32_t count)
{
	struct ccs_ipc_cnp cnp = { .type = CCS_IPC_CNP, .local_qpn = qpn, .count = count };

	if (!count || !*device || strlen(device) >= sizeof(cnp.device)) {
		errno = EINVAL;
		return -1;
	}
	strcpy(cnp.device, device);
	return request(h, &cnp, sizeof(cnp));
}

/* The agent validates the record. */
API int ccs_feed_link(struct ccs_feed *h, const struct ccs_feed_link *link)
{
	struct ccs_ipc_record m = {
		.type = CCS_IPC_RECORD, .from_bits = link->from_bits,
		.link = link->link, .hop = link->hop, .ts_ns = link->ts_ns,
		.tx_bytes = link->tx_bytes, .qlen_bytes = link->qlen_bytes,
		.capacity = link->capacity, .covers_ns = link->covers_ns,
	};

	memcpy(m.from, link->from, sizeof(m.from));
	memcpy(m.to, link->to, sizeof(m.to));
	return request(h, &m, sizeof(m));
}

API void ccs_feed_close(struct ccs_feed *h)
{
	if (!h)
		return;
	disconnect(h);
	free(h);
}
