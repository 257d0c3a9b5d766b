/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/agent_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os.h"
#include "base/thread.h"
#include "cc/cap.h"
#include "feedback/agent_conn.h"

#pragma weak gnu_get_libc_version /* not in musl */

#define UPDATE_NS 100000000ull           /* between two updates of a flow's status */
#define POLL_NS 2000000ull               /* longest wait for the agent's socket alone */
#define HELLO_TIMEOUT_NS 1000000000ull   /* for the reply to the HELLO */
#define BACKOFF_MIN_NS 100000000ull
#define BACKOFF_MAX_NS 2000000000ull
#define FINISH_S 5

enum { CHUNK = 1024 };                   /* flows updated while the lock is held */

#ifdef __SANITIZE_ADDRESS__
enum { FIRST_FD = 3 };                   /* the sanitizer writes its reports to stderr */
#else
enum { FIRST_FD = 0 };
#endif

enum life { NOT_STARTED, STARTING, RUNNING, FAILED, STOPPING };

static struct {
	pthread_mutex_t lock;            /* protects the members below; innermost */
	sem_t wake;                      /* for the thread */
	pthread_cond_t changed;          /* for changes of life */
	enum life life;
	pthread_t thread;
	char path[108];                  /* path of the agent's socket */
	struct ccs_registrations reg;
	uint64_t updated_ns, due_ns;     /* the last status update, the next turn */
	_Atomic(struct ccs_cap *) caps;  /* CCS_CAP_PORTS, of the process's tenant, or NULL */

	/* Used by the thread only. */
	int shm_fd, fd;                  /* fd -1: no connection */
	bool hello_done;                 /* the agent has replied to the HELLO */
	uint64_t retry_ns, backoff_ns, opened_ns;
	uint64_t sent_ns;                /* when the last request was sent */
} client = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.fd = -1,
	.backoff_ns = BACKOFF_MIN_NS,
	.due_ns = UINT64_MAX,
};

/* -- the connection; the lock is held, except across system calls ------------------- */

static void update_all(uint64_t now_ns)
{
	uint32_t slot = 0;

	client.updated_ns = now_ns;
	while ((slot = ccs_reg_update_status(&client.reg, slot, CHUNK, now_ns))) {
		pthread_mutex_unlock(&client.lock);
		pthread_mutex_lock(&client.lock);
	}
}

/* The back-off also applies to an agent that dies repeatedly. */
static void lose_agent(uint64_t now_ns)
{
	ccs_close(client.fd);
	client.fd = -1;
	if (client.hello_done && now_ns > client.opened_ns + BACKOFF_MAX_NS)
		client.backoff_ns = BACKOFF_MIN_NS;
	client.retry_ns = now_ns + client.backoff_ns;
	client.backoff_ns *= 2;
	if (client.backoff_ns > BACKOFF_MAX_NS)
		client.backoff_ns = BACKOFF_MAX_NS;
	client.hello_done = false;
	ccs_reg_agent_lost(&client.reg, now_ns);
	update_all(now_ns);
}

static void connect_agent(uint64_t now_ns)
{
	int fd;

	pthread_mutex_unlock(&client.lock);
	fd = ccs_agent_conn_open(client.path, client.shm_fd);
	pthread_mutex_lock(&client.lock);
	client.fd = fd;
	client.opened_ns = client.sent_ns = now_ns;
	if (fd < 0)
		lose_agent(now_ns);
}

/* With its reply to the HELLO the agent accepts or refuses the shared region. */
static void handle_hello_reply(const struct ccs_ipc_result *result, uint64_t now_ns)
{
	client.reg.process_refused = result->error;
	if (result->error) {
		lose_agent(now_ns);
		return;
	}
	client.hello_done = true;
	ccs_reg_agent_connected(&client.reg, now_ns);
	update_all(now_ns);
}

/* Flows may use the caps that they had: these stay mapped. */
static void map_caps(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	const size_t len = CCS_CAP_PORTS * sizeof(struct ccs_cap);
	void *at = MAP_FAILED;
	struct stat st;

	if (seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(fd, &st) && (size_t)st.st_size == len)
		at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		atomic_store_explicit(&client.caps, at, memory_order_release);
	close(fd);
}

static void handle_replies(uint64_t now_ns)
{
	struct ccs_ipc_result result;
	int error, passed;

	while (client.fd >= 0) {
		pthread_mutex_unlock(&client.lock);
		error = ccs_agent_conn_reply(client.fd, &result, &passed);
		if (passed >= 0)
			map_caps(passed);
		pthread_mutex_lock(&client.lock);
		if (error == EAGAIN)
			return;
		if (!error && result.type == CCS_IPC_CAPS)
			continue;
		if (!error && !client.hello_done)
			handle_hello_reply(&result, now_ns);
		else if (error || ccs_reg_reply(&client.reg, result.slot, result.error, now_ns))
			lose_agent(now_ns);
	}
}

/* Only this thread removes requests: the request is still first in the queue after the call. */
static void send_requests(uint64_t now_ns)
{
	struct ccs_feedback_flow flow;
	uint32_t slot;
	bool add;
	int error;

	while (client.hello_done && ccs_reg_next_request(&client.reg, &slot, &add)) {
		flow = client.reg.entry[slot].flow;
		pthread_mutex_unlock(&client.lock);
		error = add ? ccs_agent_conn_add(client.fd, slot, &flow)
			    : ccs_agent_conn_remove(client.fd, slot);
		pthread_mutex_lock(&client.lock);
		if (error == EAGAIN)
			return;
		if (error) {
			lose_agent(now_ns);
			return;
		}
		ccs_reg_request_sent(&client.reg, add, now_ns);
		client.sent_ns = now_ns;
	}
}

/* -- the thread ------------------------------------------------------------------ */

static uint64_t next_turn_ns(void)
{
	uint64_t when = client.reg.flows ? client.updated_ns + UPDATE_NS : UINT64_MAX;

	if (client.fd < 0 && client.reg.flows && client.retry_ns < when)
		when = client.retry_ns;
	return when;
}

/* A reply is outstanding, or the socket is full. */
static bool is_agent_due(uint64_t now_ns)
{
	return client.fd >= 0 && (client.reg.todo.count ||
				  ((client.reg.replies_due || !client.hello_done) &&
				   now_ns < client.sent_ns + UPDATE_NS));
}

/* A thread that attaches cannot wake ppoll(), and a descriptor cannot wake a semaphore:
 * the wait for the descriptor is therefore short. */
static void wait_for_agent(uint64_t when_ns, uint64_t now_ns)
{
	const uint64_t ns = when_ns > now_ns ? when_ns - now_ns : 0;
	const struct timespec ts = { .tv_nsec = (long)(ns < POLL_NS ? ns : POLL_NS) };
	struct pollfd p = {
		.fd = client.fd,
		.events = (short)(POLLIN | (client.hello_done && client.reg.todo.count ? POLLOUT : 0)),
	};

	client.due_ns = when_ns;
	pthread_mutex_unlock(&client.lock);
	ppoll(&p, 1, &ts, NULL);
	pthread_mutex_lock(&client.lock);
}

static void sleep_until(uint64_t when_ns)
{
	client.due_ns = when_ns;
	pthread_mutex_unlock(&client.lock);
	ccs_clock_sem_wait(&client.wake, when_ns);
	pthread_mutex_lock(&client.lock);
}

/* A turn that runs late does not evaluate timeouts; the next turn follows soon. */
static void check_timeouts(uint64_t now_ns)
{
	if (ccs_reg_update_late(&client.reg, client.due_ns, now_ns)) {
		client.updated_ns = now_ns;
		return;
	}
	if (client.fd >= 0 && !client.hello_done && now_ns > client.opened_ns + HELLO_TIMEOUT_NS)
		lose_agent(now_ns);
	if (now_ns >= client.updated_ns + UPDATE_NS)
		update_all(now_ns);
}

static void run_turn(void)
{
	const uint64_t now_ns = ccs_clock_ns(CLOCK_MONOTONIC);

	if (client.fd < 0 && client.reg.flows && now_ns >= client.retry_ns)
		connect_agent(now_ns);
	handle_replies(now_ns);
	send_requests(now_ns);
	check_timeouts(now_ns);
	if (client.life == RUNNING && is_agent_due(now_ns))
		wait_for_agent(next_turn_ns(), now_ns);
	else if (client.life == RUNNING)
		sleep_until(next_turn_ns());
}

/*
 * Whether another preload interposes socket calls, as librspreload does. It identifies its sockets
 * by their numbers, and would mistake descriptors of another table for its sockets.
 */
static bool are_sockets_interposed(void)
{
	Dl_info libc, closes;

	return dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) &&
	       dladdr((void *)(uintptr_t)close, &closes) && closes.dli_fbase != libc.dli_fbase;
}

/*
 * Give the thread a separate descriptor table without the application's descriptors, so that a file
 * that the application closes is really closed. 0 to 2 are /dev/null, so that output for them
 * does not reach another file.
 */
static int unshare_descriptors(void)
{
#ifdef __SANITIZE_THREAD__
	return 0; /* the sanitizer would confuse equal numbers in two tables */
#endif
	if (are_sockets_interposed())
		return 0;
	if (syscall(__NR_close_range, (unsigned)FIRST_FD, ~0u, CLOSE_RANGE_UNSHARE))
		return -1;
	for (int fd = FIRST_FD; fd < 3; fd++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return -1;
	return 0;
}

static struct ccs_shm *create_region(int *fd)
{
	struct ccs_shm *shm;

	*fd = memfd_create("ccshim-feedback", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, sizeof(*shm)) ||
	    fallocate(*fd, 0, 0, offsetof(struct ccs_shm, slot)) || /* writing fails less gracefully */
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (shm == MAP_FAILED)
		return NULL;
	ccs_shm_touch(shm, 0, offsetof(struct ccs_shm, slot));
	return shm;
}

static bool prepare_thread(void)
{
	struct ccs_shm *shm = unshare_descriptors() ? NULL : create_region(&client.shm_fd);

	return shm && !ccs_reg_init(&client.reg, shm);
}

static void *client_thread(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "ccshim-feedback");
	pthread_mutex_lock(&client.lock);
	client.life = prepare_thread() ? RUNNING : FAILED;
	pthread_cond_broadcast(&client.changed);
	while (client.life == RUNNING)
		run_turn();
	pthread_mutex_unlock(&client.lock);
	ccs_close(client.fd);
	atomic_fetch_sub(&ccs_threads, 1);
	return NULL;
}

static void start_thread(void)
{
	client.life = STARTING;
	if (sem_init(&client.wake, 0, 0) || ccs_thread_create(&client.thread, client_thread, NULL))
		client.life = FAILED;
}

/* -- the application's side ------------------------------------------------------- */

void ccs_agent_client_setup(const char *path)
{
	snprintf(client.path, sizeof(client.path), "%s", path);
}

/* Start the thread if necessary; wait only until it has created the region. */
static bool ensure_running(void)
{
	if (client.life == NOT_STARTED)
		start_thread();
	while (client.life == STARTING)
		pthread_cond_wait(&client.changed, &client.lock);
	return client.life == RUNNING;
}

bool ccs_agent_client_is_useful(void)
{
	bool runs;

	pthread_mutex_lock(&client.lock);
	runs = client.life == STARTING || client.life == RUNNING;
	pthread_mutex_unlock(&client.lock);
	return runs || access(client.path, F_OK) == 0;
}

/* Cancellation is disabled while the caller waits for the thread with the lock held. */
struct ccs_slot *ccs_agent_client_attach(const struct ccs_feedback_flow *flow)
{
	struct ccs_slot *slot = NULL;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&client.lock);
	if (ensure_running())
		slot = ccs_reg_add(&client.reg, flow, ccs_clock_ns(CLOCK_MONOTONIC));
	sem_post(&client.wake);
	pthread_mutex_unlock(&client.lock);
	pthread_setcancelstate(cancel, NULL);
	return slot;
}

void ccs_agent_client_detach(struct ccs_slot *slot)
{
	if (!slot)
		return;
	pthread_mutex_lock(&client.lock);
	ccs_reg_remove(&client.reg, slot, ccs_clock_ns(CLOCK_MONOTONIC));
	sem_post(&client.wake);
	pthread_mutex_unlock(&client.lock);
}

const struct ccs_shm_path *ccs_agent_client_path(const _Atomic uint32_t *index)
{
	return ccs_reg_path(client.reg.shm, index);
}

struct ccs_cap *ccs_agent_client_cap(const struct ccs_slot *slot)
{
	struct ccs_cap *caps = atomic_load_explicit(&client.caps, memory_order_acquire);
	const uint32_t index = atomic_load_explicit(&slot->cap, memory_order_relaxed);

	return caps && index && index <= CCS_CAP_PORTS ? &caps[index - 1] : NULL;
}

void ccs_agent_client_finish(void)
{
	struct timespec until;
	bool was;

	pthread_mutex_lock(&client.lock);
	was = client.life == RUNNING;
	if (was) {
		client.life = STOPPING;
		sem_post(&client.wake);
	}
	pthread_mutex_unlock(&client.lock);
	until = ccs_clock_timespec(ccs_clock_ns(CLOCK_REALTIME) + FINISH_S * 1000000000ull);
	if (was)
		pthread_timedjoin_np(client.thread, NULL, &until);
}
