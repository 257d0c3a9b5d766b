/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_ECHO_H
#define CCS_AGENT_ECHO_H
/* Telemetry received from a peer, and its publication in shared regions. */
#include "agent/host/priv.h"

/* Handle an ECHO; sorts its records. */
void ccs_echo_receive(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m);
/* Handle the flow count and the advised rates (0: no advice) of an ADVICE or HELLO_ACK. */
void ccs_echo_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_advice *advice,
		     const struct ccs_wire_message *m);

/* Convert n records of a path to *t; sorts the records. */
void ccs_echo_convert(struct ccs_path_telemetry *t, struct ccs_record *r, unsigned n,
		      uint32_t flows, uint64_t now_ns);
/* Write *t, with the rate of the client's tenant, to record `index` of each region whose client has
 * flows on that path. */
void ccs_echo_publish(struct ccs_agent *a, uint32_t index, const struct ccs_path_telemetry *t,
		      const struct ccs_tenant_list *rates);
/* The same for one client. */
void ccs_echo_publish_to(const struct ccs_agent *a, const struct ccs_client *c, uint32_t index,
			 const struct ccs_path_telemetry *t, const struct ccs_tenant_list *rates);

#endif
