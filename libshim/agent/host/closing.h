/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CLOSING_H
#define CCS_AGENT_CLOSING_H
/*
 * Clients' connections are closed by threads. close() of a descriptor that a process passed, or
 * left in its socket, can block for hours: a file on a server that the process runs, or a
 * lingering connection. Until it is done, the connection's entry in a->closing is set.
 */
#include "agent/host/priv.h"

/* 0, or -1: no memory. */
int ccs_closing_open(struct ccs_agent *a);
/* Threads may still be closing. */
void ccs_closing_end(struct ccs_agent *a);

/* Close a client's connection and the descriptor that it passed; -1: none. If the thread cannot be
 * created, they stay open. */
void ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket, int passed);

#endif
