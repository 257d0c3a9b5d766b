/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_REFUSED_H
#define CCS_AGENT_REFUSED_H
/*
 * Refused connections are closed at once, unless a process left descriptors in them, whose close
 * can block for hours. Those wait for a thread of their user: it closes one after the other, so a
 * user delays only the connections of that user.
 */
#include <pthread.h>

#include "agent/host/priv.h"

enum {
	CCS_REFUSED_USERS = 64,          /* that have a thread; further ones share them */
	/* With one descriptor at least in each: the kernel lets a user have no more descriptors in
	 * flight than RLIMIT_NOFILE of the process that sends one. */
	CCS_REFUSED_WAITING = 65536,
};

struct ccs_refused {
	_Atomic unsigned users;          /* threads, and the agent; the last user frees it */
	_Atomic unsigned waiting;        /* connections that are not closed yet */
	pthread_mutex_t lock;            /* never held while something is closed */
	struct ccs_refused_of {
		bool used;               /* by a thread */
		uid_t uid;
		unsigned n, room;
		int *fd;                 /* to be closed next */
	} of[CCS_REFUSED_USERS];
};

/* 0, or -1: no memory. */
int ccs_refused_open(struct ccs_agent *a);
/* Threads may still be closing. */
void ccs_refused_end(struct ccs_agent *a);

/*
 * Close a refused connection of that user, without waiting for lingering sockets in it. False: too
 * many are being closed.
 */
bool ccs_refused_close(struct ccs_agent *a, uid_t uid, int socket);

#endif
