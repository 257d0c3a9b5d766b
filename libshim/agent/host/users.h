/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_USERS_H
#define CCS_AGENT_USERS_H
/*
 * The budgets of users at the agent, each over all connections of the user. In a turn of the loop,
 * few requests and flows of each user are handled, so that no user delays the others; the rest waits
 * for the next turn. Users with CCS_STANDING_ADMIN have the same share of a turn, but no budget.
 */
#include "agent/host/priv.h"

/* The user's entry, which is valid while the user has a connection. */
struct ccs_user *ccs_user_of(struct ccs_agent *a, uid_t uid);
/* Deduct requests from the budget. */
void ccs_user_charge(const struct ccs_agent *a, struct ccs_user *u, unsigned requests);
/* Whether the budget is not exhausted. */
bool ccs_user_has_budget(const struct ccs_agent *a, const struct ccs_user *u);
/* The user's share of the present turn. */
struct ccs_share *ccs_user_share(const struct ccs_agent *a, struct ccs_user *u);

/* Root of a container has the user ID of administrators, but is another user. */
static inline bool ccs_users_share_limits(const struct ccs_client *c, const struct ccs_client *d)
{
	return c->uid == d->uid &&
	       (c->standing == CCS_STANDING_ADMIN) == (d->standing == CCS_STANDING_ADMIN);
}

/* Whether c may slow the flows of d, and see d in the status. */
static inline bool ccs_users_may_access(const struct ccs_client *c, const struct ccs_client *d)
{
	return c->standing != CCS_STANDING_USER ||
	       (c->uid != CCS_NO_USER && ccs_users_share_limits(c, d));
}

#endif
