/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CORE_H
#define CCS_AGENT_CORE_H
/* Functions for every component of the agent: time, warnings, the loop's descriptors, identity, users
 * and their requests. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "agent/host/priv.h"
#include "feedback/shm.h"

/* Sets the agent's incarnation and its random keys. 0, or -1 and errno. */
int ccs_agent_init_identity(struct ccs_agent *a);

/*
 * The incarnation that this agent states towards that host. Its lower half is a keyed hash of
 * both addresses, which no other host can guess.
 */
uint64_t ccs_agent_incarnation(const struct ccs_agent *a, const struct ccs_ends *ends);

uint64_t ccs_agent_now(const struct ccs_agent *a);

/* The loop calls s->ready whenever s->fd is readable. 0, or -1 and errno. */
int ccs_agent_watch(struct ccs_agent *a, struct ccs_source *s);

/* Whether the agent serves that address of this host: see ccs_agent_config.addresses. */
bool ccs_agent_owns_address(const struct ccs_agent *a, const struct ccs_address *address);

/* Whether ccs_agent_warn() would pass that kind on now; if not, it is counted. Called first where a
 * flood of messages could cause the warning, because formatting the arguments is expensive. */
bool ccs_agent_warning_due(struct ccs_agent *a, enum ccs_agent_warning kind);
/* Pass a sentence to config.warn, at most once an hour per kind. */
void ccs_agent_warn(struct ccs_agent *a, enum ccs_agent_warning kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The budgets of users at the agent, each over all connections of the user. In a turn of the loop,
 * few requests and flows of each user are handled, so that no user delays the others; the rest waits
 * for the next turn. Users with CCS_STANDING_ADMIN have the same share of a turn, but no budget.
 */

/* The user's entry, which is valid while the user has a connection. */
struct ccs_user *ccs_user_of(struct ccs_agent *a, uid_t uid);
void ccs_user_charge(const struct ccs_agent *a, struct ccs_user *u, unsigned requests);
bool ccs_user_has_budget(const struct ccs_agent *a, const struct ccs_user *u);
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

/* -- sockets that a service manager opened for the agent: it holds the names and ports -- */

/* The socket of that type that is bound to that address, without IPv4 if it is IPv6; or -1. */
int ccs_inherited_find(struct ccs_agent *a, int type, const struct sockaddr *at);
/* Whether a user other than root has a UDP socket with that port, and which. */
bool ccs_inherited_port_user(sa_family_t family, uint16_t port, unsigned *uid);
void ccs_inherited_check(struct ccs_agent *a);

/*
 * Regions whose memory their process has released, although it is registered. The agent would
 * allocate each such page when it accesses it, and pay for it. A page that is allocated again is
 * zero, so a value that the agent has written there reveals it: after one page the
 * connection ends, and regions of its user are refused for an hour.
 */

/* The slot of a registered flow; NULL: its memory was released. */
static inline struct ccs_slot *ccs_client_slot(struct ccs_client *c, uint32_t slot)
{
	struct ccs_slot *s = &c->shm->slot[slot];

	c->punched = c->punched || !atomic_load_explicit(&s->path, memory_order_relaxed);
	return c->punched ? NULL : s;
}

/* The record of a path that some flow of the client has; NULL: its memory was released. */
static inline struct ccs_shm_path *ccs_client_path(struct ccs_client *c, uint32_t index)
{
	struct ccs_shm_path *p = &c->shm->path[index];

	c->punched = c->punched || !atomic_load_explicit(&p->version, memory_order_relaxed);
	return c->punched ? NULL : p;
}

static inline bool ccs_client_has_head(struct ccs_client *c)
{
	c->punched = c->punched || c->shm->magic != CCS_SHM_MAGIC;
	return !c->punched;
}

/* Whether the process has allocated the slot and the record that a new flow needs. */
bool ccs_client_may_add(struct ccs_client *c, uint32_t slot, uint32_t path);
/* Refuse the regions of that client's user for an hour. */
void ccs_punched_add(struct ccs_agent *a, const struct ccs_client *c);

/*
 * Connections are closed by threads. close() of a descriptor that a process passed, or left in its
 * socket, can block for hours: a file on a server that the process runs, or a lingering connection.
 * Refused connections without descriptors are closed at once; the others wait for a thread of their
 * user, which closes one after the other, so a user delays only connections of that user.
 */
enum {
	CCS_REFUSED_USERS = 64,          /* that have a thread; further ones share them */
	/* With one descriptor at least in each: the kernel lets a user have no more descriptors in
	 * flight than RLIMIT_NOFILE of the process that sends one. */
	CCS_REFUSED_WAITING = 65536,
};

struct ccs_closing {
	_Atomic unsigned users;          /* threads, and the agent; the last user frees it */
	_Atomic bool entry[CCS_AGENT_CLIENTS]; /* of a client whose descriptors are not closed yet */
	_Atomic unsigned waiting;        /* refused connections that are not closed yet */
	pthread_mutex_t lock;            /* never held while something is closed */
	struct ccs_refused_of {
		bool used;               /* by a thread */
		uid_t uid;
		unsigned n;
		int *fd;                 /* to be closed next */
	} of[CCS_REFUSED_USERS];
};

/* 0, or -1: no memory. */
int ccs_closing_open(struct ccs_agent *a);
/* Threads may still be closing. */
void ccs_closing_end(struct ccs_agent *a);
/* Close a client's connection and the descriptor that it passed; -1: none. If the thread cannot be
 * created, they stay open. */
void ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket, int passed);
/* Close a refused connection of that user. False: too many are being closed. */
bool ccs_refused_close(struct ccs_agent *a, uid_t uid, int socket);

/* -- validation and mapping of a client's shared region ------------------------------- */

/* Whether fd is a file in memory that has little of it: close() returns soon. */
bool ccs_shm_is_closed_quickly(int fd);
/* NULL, and the reason in *why, if the region is not acceptable. */
struct ccs_shm *ccs_shm_map(int fd, const char **why);
/*
 * Whether the process has allocated these bytes. Otherwise the agent would allocate them if it
 * accessed them, and the kernel would charge them to the agent while the process keeps the region.
 */
bool ccs_shm_is_allocated(const struct ccs_shm *shm, int fd, size_t from, size_t len);
/* shm may be NULL. */
void ccs_shm_unmap(struct ccs_shm *shm);

#endif
