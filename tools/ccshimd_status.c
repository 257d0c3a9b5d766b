/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshimd --status: asks, and prints the answer as it is. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "signal/local.h"
#include "tools/ccshimd.h"

enum { PATIENCE_S = 10 };

static int dial(const char *path)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	errno = ENAMETOOLONG;
	if (strlen(path) >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int ask(int fd)
{
	static char text[1 << 20];
	const uint32_t type = CCS_LOCAL_STATUS;
	ssize_t n = -1;

	if (send(fd, &type, sizeof(type), MSG_NOSIGNAL) == (ssize_t)sizeof(type))
		n = recv(fd, text, sizeof(text), 0);
	if (n == 0)
		errno = ECONNRESET;
	if (n <= 0)
		return -1;
	fwrite(text, 1, (size_t)n, stdout);
	return fflush(stdout);
}

int daemon_status(const char *socket)
{
	const int fd = dial(socket);

	if (fd < 0) {
		daemon_error("no agent at %s: %s", socket, strerror(errno));
		return EXIT_FAILURE;
	}
	if (ask(fd) == 0)
		return EXIT_SUCCESS;
	daemon_error("status of the agent at %s: %s", socket, strerror(errno));
	return EXIT_FAILURE;
}
