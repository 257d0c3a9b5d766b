/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries the status of a host agent, and sets terms of its tenants. */
#include "ask_agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cc/shares.h"
#include "feedback/ipc.h"

enum { TIMEOUT_S = 10, PAUSE_MS = 50, TEXT_MAX = 1 << 20 };

static int connect_to(const char *path)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	errno = ENAMETOOLONG;
	if (strlen(path) >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

static ssize_t exchange(int fd, const void *request, size_t len, void *answer, size_t most)
{
	ssize_t n = -1;

	if (send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len)
		n = recv(fd, answer, most, 0);
	if (n == 0)
		errno = ECONNRESET;
	return n > 0 ? n : -1;
}

static int send_hello(int fd)
{
	const struct ccs_ipc_hello hello = {
		.type = CCS_IPC_HELLO, .version = CCS_IPC_VERSION,
	};
	struct ccs_ipc_result r = { 0 };

	if (exchange(fd, &hello, sizeof(hello), &r, sizeof(r)) < 0)
		return -1;
	errno = r.type == CCS_IPC_RESULT ? r.error : EPROTO;
	return errno ? -1 : 0;
}

static bool is_busy(const char *answer, ssize_t n)
{
	struct ccs_ipc_result r;

	if (n != (ssize_t)sizeof(r))
		return false;
	memcpy(&r, answer, sizeof(r));
	return r.type == CCS_IPC_RESULT && r.error == EAGAIN;
}

/* The agent answers a limited number of requests per user and second. */
static ssize_t request_status(int fd, char *text)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	const uint32_t type = CCS_IPC_STATUS;
	ssize_t n = -1;

	for (int i = 0; i < 1000 * TIMEOUT_S / PAUSE_MS; i++) {
		n = exchange(fd, &type, sizeof(type), text, TEXT_MAX - 1);
		if (!is_busy(text, n))
			return n;
		memset(text, 0, (size_t)n);
		nanosleep(&pause, NULL);
	}
	errno = EAGAIN;
	return -1;
}

char *ask_agent(const char *socket)
{
	const int fd = connect_to(socket);
	char *text = NULL;
	ssize_t n = -1;
	int saved;

	if (fd < 0)
		return NULL;
	if (send_hello(fd) == 0 && (text = calloc(1, TEXT_MAX)))
		n = request_status(fd, text);
	saved = errno;
	close(fd);
	if (n < 0) {
		free(text);
		text = NULL;
	}
	errno = saved;
	return text;
}

int agent_set_tenant(const char *socket, const char *name, const struct ccs_terms *terms, unsigned set,
		     bool *reached)
{
	struct ccs_ipc_tenant m = {
		.type = CCS_IPC_TENANT, .set = set, .weight = terms->weight, .cap = terms->cap,
		.guarantee = terms->guarantee, .floor = terms->floor,
	};
	struct ccs_ipc_result r = { 0 };
	const int fd = connect_to(socket);

	*reached = false;
	if (fd < 0)
		return errno;
	if (strlen(name) < sizeof(m.name))
		memcpy(m.name, name, strlen(name));
	if (send_hello(fd) || exchange(fd, &m, sizeof(m), &r, sizeof(r)) < 0) {
		r.error = errno;
	} else {
		*reached = r.type == CCS_IPC_RESULT;
	}
	close(fd);
	return r.error;
}
