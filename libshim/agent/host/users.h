/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_USERS_H
#define CCS_AGENT_USERS_H
/*
 * Users of clients. An agent in a user namespace sees all users of the host that have no number
 * there as one. They share limits, but not access to clients or their data.
 */
#include <stdbool.h>
#include <sys/types.h>

#define CCS_NO_USER ((uid_t)-1)
#define CCS_ANY_USER ((uid_t)-2)         /* the user is not checked */

/* The number by which the kernel states users without one; CCS_NO_USER: here, all have one. */
uid_t ccs_users_unmapped(void);

static inline bool ccs_users_same(uid_t a, uid_t b)
{
	return a == b && a != CCS_NO_USER;
}

#endif
