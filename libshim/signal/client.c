/* SPDX-License-Identifier: BSD-2-Clause */
#include "signal/client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "signal/link.h"

#define JUDGE_NS 100000000ull            /* between two judgements of a flow */
#define LOOK_NS 2000000ull               /* the longest wait for the agent alone */
#define GREETING_NS 1000000000ull        /* longer than that no agent takes to answer */
#define BACKOFF_MIN_NS 100000000ull
#define BACKOFF_MAX_NS 2000000000ull
#define FINISH_S 5

enum { CHUNK = 1024 };                   /* flows that are judged while the lock is held */
enum { STARTING_LOOKS = 50 };            /* for another process that becomes the agent */

#ifdef __SANITIZE_ADDRESS__
enum { FIRST_FD = 3 };                   /* it says on stderr what it has to say */
#else
enum { FIRST_FD = 0 };
#endif

enum life { ASLEEP, STARTING, RUNNING, FAILED, STOPPING };

static struct {
	pthread_mutex_t lock;            /* of all that follows; innermost */
	pthread_cond_t wake, changed;    /* the thread's; life's */
	enum life life;
	pthread_t thread;
	struct ccs_client_config config;
	struct ccs_book book;
	uint64_t judged_ns, due_ns;      /* the last judgement, the next turn */

	/* The thread's own. */
	int page_fd, fd;                 /* fd -1: no connection */
	bool greeted;                    /* the agent has answered the HELLO */
	bool cannot_serve;
	atomic_bool demanded;            /* a flow cannot do without an agent; any thread sets it */
	uint64_t retry_ns, backoff_ns, opened_ns;
	uint64_t asked_ns;               /* the agent was told of something last */
} client = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.fd = -1,
	.backoff_ns = BACKOFF_MIN_NS,
	.due_ns = UINT64_MAX,
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* -- the connection; the lock is held, but not across what the kernel does ---------- */

static void judge_all(uint64_t now_ns)
{
	uint32_t slot = 0;

	client.judged_ns = now_ns;
	while ((slot = ccs_book_judge(&client.book, slot, CHUNK, now_ns))) {
		pthread_mutex_unlock(&client.lock);
		pthread_mutex_lock(&client.lock);
	}
}

/* An agent that dies again and again is not asked more and more often. */
static void lose(uint64_t now_ns)
{
	if (client.fd >= 0)
		close(client.fd);
	client.fd = -1;
	if (client.greeted && now_ns > client.opened_ns + BACKOFF_MAX_NS)
		client.backoff_ns = BACKOFF_MIN_NS;
	client.retry_ns = now_ns + client.backoff_ns;
	client.backoff_ns *= 2;
	if (client.backoff_ns > BACKOFF_MAX_NS)
		client.backoff_ns = BACKOFF_MAX_NS;
	client.greeted = false;
	ccs_book_close(&client.book, now_ns);
	judge_all(now_ns);
}

static bool may_serve(int error)
{
	return (error == ENOENT || error == ECONNREFUSED) && client.config.serve &&
	       client.demanded && !client.cannot_serve;
}

/*
 * Where nobody listens, we do. Of processes that begin together one is first, and the others
 * have to wait until it listens; or it ends before that, and another one is first.
 */
static int open_link(void)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	int error, fd = ccs_link_open(client.config.path, client.page_fd);

	for (unsigned i = 0; fd < 0 && may_serve(errno) && i < STARTING_LOOKS; i++) {
		error = client.config.serve(client.config.path);
		client.cannot_serve = error == EPERM;
		if (error && error != EADDRINUSE)
			break;
		if (error)
			nanosleep(&look, NULL);
		fd = ccs_link_open(client.config.path, client.page_fd);
	}
	return fd;
}

/* To be the agent may take its time, which is not that of an answer: it is later then. */
static uint64_t seek(void)
{
	uint64_t now_ns;
	int fd;

	pthread_mutex_unlock(&client.lock);
	fd = open_link();
	now_ns = clock_ns();
	pthread_mutex_lock(&client.lock);
	client.fd = fd;
	client.opened_ns = client.asked_ns = now_ns;
	if (fd < 0)
		lose(now_ns);
	return now_ns;
}

/* The agent's answer to the HELLO. It takes the page, or not. */
static void greet(const struct ccs_local_result *result, uint64_t now_ns)
{
	client.book.refuses = result->error;
	if (result->error) {
		lose(now_ns);
		return;
	}
	client.greeted = true;
	ccs_book_open(&client.book, now_ns);
	judge_all(now_ns);
}

static void hear(uint64_t now_ns)
{
	struct ccs_local_result result;
	int error;

	while (client.fd >= 0) {
		pthread_mutex_unlock(&client.lock);
		error = ccs_link_answer(client.fd, &result);
		pthread_mutex_lock(&client.lock);
		if (error == EAGAIN)
			return;
		if (!error && !client.greeted)
			greet(&result, now_ns);
		else if (error || ccs_book_answer(&client.book, result.slot, result.error, now_ns))
			lose(now_ns);
	}
}

/* Only this thread takes from what is to be told, so it is still there after the call. */
static void tell(uint64_t now_ns)
{
	struct ccs_signal_flow flow;
	uint32_t slot;
	bool came;
	int error;

	while (client.greeted && ccs_book_next(&client.book, &slot, &came)) {
		flow = client.book.entry[slot].flow;
		pthread_mutex_unlock(&client.lock);
		error = came ? ccs_link_came(client.fd, slot, &flow)
			     : ccs_link_left(client.fd, slot);
		pthread_mutex_lock(&client.lock);
		if (error == EAGAIN)
			return;
		if (error) {
			lose(now_ns);
			return;
		}
		ccs_book_told(&client.book, came, now_ns);
		client.asked_ns = now_ns;
	}
}

/* -- the thread ------------------------------------------------------------------ */

static uint64_t next_look(void)
{
	uint64_t when = client.book.flows ? client.judged_ns + JUDGE_NS : UINT64_MAX;

	if (client.fd < 0 && client.book.flows && client.retry_ns < when)
		when = client.retry_ns;
	return when;
}

/* An answer is due, or there is no room to ask. */
static bool agent_is_due(uint64_t now_ns)
{
	return client.fd >= 0 && (client.book.todo.count ||
				  ((client.book.awaited || !client.greeted) &&
				   now_ns < client.asked_ns + JUDGE_NS));
}

/* Who attaches cannot wake it meanwhile, but a descriptor cannot wake a condition either. */
static void wait_for_agent(uint64_t when_ns, uint64_t now_ns)
{
	const uint64_t ns = when_ns > now_ns ? when_ns - now_ns : 0;
	const struct timespec ts = { .tv_nsec = (long)(ns < LOOK_NS ? ns : LOOK_NS) };
	struct pollfd p = {
		.fd = client.fd,
		.events = (short)(POLLIN | (client.greeted && client.book.todo.count ? POLLOUT : 0)),
	};

	client.due_ns = when_ns;
	pthread_mutex_unlock(&client.lock);
	ppoll(&p, 1, &ts, NULL);
	pthread_mutex_lock(&client.lock);
}

static void sleep_until(uint64_t when_ns)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(when_ns / 1000000000u),
		.tv_nsec = (long)(when_ns % 1000000000u),
	};

	client.due_ns = when_ns;
	if (when_ns == UINT64_MAX)
		pthread_cond_wait(&client.wake, &client.lock);
	else
		pthread_cond_timedwait(&client.wake, &client.lock, &ts);
}

/* Nobody is given up on in a turn that comes late; the next one is soon. */
static void look_after_agent(uint64_t now_ns)
{
	if (ccs_book_held_up(&client.book, client.due_ns, now_ns)) {
		client.judged_ns = now_ns;
		return;
	}
	if (client.fd >= 0 && !client.greeted && now_ns > client.opened_ns + GREETING_NS)
		lose(now_ns);
	if (now_ns >= client.judged_ns + JUDGE_NS)
		judge_all(now_ns);
}

static void turn(void)
{
	uint64_t now_ns = clock_ns();

	if (client.fd < 0 && client.book.flows && now_ns >= client.retry_ns)
		now_ns = seek();
	hear(now_ns);
	tell(now_ns);
	look_after_agent(now_ns);
	if (client.life == RUNNING && agent_is_due(now_ns))
		wait_for_agent(next_look(), now_ns);
	else if (client.life == RUNNING)
		sleep_until(next_look());
}

/*
 * Whether another preload takes the calls on sockets for itself, as librspreload does. It
 * knows its sockets by their numbers, and would take those of another table for its own.
 */
static bool numbers_are_known(void)
{
	Dl_info libc, closes;

	return dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) &&
	       dladdr((void *)(uintptr_t)close, &closes) && closes.dli_fbase != libc.dli_fbase;
}

/*
 * A table of descriptors of our own, with nothing of the application's in it: what it
 * closes is closed. 0 to 2 are nobody's, so that nothing meant for them goes astray.
 */
static int hide_descriptors(void)
{
#ifdef __SANITIZE_THREAD__
	return 0; /* it takes two descriptors of one number for the same */
#endif
	if (numbers_are_known())
		return 0;
	if (syscall(__NR_close_range, (unsigned)FIRST_FD, ~0u, CLOSE_RANGE_UNSHARE))
		return -1;
	for (int fd = FIRST_FD; fd < 3; fd++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return -1;
	return 0;
}

static struct ccs_page *make_page(int *fd)
{
	struct ccs_page *page;

	*fd = memfd_create("ccshim-signal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, sizeof(*page)) ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

static bool prepare(void)
{
	struct ccs_page *page = hide_descriptors() ? NULL : make_page(&client.page_fd);

	return page && !ccs_book_init(&client.book, page);
}

static void *run(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "ccshim-signal");
	pthread_mutex_lock(&client.lock);
	client.life = prepare() ? RUNNING : FAILED;
	pthread_cond_broadcast(&client.changed);
	while (client.life == RUNNING)
		turn();
	pthread_mutex_unlock(&client.lock);
	if (client.fd >= 0)
		close(client.fd);
	if (client.config.end_serving)
		client.config.end_serving();
	return NULL;
}

/* All signals stay the application's. */
static void start(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&client.wake, &attr);
	pthread_condattr_destroy(&attr);
	client.life = STARTING;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&client.thread, NULL, run, NULL))
		client.life = FAILED;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* -- the application's side ------------------------------------------------------- */

void ccs_client_setup(const struct ccs_client_config *config)
{
	client.config = *config;
}

/* Its first steps only: a page is made. */
static bool running(void)
{
	if (client.life == ASLEEP)
		start();
	while (client.life == STARTING)
		pthread_cond_wait(&client.changed, &client.lock);
	return client.life == RUNNING;
}

bool ccs_client_is_of_use(void)
{
	bool runs;

	pthread_mutex_lock(&client.lock);
	runs = client.life == STARTING || client.life == RUNNING;
	pthread_mutex_unlock(&client.lock);
	return runs || access(client.config.path, F_OK) == 0;
}

/* Nobody is cancelled while he waits for the thread, with the lock. */
struct ccs_slot *ccs_client_attach(const struct ccs_signal_flow *flow)
{
	struct ccs_slot *slot = NULL;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&client.lock);
	if (running() && !flow->optional)
		client.demanded = true;
	if (client.life == RUNNING)
		slot = ccs_book_take(&client.book, flow, clock_ns());
	pthread_cond_signal(&client.wake);
	pthread_mutex_unlock(&client.lock);
	pthread_setcancelstate(cancel, NULL);
	return slot;
}

void ccs_client_detach(struct ccs_slot *slot)
{
	if (!slot)
		return;
	pthread_mutex_lock(&client.lock);
	ccs_book_leave(&client.book, slot, clock_ns());
	pthread_cond_signal(&client.wake);
	pthread_mutex_unlock(&client.lock);
}

const struct ccs_path *ccs_client_path(const struct ccs_slot *slot)
{
	return ccs_book_path(client.book.page, slot);
}

const struct ccs_path *ccs_client_inbound(const struct ccs_slot *slot)
{
	return ccs_book_inbound(client.book.page, slot);
}

void ccs_client_finish(void)
{
	struct timespec until;
	bool was;

	pthread_mutex_lock(&client.lock);
	was = client.life == RUNNING;
	if (was)
		client.life = STOPPING;
	pthread_cond_signal(&client.wake);
	pthread_mutex_unlock(&client.lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FINISH_S;
	if (was)
		pthread_timedjoin_np(client.thread, NULL, &until);
}
