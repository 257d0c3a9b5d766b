/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_EVENTS_H
#define CCS_AGENT_EVENTS_H
/* The components whose events the loop handles. */
#include "agent/host/priv.h"

/* -- the listening socket and the connections of local processes ---------------------- */

/* 0, or -1 with an error text and errno. */
int ccs_clients_open(struct ccs_agent *a, char *err, size_t len);
void ccs_clients_close(struct ccs_agent *a);
/* Write the heartbeat into each client's region. */
void ccs_clients_tick(struct ccs_agent *a, uint64_t now_ns);
/* Close the refused connection that waits for that, if one of the others is closed now. */
void ccs_clients_retry_refused(struct ccs_agent *a);

/* -- the table of clients' flows ------------------------------------------------------ */

/* 0 or an errno. */
int ccs_agent_flow_add(struct ccs_agent *a, struct ccs_client *c, const struct ccs_ipc_add *m);
struct ccs_agent_flow *ccs_agent_flow_find(const struct ccs_agent *a, const struct ccs_client *c,
					   uint32_t slot);
void ccs_agent_flow_remove(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Deliver a CNP from that peer; returns the number of flows that received it. */
unsigned ccs_agent_flow_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t peer_qpn);

/* -- handling of clients' requests; feedback/ipc.h defines the messages --------------- */

/*
 * Handle one message. fd: the descriptor of the shared region, or -1; it remains the caller's.
 * False: the caller must close the connection.
 */
bool ccs_ipc_handle(struct ccs_agent *a, struct ccs_client *c, const void *data, size_t len,
		    int fd);

/* -- messages from other agents: checks and handling; feedback/wire.h defines them ---- */

void ccs_receive_message(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			 size_t len);

/* -- capture of CE-marked RoCEv2 packets by packet sockets. Requires CAP_NET_RAW ------ */

int ccs_capture_open(struct ccs_agent *a, char *err, size_t len);
void ccs_capture_close(struct ccs_agent *a);
/* Add the kernel's drops since the last call to the totals. */
void ccs_capture_count(struct ccs_agent *a);

/* -- DCQCN's notification point: from CE marks to CNPs -------------------------------- */

int ccs_np_open(struct ccs_agent *a);
/* A packet with a CE mark arrived for QP qpn of this host. opcode: InfiniBand, 9.2.1. */
void ccs_np_mark(struct ccs_agent *a, const struct ccs_ends *ends, uint8_t opcode, uint32_t qpn);

/* -- the agent's state as text, for `ccshimd --status` -------------------------------- */

/* One JSON object, as that client may see it, allocated by malloc(). NULL: out of memory. */
char *ccs_status_text(struct ccs_agent *a, const struct ccs_client *viewer, size_t *len);

#endif
