/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_INHERITED_H
#define CCS_AGENT_INHERITED_H
/* Sockets that a service manager opened for the agent: it holds the names and ports. */
#include <sys/socket.h>

#include "agent/host/priv.h"

/* The socket of that type that is bound to that address, without IPv4 if it is IPv6; or -1. */
int ccs_inherited_find(struct ccs_agent *a, int type, const struct sockaddr *at);
/* Whether a user other than root has a UDP socket with that port, and which. */
bool ccs_inherited_port_user(sa_family_t family, uint16_t port, unsigned *uid);
/* Warn if there are some that the agent does not use. */
void ccs_inherited_check(struct ccs_agent *a);

#endif
