/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CLIENT_H
#define CCS_AGENT_CLIENT_H
/*
 * The process's client of the host agent: a thread, ccshim-feedback, that registers flows with the
 * agent and updates each flow's feedback status (slot.status) ten times a second. It starts with
 * the first flow, with all signals blocked, and reconnects without limit. It has a separate
 * descriptor table: the application cannot see or close its descriptors, and children do not
 * inherit them.
 *
 * Any thread may attach and detach; neither waits for an agent. Not allowed after fork.
 */
#include "feedback/ipc.h"
#include "feedback/registrations.h"

/* Set the path of the agent's socket. Call once, before any attach. */
void ccs_agent_client_setup(const char *path);

/* Whether an agent's socket exists or the thread runs; if not, attaching has no use. */
bool ccs_agent_client_is_useful(void);

/* NULL: no slot, thread or memory is available; the caller reports it. */
struct ccs_slot *ccs_agent_client_attach(const struct ccs_feedback_flow *flow);
/* The slot may be reused afterwards. NULL: no effect. */
void ccs_agent_client_detach(struct ccs_slot *slot);

/* The record that a slot's `path` (to its peer) or `inbound` (from it) refers to; NULL if it does
 * not exist yet. The address of a record does not change. */
const struct ccs_shm_path *ccs_agent_client_path(const _Atomic uint32_t *index);

void ccs_agent_client_finish(void);

/* The connection; feedback/ipc.h has the messages. No call blocks. Connects, and sends the HELLO with
 * the region's descriptor. A descriptor, or -1 and errno. */
int ccs_agent_conn_open(const char *path, int shm_fd);

/* Add a flow in that slot, or remove it. 0; EAGAIN: the socket is full; other errors: the
 * connection is broken. */
int ccs_agent_conn_add(int fd, uint32_t slot, const struct ccs_feedback_flow *flow);
int ccs_agent_conn_remove(int fd, uint32_t slot);

/* Receive the next reply. 0; EAGAIN: not yet received; other errors: the connection is broken. */
int ccs_agent_conn_reply(int fd, struct ccs_ipc_result *result);

#endif
