/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/os.h"

int ccs_closing_open(struct ccs_agent *a)
{
	a->closing = calloc(1, sizeof(*a->closing));
	if (!a->closing)
		return -1;
	a->closing->users = 1;
	pthread_mutex_init(&a->closing->lock, NULL);
	return 0;
}

static void release(struct ccs_closing *c)
{
	if (atomic_fetch_sub(&c->users, 1) > 1)
		return;
	for (unsigned i = 0; i < CCS_REFUSED_USERS; i++)
		free(c->of[i].fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void ccs_closing_end(struct ccs_agent *a)
{
	if (a->closing)
		release(a->closing);
	a->closing = NULL;
}

/* arg is allocated, and the thread's. */
static int start_thread(struct ccs_closing *c, void *(*run)(void *arg), void *arg)
{
	pthread_t thread;

	atomic_fetch_add(&c->users, 1);
	if (pthread_create(&thread, NULL, run, arg) == 0) {
		pthread_detach(thread);
		return 0;
	}
	atomic_fetch_sub(&c->users, 1);
	free(arg);
	return -1;
}

/* -- clients --------------------------------------------------------------------------- */

/* The descriptors that a thread closes. */
struct remains {
	struct ccs_closing *closing;
	unsigned entry;
	int socket, passed;
};

static void *close_client(void *arg)
{
	struct remains *r = arg;

	close(r->socket);
	ccs_close(r->passed);
	atomic_store(&r->closing->entry[r->entry], false);
	release(r->closing);
	free(r);
	return NULL;
}

void ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket, int passed)
{
	struct remains *r = malloc(sizeof(*r));

	atomic_store(&a->closing->entry[entry], true);
	shutdown(socket, SHUT_RDWR);
	if (!r)
		return;
	*r = (struct remains){ a->closing, entry, socket, passed };
	start_thread(a->closing, close_client, r);
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
	struct ccs_closing *closing;
	struct ccs_refused_of *of;
};

/* Remove all waiting connections; if the batch is empty, the thread ends. */
static struct batch take_batch(struct ccs_closing *c, struct ccs_refused_of *of)
{
	struct batch b;

	pthread_mutex_lock(&c->lock);
	b = (struct batch){ of->n, of->fd };
	of->used = b.n;
	if (b.n) {
		of->n = 0;
		of->fd = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	return b;
}

static void *run(void *arg)
{
	const struct work w = *(struct work *)arg;
	struct batch b;

	free(arg);
	while ((b = take_batch(w.closing, w.of)).n) {
		const unsigned n = b.n;

		close_batch(&b);
		free(b.fd);
		atomic_fetch_sub(&w.closing->waiting, n);
	}
	release(w.closing);
	return NULL;
}

static int start_closing(struct ccs_closing *c, struct ccs_refused_of *of)
{
	struct work *w = malloc(sizeof(*w));

	if (!w)
		return -1;
	*w = (struct work){ c, of };
	of->used = start_thread(c, run, w) == 0;
	return of->used ? 0 : -1;
}

/* The user's entry, or an unused one; of many users, some share one. */
static struct ccs_refused_of *find_entry(struct ccs_closing *c, uid_t uid)
{
	struct ccs_refused_of *unused = NULL;

	for (struct ccs_refused_of *of = c->of; of < c->of + CCS_REFUSED_USERS; of++) {
		if (of->used && of->uid == uid)
			return of;
		if (!of->used && !unused)
			unused = of;
	}
	if (!unused)
		return &c->of[uid % CCS_REFUSED_USERS];
	unused->uid = uid;
	return unused;
}

/* False: out of memory, or of threads. */
static bool let_wait(struct ccs_closing *c, struct ccs_refused_of *of, int socket)
{
	if (!CCS_GROW(of->fd, of->n))
		return false;
	of->fd[of->n++] = socket;
	if (!of->used && start_closing(c, of)) {
		of->n--;
		return false;
	}
	atomic_fetch_add(&c->waiting, 1);
	return true;
}

bool ccs_refused_close(struct ccs_agent *a, uid_t uid, int socket)
{
	struct ccs_closing *c = a->closing;
	bool waits;

	if (has_no_descriptors(socket)) {
		close(socket);
		return true;
	}
	pthread_mutex_lock(&c->lock);
	waits = atomic_load(&c->waiting) < CCS_REFUSED_WAITING &&
		let_wait(c, find_entry(c, uid), socket);
	pthread_mutex_unlock(&c->lock);
	return waits;
}
