/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/ipc/closing.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a thread closes. */
struct remains {
	struct ccs_closing *closing;
	unsigned entry, n;
	int fd[CCS_PASSED_MAX + 1];
};

int ccs_closing_open(struct ccs_agent *a)
{
	a->closing = calloc(1, sizeof(*a->closing));
	if (a->closing)
		a->closing->users = 1;
	return a->closing ? 0 : -1;
}

static void release(struct ccs_closing *c)
{
	if (atomic_fetch_sub(&c->users, 1) == 1)
		free(c);
}

void ccs_closing_end(struct ccs_agent *a)
{
	if (a->closing)
		release(a->closing);
	a->closing = NULL;
}

static void close_all(struct remains *r)
{
	while (r->n)
		close(r->fd[--r->n]);
}

static void finish(struct remains *r)
{
	atomic_store(&r->closing->entry[r->entry], false);
	release(r->closing);
	free(r);
}

static void *close_client(void *arg)
{
	close_all(arg);
	finish(arg);
	return NULL;
}

/* -- refused connections ------------------------------------------------------------- */

/*
 * The kernel does not linger when a thread that exits closes a socket (inet_release()), or what is
 * in it. So a thread that exits closes it last: it has a copy of the descriptor table. It closes
 * nothing before it exits, as it may have the last reference to any socket.
 */
struct exiting {
	pthread_t thread;
	pid_t tid;                       /* -1: it has no copy, and close() lingers */
	sem_t copied, closed;
};

static void *hold_copy(void *arg)
{
	struct exiting *e = arg;

	if (unshare(CLONE_FILES) == 0)
		e->tid = gettid();
	sem_post(&e->copied);
	while (sem_wait(&e->closed))
		;
	return NULL;
}

/* The thread is joined before it closes its descriptors, and vanishes after that. */
static void wait_until_gone(pid_t tid)
{
	struct timespec pause = { .tv_nsec = 10000 };

	while (tid > 0 && syscall(SYS_tgkill, getpid(), tid, 0) == 0) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec *= 2;
	}
}

static void *close_refused(void *arg)
{
	struct remains *r = arg;
	struct exiting e = { .tid = -1 };

	sem_init(&e.copied, 0, 0);
	sem_init(&e.closed, 0, 0);
	if (pthread_create(&e.thread, NULL, hold_copy, &e) == 0) {
		while (sem_wait(&e.copied))
			;
		close_all(r);
		sem_post(&e.closed);
		pthread_join(e.thread, NULL);
		wait_until_gone(e.tid);
	}
	close_all(r);
	sem_destroy(&e.copied);
	sem_destroy(&e.closed);
	finish(r);
	return NULL;
}

/* -- both ---------------------------------------------------------------------------- */

static void begin(struct ccs_agent *a, unsigned entry, int socket, const struct ccs_passed *p,
		  void *(*run)(void *))
{
	struct remains *r = malloc(sizeof(*r));
	pthread_t thread;

	atomic_store(&a->closing->entry[entry], true);
	shutdown(socket, SHUT_RDWR);
	if (!r)
		return;
	*r = (struct remains){ .closing = a->closing, .entry = entry, .n = p->n };
	memcpy(r->fd, p->fd, p->n * sizeof(*p->fd));
	r->fd[r->n++] = socket;
	atomic_fetch_add(&a->closing->users, 1);
	if (pthread_create(&thread, NULL, run, r) == 0) {
		pthread_detach(thread);
	} else {
		release(r->closing);
		free(r);
	}
}

void ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket,
			const struct ccs_passed *p)
{
	begin(a, entry, socket, p, close_client);
}

/*
 * Whether the socket has no message, so that close() cannot block. None arrives after shutdown().
 * The credentials of any message, also of an empty one, have no space here: MSG_CTRUNC.
 */
static bool is_empty(int socket)
{
	struct msghdr msg = { 0 };
	const int on = 1;

	shutdown(socket, SHUT_RDWR);
	return !setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	       recvmsg(socket, &msg, MSG_PEEK | MSG_DONTWAIT) == 0 &&
	       !(msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC));
}

bool ccs_closing_refused(struct ccs_agent *a, int socket)
{
	unsigned i = CCS_AGENT_CLIENTS;

	if (is_empty(socket)) {
		close(socket);
		return true;
	}
	while (i < CCS_AGENT_CLIENTS + CCS_AGENT_REFUSED && atomic_load(&a->closing->entry[i]))
		i++;
	if (i == CCS_AGENT_CLIENTS + CCS_AGENT_REFUSED)
		return false;
	begin(a, i, socket, &(const struct ccs_passed){ 0 }, close_refused);
	return true;
}
