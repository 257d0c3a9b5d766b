/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SEND_H
#define CCS_AGENT_SEND_H
/* Messages to other agents; feedback/wire.h defines them. */
#include "agent/host/priv.h"

void ccs_send_hello(struct ccs_agent *a, struct ccs_peer *p);
/* The reply to a HELLO; sets ack->of. p may be NULL if the sender is not verified. */
void ccs_send_hello_ack(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_peer *p,
			const struct ccs_wire_header *hello,
			const struct ccs_wire_hello_ack *ack, const struct ccs_tenant_list *rates);
void ccs_send_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t qpn, uint32_t marked);
/* rates: advised to the peer's tenants */
void ccs_send_echo(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_echo *echo,
		   const struct ccs_tenant_list *rates);
void ccs_send_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_advice *advice,
		     const struct ccs_tenant_list *rates);
void ccs_send_records(struct ccs_agent *a, struct ccs_peer *p,
		      const struct ccs_wire_records *records);

#endif
