/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_PUNCHED_H
#define CCS_AGENT_PUNCHED_H
/*
 * Regions whose memory their process has released, although it is registered. The agent would
 * allocate each such page when it accesses it, and pay for it. A page that is allocated again is
 * zero, so a value that the agent has written there tells the two apart: after one page the
 * connection ends, and regions of its user are refused for an hour.
 */
#include "agent/host/priv.h"

/* The slot of a registered flow; NULL: its memory was released. */
static inline struct ccs_slot *ccs_client_slot(struct ccs_client *c, uint32_t slot)
{
	struct ccs_slot *s = &c->shm->slot[slot];

	c->punched = c->punched || !atomic_load_explicit(&s->path, memory_order_relaxed);
	return c->punched ? NULL : s;
}

/* The record of a path that some flow of the client has; NULL: its memory was released. */
static inline struct ccs_shm_path *ccs_client_path(struct ccs_client *c, uint32_t index)
{
	struct ccs_shm_path *p = &c->shm->path[index];

	c->punched = c->punched || !atomic_load_explicit(&p->version, memory_order_relaxed);
	return c->punched ? NULL : p;
}

/* Whether the first page has its contents. */
static inline bool ccs_client_has_head(struct ccs_client *c)
{
	c->punched = c->punched || c->shm->magic != CCS_SHM_MAGIC;
	return !c->punched;
}

/* Whether the process has allocated the slot and the record that a new flow needs. */
bool ccs_client_may_add(struct ccs_client *c, uint32_t slot, uint32_t path);
/* Refuse the regions of that client's user for an hour. */
void ccs_punched_add(struct ccs_agent *a, const struct ccs_client *c);

#endif
