/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_REQUESTS_H
#define CCS_AGENT_REQUESTS_H
/* Handling of clients' requests; feedback/ipc.h defines the messages. */
#include "agent/host/priv.h"
#include "feedback/ipc.h"

/*
 * Handle one message. fd: the descriptor of the shared region, or -1; it remains the caller's.
 * False: the caller must close the connection.
 */
bool ccs_ipc_handle(struct ccs_agent *a, struct ccs_client *c, const void *data, size_t len,
		    int fd);

/* Send a message of that type with the descriptor of the tenant's caps. False: the socket is full. */
bool ccs_ipc_send_caps(const struct ccs_client *c, enum ccs_ipc_type type, int fd);

#endif
