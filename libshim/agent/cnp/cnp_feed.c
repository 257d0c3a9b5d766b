/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim/feed.h is the public interface. Flows are found by device and QPN. */
#include "agent/cnp/cnp.h"

#include <errno.h>

#include "agent/host/core.h"

static uint64_t hash_of(const struct ccs_agent *a, const char *device, uint32_t qpn)
{
	uint64_t hash = a->flows.by_qp.salt ^ qpn;

	while (*device)
		hash = ccs_mix(hash ^ (uint8_t)*device++);
	return hash;
}

void ccs_cnp_feed_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	ccs_index_add(&a->flows.by_qp, &f->qp_link, hash_of(a, f->device, f->local_qpn));
}

void ccs_cnp_feed_detach(struct ccs_agent_flow *f)
{
	ccs_index_remove(&f->qp_link);
}

/* The flow of that QP after f, or the first; NULL: no other. */
static struct ccs_agent_flow *next_flow(const struct ccs_agent *a, const char *device, uint32_t qpn,
					struct ccs_agent_flow *f)
{
	const uint64_t hash = hash_of(a, device, qpn);
	struct ccs_hash_node *l = f ? &f->qp_link : NULL;

	while ((l = ccs_index_next(&a->flows.by_qp, l, hash))) {
		f = CCS_FLOW_OF(l, qp_link);
		if (f->local_qpn == qpn && strcmp(f->device, device) == 0)
			return f;
	}
	return NULL;
}

bool ccs_cnp_feed_slots_used_up(const struct ccs_agent *a, const struct ccs_client *c,
				const struct ccs_ipc_add *m)
{
	struct ccs_agent_flow *f = NULL;
	unsigned n = 0;

	while ((f = next_flow(a, m->device, m->local_qpn, f)))
		n += ccs_users_share_limits(f->client, c);
	return n >= CCS_AGENT_SAME_QP;
}

bool ccs_cnp_feed_has_other_peer(const struct ccs_agent *a, const char *device, uint32_t qpn,
				 const struct ccs_peer *p)
{
	struct ccs_agent_flow *f = NULL;
	bool other = false;

	while ((f = next_flow(a, device, qpn, f))) {
		if (f->peer == p)
			return false;
		other = true;
	}
	return other;
}

int ccs_cnp_feed_deliver(struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_ipc_cnp *m)
{
	struct ccs_agent_flow *f = NULL;
	int error = ENOENT;

	if (!m->count || memchr(m->device, '\0', sizeof(m->device)) == NULL)
		return EINVAL;
	while ((f = next_flow(a, m->device, m->local_qpn, f))) {
		if (!ccs_users_may_access(c, f->client)) {
			error = error ? EPERM : 0;
			continue;
		}
		ccs_deliver_cnps(f, m->count);
		error = 0;
	}
	a->totals.cnps_hooked += error ? 0 : m->count;
	return error;
}
