/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"

#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int ccs_refused_open(struct ccs_agent *a)
{
	a->refused.closer = calloc(1, sizeof(*a->refused.closer));
	if (!a->refused.closer)
		return -1;
	a->refused.closer->users = 1;
	pthread_mutex_init(&a->refused.closer->lock, NULL);
	return 0;
}

static void release(struct ccs_refused *r)
{
	if (atomic_fetch_sub(&r->users, 1) > 1)
		return;
	for (unsigned i = 0; i < CCS_REFUSED_USERS; i++)
		free(r->of[i].fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void ccs_refused_end(struct ccs_agent *a)
{
	if (a->refused.closer)
		release(a->refused.closer);
	a->refused.closer = NULL;
}

/* -- what can be closed at once ------------------------------------------------------ */

/* The messages that fit into a socket's buffer, with the largest that Linux allows by default. */
enum { MESSAGES = 1024 };

static int flags_of_first(int socket)
{
	struct msghdr msg = { 0 };

	return recvmsg(socket, &msg, MSG_PEEK | MSG_DONTWAIT) < 0 ? -1 : msg.msg_flags;
}

static int pass_credentials(int socket, int on)
{
	return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

/*
 * Whether the socket contains no descriptor, so that close() cannot block. No message arrives after
 * shutdown(). Descriptors have no space here: MSG_CTRUNC. So do the credentials of any message,
 * also of an empty one, which distinguish it from the end. A message without descriptors is
 * removed.
 */
static bool has_no_descriptors(int socket)
{
	shutdown(socket, SHUT_RDWR);
	for (int i = 0; i < MESSAGES; i++) {
		struct msghdr msg = { 0 };
		int flags;

		if (pass_credentials(socket, 0) || (flags = flags_of_first(socket)) < 0 ||
		    flags & MSG_CTRUNC || pass_credentials(socket, 1))
			return false;
		flags = flags_of_first(socket);
		if (flags < 0 || !(flags & MSG_CTRUNC))
			return flags >= 0;
		if (recvmsg(socket, &msg, MSG_DONTWAIT) < 0)
			return false;
	}
	return false;
}

/* -- what may block ------------------------------------------------------------------ */

/* The connections that a user's thread closes together. */
struct batch {
	unsigned n;
	int *fd;
};

static void close_all(struct batch *b)
{
	while (b->n)
		close(b->fd[--b->n]);
}

/*
 * The kernel does not linger when a thread that exits closes a socket (inet_release()), or
 * descriptors queued in it. The thread has a copy of the descriptor table and closes them only by
 * its exit, as it may have the last reference to any socket.
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

static void close_batch(struct batch *b)
{
	struct exiting e = { .tid = -1 };

	sem_init(&e.copied, 0, 0);
	sem_init(&e.closed, 0, 0);
	if (pthread_create(&e.thread, NULL, hold_copy, &e) == 0) {
		while (sem_wait(&e.copied))
			;
		close_all(b);
		sem_post(&e.closed);
		pthread_join(e.thread, NULL);
		wait_until_gone(e.tid);
	}
	close_all(b);
	sem_destroy(&e.copied);
	sem_destroy(&e.closed);
}

/* -- a thread per user ----------------------------------------------------------------- */

struct work {
	struct ccs_refused *refused;
	struct ccs_refused_of *of;
};

/* Remove all waiting connections; if the batch is empty, the thread ends. */
static struct batch take_batch(struct ccs_refused *r, struct ccs_refused_of *of)
{
	struct batch b;

	pthread_mutex_lock(&r->lock);
	b = (struct batch){ of->n, of->fd };
	of->used = b.n;
	if (b.n) {
		of->n = of->room = 0;
		of->fd = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	return b;
}

static void *run(void *arg)
{
	const struct work w = *(struct work *)arg;
	struct batch b;

	free(arg);
	while ((b = take_batch(w.refused, w.of)).n) {
		const unsigned n = b.n;

		close_batch(&b);
		free(b.fd);
		atomic_fetch_sub(&w.refused->waiting, n);
	}
	release(w.refused);
	return NULL;
}

static int start_thread(struct ccs_refused *r, struct ccs_refused_of *of)
{
	struct work *w = malloc(sizeof(*w));
	pthread_t thread;

	if (!w)
		return -1;
	*w = (struct work){ r, of };
	atomic_fetch_add(&r->users, 1);
	if (pthread_create(&thread, NULL, run, w) == 0) {
		pthread_detach(thread);
		of->used = true;
		return 0;
	}
	atomic_fetch_sub(&r->users, 1);
	free(w);
	return -1;
}

/* The user's entry, or an unused one; of many users, some share one. */
static struct ccs_refused_of *find_entry(struct ccs_refused *r, uid_t uid)
{
	struct ccs_refused_of *unused = NULL;

	for (struct ccs_refused_of *of = r->of; of < r->of + CCS_REFUSED_USERS; of++) {
		if (of->used && of->uid == uid)
			return of;
		if (!of->used && !unused)
			unused = of;
	}
	if (!unused)
		return &r->of[uid % CCS_REFUSED_USERS];
	unused->uid = uid;
	return unused;
}

static int append(struct ccs_refused_of *of, int socket)
{
	if (of->n == of->room) {
		const unsigned room = of->room ? 2 * of->room : 16;
		int *fd = realloc(of->fd, room * sizeof(*fd));

		if (!fd)
			return -1;
		of->fd = fd;
		of->room = room;
	}
	of->fd[of->n++] = socket;
	return 0;
}

/* False: out of memory, or of threads. */
static bool let_wait(struct ccs_refused *r, struct ccs_refused_of *of, int socket)
{
	if (append(of, socket))
		return false;
	if (!of->used && start_thread(r, of)) {
		of->n--;
		return false;
	}
	atomic_fetch_add(&r->waiting, 1);
	return true;
}

bool ccs_refused_close(struct ccs_agent *a, uid_t uid, int socket)
{
	struct ccs_refused *r = a->refused.closer;
	bool waits;

	if (has_no_descriptors(socket)) {
		close(socket);
		return true;
	}
	pthread_mutex_lock(&r->lock);
	waits = atomic_load(&r->waiting) < CCS_REFUSED_WAITING &&
		let_wait(r, find_entry(r, uid), socket);
	pthread_mutex_unlock(&r->lock);
	return waits;
}
