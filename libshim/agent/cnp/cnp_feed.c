/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim/feed.h is the public interface. Flows are found by device and QPN. */
#include "agent/cnp/cnp_feed.h"

#include <errno.h>

#include "agent/cnp/deliver.h"
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

bool ccs_cnp_feed_slots_used_up(const struct ccs_agent *a, const struct ccs_client *c,
				const struct ccs_ipc_add *m)
{
	const uint64_t hash = hash_of(a, m->device, m->local_qpn);
	struct ccs_hash_node *l = NULL;
	unsigned n = 0;

	while ((l = ccs_index_next(&a->flows.by_qp, l, hash))) {
		const struct ccs_agent_flow *f = CCS_FLOW_OF(l, qp_link);

		n += f->client->uid == c->uid && f->local_qpn == m->local_qpn;
	}
	return n >= CCS_AGENT_SAME_QP;
}

bool ccs_cnp_feed_has_other_peer(const struct ccs_agent *a, const char *device, uint32_t qpn,
				 const struct ccs_peer *p)
{
	const uint64_t hash = hash_of(a, device, qpn);
	struct ccs_hash_node *l = NULL;
	bool other = false;

	while ((l = ccs_index_next(&a->flows.by_qp, l, hash))) {
		const struct ccs_agent_flow *f = CCS_FLOW_OF(l, qp_link);

		if (f->local_qpn != qpn || strcmp(f->device, device) != 0)
			continue;
		if (f->peer == p)
			return false;
		other = true;
	}
	return other;
}

int ccs_cnp_feed_deliver(struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_ipc_cnp *m)
{
	struct ccs_hash_node *l = NULL;
	int error = ENOENT;
	uint64_t hash;

	if (!m->count || memchr(m->device, '\0', sizeof(m->device)) == NULL)
		return EINVAL;
	hash = hash_of(a, m->device, m->local_qpn);
	while ((l = ccs_index_next(&a->flows.by_qp, l, hash))) {
		struct ccs_agent_flow *f = CCS_FLOW_OF(l, qp_link);

		if (f->local_qpn != m->local_qpn || strcmp(f->device, m->device) != 0)
			continue;
		if (c->standing == CCS_STANDING_USER && !ccs_users_same(c->uid, f->client->uid)) {
			error = error ? EPERM : 0;
			continue;
		}
		ccs_deliver_cnps(f, m->count);
		error = 0;
	}
	a->totals.cnps_hooked += error ? 0 : m->count;
	return error;
}
