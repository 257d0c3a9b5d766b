/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_DELIVER_H
#define CCS_AGENT_DELIVER_H
/* Writes of CNPs and of a peer's state into clients' shared regions. */
#include "agent/host/priv.h"

/* Add n CNPs, from any source, to the flow's slot. */
void ccs_deliver_cnps(struct ccs_agent_flow *f, uint64_t n);
/* Write the peer's state to one client, or to all clients with flows towards that peer. */
void ccs_deliver_peer(const struct ccs_client *c, const struct ccs_peer *p);
void ccs_deliver_peer_to_all(struct ccs_agent *a, const struct ccs_peer *p);

#endif
