/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CLIENT_H
#define CCS_AGENT_CLIENT_H
/*
 * The process's client of the host agent: a thread, ccshim-feedback, that registers flows with the
 * agent and updates each flow's feedback status (slot.status) ten times a second. It starts with
 * the first flow, with all signals blocked, and reconnects without limit. It has a separate
 * descriptor table: the application cannot see or close its descriptors, and children do not
 * inherit them.
 *
 * Any thread may attach and detach; neither waits for an agent. Not allowed after fork.
 */
#include "feedback/registrations.h"

/* Set the path of the agent's socket. Call once, before any attach. */
void ccs_agent_client_setup(const char *path);

/* Whether an agent's socket exists or the thread runs; if not, attaching has no use. */
bool ccs_agent_client_is_useful(void);

/* NULL: no slot, thread or memory is available; the caller reports it. */
struct ccs_slot *ccs_agent_client_attach(const struct ccs_feedback_flow *flow);
/* The slot may be reused afterwards. NULL: no effect. */
void ccs_agent_client_detach(struct ccs_slot *slot);

/* The record that a slot's `path` (to its peer) or `inbound` (from it) refers to; NULL if it does
 * not exist yet. The address of a record does not change. */
const struct ccs_shm_path *ccs_agent_client_path(const _Atomic uint32_t *index);

/* The cap that a slot names; NULL: the agent has given none. Caps stay mapped. */
struct ccs_cap *ccs_agent_client_cap(const struct ccs_slot *slot);

/* The process exits: end the thread. */
void ccs_agent_client_finish(void);

#endif
