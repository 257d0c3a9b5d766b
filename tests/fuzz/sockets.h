/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FUZZ_SOCKETS_H
#define CCS_FUZZ_SOCKETS_H
/*
 * Sockets of an agent, in memory: the linker wraps the functions by which it waits, accepts, sends
 * and receives (tests/fuzz/local.mk). Descriptors that a message passes are real, as the agent
 * maps them; the agent gets a copy of each. Errors end the program.
 */
#include "agent/host/priv.h"

/* A connection of a process of that user, until it ends it. Returns its number. */
unsigned fuzz_connect(uid_t uid);
void fuzz_disconnect(unsigned connection);
/* No effect if the agent has ended the connection. passed: a descriptor, or -1. */
void fuzz_send(unsigned connection, const void *data, size_t len, int passed);

/* A datagram from ends->remote, which arrives in the agent's next turn. */
void fuzz_datagram(const struct ccs_ends *ends, uint16_t port, const void *data, size_t len);

/* Descriptors that the agent has: copies of those passed, and its ends of connections. */
unsigned fuzz_descriptors(void);

#endif
