/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"


bool ccs_client_may_add(struct ccs_client *c, uint32_t slot, uint32_t path)
{
	return ccs_shm_is_allocated(c->shm, c->shm_fd, offsetof(struct ccs_shm, slot[slot]),
				    sizeof(struct ccs_slot)) &&
	       ccs_shm_is_allocated(c->shm, c->shm_fd, offsetof(struct ccs_shm, path[path]),
				    sizeof(struct ccs_shm_path));
}

void ccs_punched_add(struct ccs_agent *a, const struct ccs_client *c)
{
	c->user->regions_ns = ccs_agent_now(a) + CCS_AGENT_WARN_NS;
	ccs_agent_warn(a, CCS_AGENT_WARN_PUNCHED, "process %d has released memory of its region: its user %u "
		       "gets no feedback for an hour", (int)c->pid, c->uid);
}
