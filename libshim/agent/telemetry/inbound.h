/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_INBOUND_H
#define CCS_AGENT_INBOUND_H
/* Feedback for data that arrive because flows of this host READ them. */
#include "agent/telemetry/ports.h"

void ccs_inbound_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_inbound_detach(struct ccs_agent_flow *f);
/* Whether a flow of this host has that queue pair, connected to that peer. */
bool ccs_inbound_has(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn);
/* Deliver a CNP to the flows of that queue pair. */
void ccs_inbound_cnp(struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn);
/* A scan found that this flow READs. */
void ccs_inbound_read(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Subscribe to the records that the peer's inbound.request requests now. */
void ccs_inbound_update(struct ccs_agent *a, struct ccs_peer *p, uint32_t active_before,
			uint64_t now_ns);
/* Write a new sample of the peer's inbound port to the clients whose flows READ from it. */
void ccs_inbound_report(struct ccs_agent *a, const struct ccs_port *port,
			const struct ccs_subscriber *s, uint32_t flows);

#endif
