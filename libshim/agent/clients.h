/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CLIENTS_H
#define CCS_AGENT_CLIENTS_H
/* The listening socket and the connections of local processes. */
#include "agent/host/priv.h"

/* 0, or -1 with an error text and errno. */
int ccs_clients_open(struct ccs_agent *a, char *err, size_t len);
void ccs_clients_close(struct ccs_agent *a);
/* Write the heartbeat into each client's region. */
void ccs_clients_tick(struct ccs_agent *a, uint64_t now_ns);
/* Close the refused connection that waits for that, if one of the others is closed now. */
void ccs_clients_retry_refused(struct ccs_agent *a);

#endif
