/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CNP_H
#define CCS_AGENT_CNP_H
/* CNPs and the state of peers, from all sources, to flows of clients. */
#include "agent/host/priv.h"

/* -- writes of CNPs and of a peer's state into clients' shared regions ---------------- */

void ccs_deliver_cnps(struct ccs_agent_flow *f, uint64_t n);
/* Write the peer's state to one client, or to all clients with flows towards that peer. */
void ccs_deliver_peer(const struct ccs_client *c, const struct ccs_peer *p);
void ccs_deliver_peer_to_all(struct ccs_agent *a, const struct ccs_peer *p);

/* -- CNPs that clients feed through libccshim_feed ------------------------------------ */

void ccs_cnp_feed_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_cnp_feed_detach(struct ccs_agent_flow *f);
/* Whether the client's user already has CCS_AGENT_SAME_QP slots for that QP: each of its CNPs is
 * delivered to every slot. */
bool ccs_cnp_feed_slots_used_up(const struct ccs_agent *a, const struct ccs_client *c,
				const struct ccs_ipc_add *m);
/* 0; ENOENT: no such flow; EPERM: it belongs to another user, and c is not root; EINVAL. */
int ccs_cnp_feed_deliver(struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_ipc_cnp *m);

/* Whether flows are registered for that QP, but only towards other peers. */
bool ccs_cnp_feed_has_other_peer(const struct ccs_agent *a, const char *device, uint32_t qpn,
				 const struct ccs_peer *p);

/* -- CNPs that NICs handle in hardware, for clients' flows ---------------------------- */

void ccs_nic_cnps_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_nic_cnps_detach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_nic_cnps_poll(struct ccs_agent *a, uint64_t now_ns);
void ccs_nic_cnps_tick(struct ccs_agent *a, uint64_t now_ns);

#endif
