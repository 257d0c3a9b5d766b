/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SERVE_CLIENTS_H
#define CCS_TOOLS_SERVE_CLIENTS_H
/* The connections of ccshim serve, for libmicrohttpd. */
#include <microhttpd.h>
#include <stdbool.h>

enum { SERVE_CONNECTIONS = 512 };

/* MHD_OPTION_NOTIFY_CONNECTION */
void serve_clients_notify(void *arg, struct MHD_Connection *connection, void **client,
			  enum MHD_ConnectionNotificationCode what);
/* A request of this connection had the token: the connection has no limits further on. */
void serve_clients_trust(struct MHD_Connection *connection);
/* A request was answered: the time of the next request begins. */
void serve_clients_answered(struct MHD_Connection *connection);
/* End connections whose time is over. Whether to call it again soon, as others wait for a place. */
bool serve_clients_tick(void);

#endif
