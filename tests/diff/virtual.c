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

#include "coroutine.h"
#include "feedback/shm.h"

#define EXPORT __attribute__((visibility("default")))

enum { TASKS = 8, A_LOOK = 20, ROUND = 1000000000, SPURIOUS = 100000, SLOTS = 256 };

static struct task {
	void *(*main)(void *);
	void *arg;
	struct coroutine *coroutine;
	const void *on;                  /* the thread waits for it, or until then */
	uint64_t until;
} tasks[TASKS];
static int ntasks;
static bool on;
static uint64_t now_ns = 1000ull * ROUND;
static _Thread_local struct task *self;
static struct ccs_shm *region;
static bool with_feedback;

#define REAL(function) ({ \
	static __typeof__(function) *real_function; \
	if (!real_function) \
		real_function = (__typeof__(function) *)dlsym(RTLD_NEXT, #function); \
	real_function; \
})

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

/* Where close() is not libc's own, the shim's threads share this process's descriptor table: a
 * coroutine must not leave it, as it runs in the program's thread. */
EXPORT int close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

struct ccs_shm *virtual_region(void)
{
	return region;
}

/* Return to the thread's resumer. Returns when this thread may run again. */
static void rest(struct task *t, const void *object, uint64_t until)
{
	t->on = object;
	t->until = until;
	self = NULL; /* coroutines may wait for semaphores */
	coroutine_suspend(t->coroutine);
	self = t;
}

static void begin(void *arg)
{
	struct task *t = arg;

	self = t;
	t->main(t->arg);
	rest(t, NULL, UINT64_MAX); /* forever */
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	struct task *t = &tasks[ntasks];
	int rc;

	if (!on)
		return REAL(pthread_create)(thread, attr, fn, arg);
	if (ntasks == TASKS)
		return EAGAIN;
	*t = (struct task){ .main = fn, .arg = arg };
	rc = coroutine_create(&t->coroutine, thread, attr, begin, t);
	ntasks += !rc;
	return rc;
}

static void run_woken(void)
{
	for (int i = 0; i < ntasks; i++)
		while (tasks[i].until <= now_ns)
			coroutine_resume(tasks[i].coroutine);
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
	on = true;
	now_ns = (now_ns / ROUND + 100) * ROUND;
}

void virtual_stop(void)
{
	on = false;
}

/* The program waits for a thread, possibly without a timeout. */
static void let_threads_run(void)
{
	static unsigned spurious;

	if (++spurious > SPURIOUS) {
		fprintf(stderr, "the program waits forever\n");
		abort();
	}
	virtual_pass(1000);
}

static int wait_here(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
	let_threads_run();
	pthread_mutex_lock(mutex);
	return 0;
}

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * ROUND + (uint64_t)ts->tv_nsec;
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
	return on ? wait_until(cond, mutex, UINT64_MAX) : REAL(pthread_cond_wait)(cond, mutex);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *ts)
{
	return on ? wait_until(cond, mutex, ns_of(ts)) : REAL(pthread_cond_timedwait)(cond, mutex, ts);
}

static int wait_for_post(sem_t *sem, uint64_t until)
{
	if (sem_trywait(sem) == 0)
		return 0;
	if (self)
		rest(self, sem, until);
	else if (until == UINT64_MAX)
		let_threads_run();
	else if (until > now_ns)
		virtual_pass(until - now_ns);
	return sem_trywait(sem);
}

EXPORT int sem_wait(sem_t *sem)
{
	return on ? wait_for_post(sem, UINT64_MAX) : REAL(sem_wait)(sem);
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *ts)
{
	return on ? wait_for_post(sem, ns_of(ts)) : REAL(sem_clockwait)(sem, clock, ts);
}

EXPORT int nanosleep(const struct timespec *ts, struct timespec *left)
{
	const uint64_t ns = ns_of(ts);

	if (!on)
		return REAL(nanosleep)(ts, left);
	if (self)
		now_ns += ns; /* it may have locks, unlike the program */
	else
		virtual_pass(ns);
	return 0;
}

/* A message from another process arrives after the whole timeout has passed. */
EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
	if (!on || !self)
		return REAL(ppoll)(fds, n, ts, mask);
	rest(self, NULL, now_ns + ns_of(ts));
	return REAL(ppoll)(fds, n, &(struct timespec){ 0 }, mask);
}

static void wake(const void *object)
{
	for (int i = 0; i < ntasks; i++)
		if (tasks[i].on == object)
			tasks[i].until = 0;
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	wake(cond);
	return REAL(pthread_cond_signal)(cond);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	wake(cond);
	return REAL(pthread_cond_broadcast)(cond);
}

EXPORT int sem_post(sem_t *sem)
{
	wake(sem);
	return REAL(sem_post)(sem);
}
