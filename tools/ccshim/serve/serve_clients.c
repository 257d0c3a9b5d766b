/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps places for the owner. Any local user, or a page in a browser, may connect. A connection
 * that has not sent the token has REQUEST_NS for a request, however slowly its bytes arrive. If more
 * than MOST of these are open, the oldest end, but not before GRACE_NS, in which a client that does
 * not wait has sent its request.
 */
#include "serve.h"

#ifdef HAVE_LIBMICROHTTPD

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "serve_clients.h"

enum { MOST = SERVE_CONNECTIONS / 2 };
#define GRACE_NS 200000000ull
#define REQUEST_NS (10 * 1000000000ull)

struct serve_client {
	struct serve_client *next;       /* a younger connection */
	uint64_t since_ns;               /* when it connected, or its last request was answered */
	int fd;
	bool ending;                     /* libmicrohttpd will close it */
	bool trusted;                    /* it has sent the token */
};

static struct serve_client *oldest;

/* libmicrohttpd reads the end of the connection, and closes it. */
static void end_client(struct serve_client *c)
{
	c->ending = true;
	shutdown(c->fd, SHUT_RDWR);
}

static void add(struct serve_client *c, int fd)
{
	struct serve_client **at = &oldest;

	*c = (struct serve_client){ .fd = fd, .since_ns = ccs_clock_ns(CLOCK_MONOTONIC) };
	while (*at)
		at = &(*at)->next;
	*at = c;
}

static void delete(struct serve_client *c)
{
	struct serve_client **at = &oldest;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	free(c);
}

void serve_clients_notify(void *arg, struct MHD_Connection *connection, void **client,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;

	(void)arg;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		delete(*client);
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	*client = info ? malloc(sizeof(struct serve_client)) : NULL;
	if (*client)
		add(*client, info->connect_fd);
	else if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}

static struct serve_client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void serve_clients_trust(struct MHD_Connection *connection)
{
	struct serve_client *c = client_of(connection);

	if (c)
		c->trusted = true;
}

void serve_clients_answered(struct MHD_Connection *connection)
{
	struct serve_client *c = client_of(connection);

	if (c)
		c->since_ns = ccs_clock_ns(CLOCK_MONOTONIC);
}

bool serve_clients_tick(void)
{
	const uint64_t now_ns = ccs_clock_ns(CLOCK_MONOTONIC);
	unsigned open = 0;

	for (struct serve_client *c = oldest; c; c = c->next)
		open += !c->trusted && !c->ending;
	for (struct serve_client *c = oldest; c; c = c->next) {
		const uint64_t age_ns = now_ns - c->since_ns;

		if (c->trusted || c->ending || age_ns < GRACE_NS)
			continue;
		if (open > MOST || age_ns > REQUEST_NS) {
			end_client(c);
			open--;
		}
	}
	return open > MOST;
}

#endif
