/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_FLOWS_H
#define CCS_AGENT_FLOWS_H
/* The table of clients' flows. */
#include "agent/host/priv.h"

/* 0 or an errno. */
int ccs_agent_flow_add(struct ccs_agent *a, struct ccs_client *c, const struct ccs_ipc_add *m);
/* The client's flow in that slot, or NULL. */
struct ccs_agent_flow *ccs_agent_flow_find(const struct ccs_agent *a, const struct ccs_client *c,
					   uint32_t slot);
void ccs_agent_flow_remove(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Deliver a CNP from that peer; returns the number of flows that received it. */
unsigned ccs_agent_flow_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t peer_qpn);

#endif
