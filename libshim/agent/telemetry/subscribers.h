/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SUBSCRIBERS_H
#define CCS_AGENT_SUBSCRIBERS_H
/* Which peers and which READing flows receive telemetry of which port. */
#include "agent/telemetry/ports.h"

/* Update a peer's subscriptions from its newest HELLO. */
void ccs_subscribers_update(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			    const struct ccs_wire_message *message);
/* Update the subscription of flows here that READ from that peer. False: their data cannot be
 * measured. */
bool ccs_subscribers_update_inbound(struct ccs_agent *a, struct ccs_peer *p);
/* Remove one subscription, or all of a peer. */
void ccs_subscriber_remove(struct ccs_port *port, const struct ccs_peer *p, bool inbound);
void ccs_subscribers_remove_peer(struct ccs_agent *a, struct ccs_peer *p);

#endif
