/* SPDX-License-Identifier: BSD-2-Clause */
/* CNPs that a client delivers to a queue pair of this host: ccshim/hooks.h is its face. */
#include <errno.h>

#include "agent/priv.h"

static uint64_t hash_of(const struct ccs_agent *a, const char *device, uint32_t qpn)
{
	uint64_t hash = a->qps.salt ^ qpn;

	while (*device)
		hash = ccs_mix(hash ^ (uint8_t)*device++);
	return hash;
}

static struct ccs_agent_flow *flow_of(struct ccs_link *l)
{
	return (struct ccs_agent_flow *)((char *)l - offsetof(struct ccs_agent_flow, qp_link));
}

void ccs_hook_attach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	ccs_index_add(&a->qps, &f->qp_link, hash_of(a, f->device, f->local_qpn));
}

void ccs_hook_detach(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	ccs_index_remove(&a->qps, &f->qp_link);
}

bool ccs_hook_has_enough(const struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_local_add *m)
{
	const uint64_t hash = hash_of(a, m->device, m->local_qpn);
	struct ccs_link *l = NULL;
	unsigned n = 0;

	while ((l = ccs_index_next(&a->qps, l, hash)))
		n += flow_of(l)->client == c && flow_of(l)->local_qpn == m->local_qpn;
	return n >= CCS_AGENT_SAME_QP;
}

int ccs_hook_cnp(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_local_cnp *m)
{
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_link *l = NULL;
	int error = ENOENT;
	uint64_t hash;

	if (!m->count || memchr(m->device, '\0', sizeof(m->device)) == NULL)
		return EINVAL;
	hash = hash_of(a, m->device, m->local_qpn);
	while ((l = ccs_index_next(&a->qps, l, hash))) {
		struct ccs_agent_flow *f = flow_of(l);

		if (f->local_qpn != m->local_qpn || strcmp(f->device, m->device) != 0)
			continue;
		if (c->uid != 0 && c->uid != f->client->uid) {
			error = error ? EPERM : 0;
			continue;
		}
		ccs_agent_flow_deliver(f, m->count, now_ns);
		error = 0;
	}
	a->totals.cnps_hooked += error ? 0 : m->count;
	return error;
}
