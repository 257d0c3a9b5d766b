/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/punched.h"

#include "agent/host/core.h"
#include "agent/host/shm_map.h"

bool ccs_client_may_add(struct ccs_client *c, uint32_t slot, uint32_t path)
{
	return ccs_shm_is_allocated(c->shm, c->shm_fd, offsetof(struct ccs_shm, slot[slot]),
				    sizeof(struct ccs_slot)) &&
	       ccs_shm_is_allocated(c->shm, c->shm_fd, offsetof(struct ccs_shm, path[path]),
				    sizeof(struct ccs_shm_path));
}

void ccs_punched_add(struct ccs_agent *a, const struct ccs_client *c)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < CCS_AGENT_PUNCHERS; i++) {
		if (a->puncher[i].uid == c->uid)
			oldest = i;
		if (a->puncher[oldest].uid != c->uid && a->puncher[i].until_ns < a->puncher[oldest].until_ns)
			oldest = i;
	}
	a->puncher[oldest].uid = c->uid;
	a->puncher[oldest].until_ns = ccs_agent_now(a) + CCS_AGENT_WARN_NS;
	ccs_agent_warn(a, CCS_AGENT_WARN_PUNCHED, "process %d has released memory of its region: its user %u "
		       "gets no feedback for an hour", (int)c->pid, c->uid);
}

bool ccs_punched_has(const struct ccs_agent *a, uid_t uid)
{
	for (unsigned i = 0; i < CCS_AGENT_PUNCHERS; i++)
		if (a->puncher[i].uid == uid && a->puncher[i].until_ns > ccs_agent_now(a))
			return true;
	return false;
}
