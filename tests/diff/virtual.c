/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtual time for a whole process; see virtual.h. */
#include "virtual.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "feedback/shm.h"

#define EXPORT __attribute__((visibility("default")))

enum { TASKS = 8, A_LOOK = 20, ROUND = 1000000000, SPURIOUS = 100000, SLOTS = 256 };

static struct task {
	void *(*main)(void *);
	void *arg;
	sem_t go;
	const pthread_cond_t *on;        /* the thread waits for it, or until then */
	uint64_t until;
} tasks[TASKS];
static int ntasks;
static sem_t back;
static bool on;
static uint64_t now_ns = 1000ull * ROUND;
static _Thread_local struct task *self;
static struct ccs_shm *region;
static bool with_feedback;

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Reading the clock takes time, so that a loop that waits for the time ends. */
EXPORT int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!on)
		return (int)syscall(SYS_clock_gettime, id, ts);
	now_ns += A_LOOK;
	*ts = (struct timespec){ .tv_sec = (time_t)(now_ns / ROUND),
				 .tv_nsec = (long)(now_ns % ROUND) };
	return 0;
}

/* Finds the shim's shared region when it is created; its size is set afterwards. */
EXPORT int memfd_create(const char *name, unsigned int flags)
{
	const int fd = (int)syscall(SYS_memfd_create, name, flags);

	if (fd >= 0 && strcmp(name, "ccshim-feedback") == 0)
		region = mmap(NULL, sizeof(*region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region == MAP_FAILED)
		region = NULL;
	return fd;
}

struct ccs_shm *virtual_region(void)
{
	return region;
}

/* Return to the thread that let this one run. Returns when this thread may run again. */
static void rest(struct task *t, const pthread_cond_t *cond, uint64_t until)
{
	t->on = cond;
	t->until = until;
	sem_post(&back);
	sem_wait(&t->go);
}

static void *begin(void *arg)
{
	self = arg;
	sem_wait(&self->go);
	self->main(self->arg);
	rest(self, NULL, UINT64_MAX); /* forever */
	return NULL;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
		next("pthread_create");
	struct task *t;

	if (!on)
		return real(thread, attr, fn, arg);
	if (ntasks == TASKS)
		return EAGAIN;
	t = &tasks[ntasks++];
	*t = (struct task){ .main = fn, .arg = arg };
	sem_init(&t->go, 0, 0);
	return real(thread, attr, begin, t);
}

static void run_woken(void)
{
	for (int i = 0; i < ntasks; i++)
		while (tasks[i].until <= now_ns) {
			sem_post(&tasks[i].go);
			sem_wait(&back);
		}
}

/* Equal for equal times within a program, and for all QPs, whichever slot each has. */
static void change_feedback(void)
{
	const uint64_t x = now_ns % ROUND * 0x9e3779b97f4a7c15ull >> 32;

	for (int i = 0; i < SLOTS && x % 4 == 0; i++)
		atomic_fetch_add(&region->slot[i].cnps, x / 4 % 4);
	for (int i = 0; i < SLOTS && x % 16 == 1; i++) {
		atomic_store(&region->slot[i].status, (uint32_t)(x / 16 % 8));
		atomic_store(&region->slot[i].inbound_status, (uint32_t)(x / 128 % 8));
	}
}

void virtual_feedback(void)
{
	with_feedback = true;
}

void virtual_pass(uint64_t ns)
{
	now_ns += ns;
	if (region && with_feedback)
		change_feedback();
	run_woken();
}

/* A multiple of a second, so that a program finds the same phase of any timer wheel each time. */
void virtual_start(void)
{
	static bool again;

	if (!again)
		sem_init(&back, 0, 0);
	again = on = true;
	now_ns = (now_ns / ROUND + 100) * ROUND;
}

void virtual_stop(void)
{
	on = false;
}

/* The program waits for a thread, possibly without a timeout. */
static int wait_here(pthread_mutex_t *mutex)
{
	static unsigned spurious;

	if (++spurious > SPURIOUS) {
		fprintf(stderr, "the program waits forever\n");
		abort();
	}
	pthread_mutex_unlock(mutex);
	virtual_pass(1000);
	pthread_mutex_lock(mutex);
	return 0;
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until)
{
	if (!self)
		return wait_here(mutex);
	pthread_mutex_unlock(mutex);
	rest(self, cond, until);
	pthread_mutex_lock(mutex);
	return now_ns >= until ? ETIMEDOUT : 0;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *) =
		(int (*)(pthread_cond_t *, pthread_mutex_t *))next("pthread_cond_wait");

	return on ? wait_until(cond, mutex, UINT64_MAX) : real(cond, mutex);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *ts)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
		(int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))
		next("pthread_cond_timedwait");

	return on ? wait_until(cond, mutex, (uint64_t)ts->tv_sec * ROUND + (uint64_t)ts->tv_nsec)
		  : real(cond, mutex, ts);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *ts)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *) =
		(int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))
		next("pthread_cond_clockwait");

	return on ? wait_until(cond, mutex, (uint64_t)ts->tv_sec * ROUND + (uint64_t)ts->tv_nsec)
		  : real(cond, mutex, clock, ts);
}

/* A message from another process arrives after the whole timeout has passed. */
EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
	int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))
		next("ppoll");

	if (!on || !self)
		return real(fds, n, ts, mask);
	rest(self, NULL, now_ns + (uint64_t)ts->tv_sec * ROUND + (uint64_t)ts->tv_nsec);
	return real(fds, n, &(struct timespec){ 0 }, mask);
}

static void wake(const pthread_cond_t *cond)
{
	for (int i = 0; i < ntasks; i++)
		if (tasks[i].on == cond)
			tasks[i].until = 0;
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	int (*real)(pthread_cond_t *) = (int (*)(pthread_cond_t *))next("pthread_cond_signal");

	wake(cond);
	return real(cond);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	int (*real)(pthread_cond_t *) = (int (*)(pthread_cond_t *))next("pthread_cond_broadcast");

	wake(cond);
	return real(cond);
}
