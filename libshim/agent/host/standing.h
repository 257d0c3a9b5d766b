/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_STANDING_H
#define CCS_AGENT_STANDING_H
/*
 * Decides whether a connected process may do more than its user. User ID 0 is not enough: root of a
 * container has it as well.
 *
 * An agent in a user namespace sees all users of the host that have no number there as one. They
 * share limits, but not access to clients or their data.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define CCS_NO_USER ((uid_t)-1)
#define CCS_ANY_USER ((uid_t)-2)         /* the user is not checked */

enum ccs_standing {
	CCS_STANDING_USER,               /* only what concerns its user's processes */
	CCS_STANDING_AGENT,              /* is of the agent's user: may see and feed everything */
	CCS_STANDING_ADMIN,              /* has CAP_NET_ADMIN: the same, without limits per user */
};

/*
 * The standing of the process that connected this socket, with the credentials that the kernel
 * states. Only a process in the PID and user namespaces of the agent is more than a user. If
 * SO_PEERPIDFD is missing (before Linux 6.5), an ended process can be confused with a later one
 * that has the same ID and the same user.
 */
enum ccs_standing ccs_standing_of(int socket, const struct ucred *peer);

/* Whether that process has ended, so that its ID may be another's; false before Linux 6.5. */
bool ccs_peer_has_ended(int socket);

struct ccs_process {
	uid_t uid[3];                    /* real, effective and saved */
	uint64_t capabilities;           /* effective */
	bool in_pid_ns;                  /* in the PID namespace of the agent */
};

bool ccs_process_read(pid_t pid, struct ccs_process *p);

/* The number by which the kernel states users without one; CCS_NO_USER: here, all have one. */
uid_t ccs_users_unmapped(void);

#endif
