/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"


#define REQUEST_NS 200000ull             /* a user may make 5000 requests a second for long */
#define BURST_NS (262144 * REQUEST_NS) /* of requests: more than the flows of a user */

static bool is_unused(const struct ccs_user *u, uint64_t now_ns)
{
	return !u->clients && u->paid_ns <= now_ns && u->status_ns <= now_ns &&
	       u->regions_ns <= now_ns;
}

/* Entries are twice the connections. An entry without debts is reused first, then the
 * entry with the least. */
struct ccs_user *ccs_user_of(struct ccs_agent *a, uid_t uid)
{
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_user *new = NULL;

	for (struct ccs_user *u = a->user; u < a->user + CCS_AGENT_USERS; u++) {
		if (u->known && u->uid == uid)
			return u;
		if (u->clients || (new && is_unused(new, now_ns)))
			continue;
		if (!new || is_unused(u, now_ns) || u->paid_ns < new->paid_ns)
			new = u;
	}
	*new = (struct ccs_user){ .known = true, .uid = uid };
	return new;
}

void ccs_user_charge(const struct ccs_agent *a, struct ccs_user *u, unsigned requests)
{
	const uint64_t now_ns = ccs_agent_now(a);

	if (u->paid_ns < now_ns)
		u->paid_ns = now_ns;
	u->paid_ns += requests * REQUEST_NS;
}

bool ccs_user_has_budget(const struct ccs_agent *a, const struct ccs_user *u)
{
	return u->paid_ns < ccs_agent_now(a) + BURST_NS;
}

struct ccs_share *ccs_user_share(const struct ccs_agent *a, struct ccs_user *u)
{
	if (u->share.turn != a->turn)
		u->share = (struct ccs_share){
			a->turn, CCS_AGENT_TURN_REQUESTS, CCS_AGENT_TURN_FLOWS,
		};
	return &u->share;
}
