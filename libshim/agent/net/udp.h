/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_UDP_H
#define CCS_AGENT_UDP_H
/* UDP sockets between agents, with batched send and receive. */
#include "agent/host/priv.h"

/* Opens the sockets; a->received is called for each datagram. 0, or -1 with an error text. */
int ccs_udp_open(struct ccs_agent *a, char *err, size_t len);
void ccs_udp_close(struct ccs_agent *a);
/* Queue a message, with authentication if configured; the loop flushes after each source. */
void ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_wire_message *m);
void ccs_udp_flush(struct ccs_agent *a);
/* Datagrams that the sockets dropped because their receive buffers were full. */
uint64_t ccs_udp_dropped(const struct ccs_agent *a);
/* Interface of a link-local address of this host; 0: not link-local, or not found. */
uint32_t ccs_udp_scope(const struct ccs_address *local);

#endif
