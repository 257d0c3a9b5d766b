/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshim/hooks.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "signal/int.h"
#include "signal/local.h"

#define API __attribute__((visibility("default")))

struct ccs_hooks {
	int fd;                          /* -1: not connected */
	struct sockaddr_un agent;
};

static void disconnect(struct ccs_hooks *h)
{
	const int err = errno;

	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	errno = err;
}

/* 0, or -1, errno, and no connection: an answer that comes late must not be the next one's. */
static int failed(struct ccs_hooks *h, int err)
{
	errno = err == EAGAIN ? ETIMEDOUT : err;
	disconnect(h);
	return -1;
}

static int tell(struct ccs_hooks *h, const void *request, size_t len)
{
	const ssize_t n = TEMP_FAILURE_RETRY(send(h->fd, request, len, MSG_NOSIGNAL));

	return n < 0 ? failed(h, errno == EPIPE ? ECONNRESET : errno) : 0;
}

static int hear(struct ccs_hooks *h, struct ccs_local_result *answer)
{
	const ssize_t n = TEMP_FAILURE_RETRY(recv(h->fd, answer, sizeof(*answer), 0));

	if (n <= 0)
		return failed(h, n < 0 ? errno : ECONNRESET);
	if ((size_t)n < sizeof(*answer) || answer->type != CCS_LOCAL_RESULT || answer->error < 0)
		return failed(h, EPROTO);
	return 0;
}

static int greet(struct ccs_hooks *h)
{
	const struct ccs_local_hello hello = {
		.type = CCS_LOCAL_HELLO, .version = CCS_LOCAL_VERSION,
	};
	struct ccs_local_result answer;

	if (tell(h, &hello, sizeof(hello)) || hear(h, &answer))
		return -1;
	return answer.error ? failed(h, answer.error) : 0;
}

static int reach(struct ccs_hooks *h)
{
	static const struct timeval patience = { .tv_sec = 3 };

	h->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (h->fd < 0)
		return -1;
	setsockopt(h->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (TEMP_FAILURE_RETRY(connect(h->fd, (void *)&h->agent, sizeof(h->agent))))
		return failed(h, errno == ENOENT ? ECONNREFUSED : errno);
	return greet(h);
}

API struct ccs_hooks *ccs_hooks_open(const char *path)
{
	struct ccs_hooks *h;

	path = path ? path : CCS_LOCAL_SOCKET;
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
	if (reach(h) == 0)
		return h;
	ccs_hooks_close(h);
	return NULL;
}

/* An agent that was started again has forgotten the connection, and has got nothing. */
static int tell_anew(struct ccs_hooks *h, const void *request, size_t len)
{
	if (h->fd >= 0 && tell(h, request, len) == 0)
		return 0;
	return reach(h) ? -1 : tell(h, request, len);
}

static int ask(struct ccs_hooks *h, const void *request, size_t len)
{
	struct ccs_local_result answer;

	if (tell_anew(h, request, len) || hear(h, &answer))
		return -1;
	errno = answer.error ? answer.error : errno;
	return answer.error ? -1 : 0;
}

API int ccs_hooks_cnp(struct ccs_hooks *h, const char *device, uint32_t qpn, uint32_t count)
{
	struct ccs_local_cnp cnp = { .type = CCS_LOCAL_CNP, .local_qpn = qpn, .count = count };

	if (!count || !*device || strlen(device) >= sizeof(cnp.device)) {
		errno = EINVAL;
		return -1;
	}
	strcpy(cnp.device, device);
	return ask(h, &cnp, sizeof(cnp));
}

/* Whether it makes sense is for the agent to say. */
API int ccs_hooks_record(struct ccs_hooks *h, const struct ccs_hooks_link *link)
{
	struct ccs_local_record m = {
		.type = CCS_LOCAL_RECORD, .from_bits = link->from_bits,
		.link = link->link, .hop = link->hop, .ts_ns = link->ts_ns,
		.tx_bytes = link->tx_bytes, .qlen_bytes = link->qlen_bytes,
		.capacity = link->capacity, .covers_ns = link->covers_ns,
	};

	memcpy(m.from, link->from, sizeof(m.from));
	memcpy(m.to, link->to, sizeof(m.to));
	return ask(h, &m, sizeof(m));
}

_Static_assert(sizeof(struct ccs_int_link) <= 8 * sizeof(uint64_t), "it fits the caller's state");

API int ccs_hooks_int(uint64_t state[8], uint32_t name, const uint64_t rates[16], uint64_t word,
		      uint64_t arrived_ns, struct ccs_hooks_link *link)
{
	const struct ccs_int_format format = { CCS_INT_PAPER, 1, rates, 16 };
	struct ccs_int_link l;
	struct ccs_record r;

	memcpy(&l, state, sizeof(l));
	l.name = name;
	if (!rates[word >> 60]) {
		errno = EINVAL;
		return -1;
	}
	if (!ccs_int_follow(&l, &format, word, arrived_ns, &r)) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(state, &l, sizeof(l));
	link->link = r.link;
	link->ts_ns = r.ts_ns;
	link->tx_bytes = r.tx_bytes;
	link->qlen_bytes = r.qlen_bytes;
	link->capacity = r.capacity;
	link->covers_ns = 0;
	return 0;
}

API void ccs_hooks_close(struct ccs_hooks *h)
{
	if (!h)
		return;
	disconnect(h);
	free(h);
}
