/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CONN_H
#define CCS_AGENT_CONN_H
/* A client's connection to the host agent; feedback/ipc.h has the messages. No call blocks. */

#include "feedback/registrations.h"
#include "feedback/ipc.h"

/* Send a message with a descriptor, or without one (-1). 0 or an errno. */
int ccs_ipc_send(int fd, const void *message, size_t len, int passed);

/* Connects, and sends the HELLO with the region's descriptor. A descriptor, or -1 and errno. */
int ccs_agent_conn_open(const char *path, int shm_fd);

/* Add a flow in that slot, or remove it. 0; EAGAIN: the socket is full; other errors: the
 * connection is broken. */
int ccs_agent_conn_add(int fd, uint32_t slot, const struct ccs_feedback_flow *flow);
int ccs_agent_conn_remove(int fd, uint32_t slot);

/* Receive the next reply, and its descriptor or -1. 0; EAGAIN: not yet received; other errors: the
 * connection is broken. */
int ccs_agent_conn_reply(int fd, struct ccs_ipc_result *result, int *passed);

#endif
