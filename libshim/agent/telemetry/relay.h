/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_RELAY_H
#define CCS_AGENT_RELAY_H
/* Records of links elsewhere on the path, received from switches or from local processes. */
#include "agent/host/priv.h"

int ccs_relay_open(struct ccs_agent *a, char *err, size_t len);
/* Request records of links towards that address of this host from the switches. */
void ccs_relay_ask(struct ccs_agent *a, const struct ccs_address *local, uint32_t flows,
		   uint32_t period_us);
/* Store a switch's records. True: one of them is of the reported port nearest to this host. */
bool ccs_relay_receive(struct ccs_agent *a, const struct ccs_peer *p,
		       const struct ccs_wire_records *m);
/* Store a record that a client feeds. 0 or an errno. */
int ccs_relay_feed(struct ccs_agent *a, const struct ccs_client *c,
		   const struct ccs_ipc_record *m);
/* Copy at most n records for that peer's flows, with covers_ns by our clock; their number. */
unsigned ccs_relay_records_for(const struct ccs_agent *a, const struct ccs_peer *p,
			       uint64_t now_ns, struct ccs_record *r, unsigned n);

#endif
