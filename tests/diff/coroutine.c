/* SPDX-License-Identifier: BSD-2-Clause */
/* Coroutines; see coroutine.h. A switch between threads would cost many times more. */
#include "coroutine.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 1 << 20 };

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* The program's own pthread_create() may be what creates coroutines. */
static create_fn *real_create(void)
{
	return (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

/* Barriers: virtual.c replaces the functions of semaphores, which would let virtual time pass. */
struct coroutine {
	void (*fn)(void *);
	void *arg;
	pthread_barrier_t go, back;
};

static void *begin(void *arg)
{
	struct coroutine *c = arg;

	pthread_barrier_wait(&c->go);
	c->fn(c->arg);
	abort();
}

static int start(struct coroutine *c, pthread_t *thread, const pthread_attr_t *attr)
{
	pthread_barrier_init(&c->go, NULL, 2);
	pthread_barrier_init(&c->back, NULL, 2);
	return real_create()(thread, attr, begin, c);
}

void coroutine_resume(struct coroutine *c)
{
	pthread_barrier_wait(&c->go);
	pthread_barrier_wait(&c->back);
}

void coroutine_suspend(struct coroutine *c)
{
	pthread_barrier_wait(&c->back);
	pthread_barrier_wait(&c->go);
}

#else

struct coroutine {
	void (*fn)(void *);
	void *arg;
	ucontext_t inside, outside;
};

static _Thread_local struct coroutine *starting;

static void begin(void)
{
	starting->fn(starting->arg);
	abort();
}

static void *do_nothing(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int start(struct coroutine *c, pthread_t *thread, const pthread_attr_t *attr)
{
	void *const stack = malloc(STACK);

	if (!stack || getcontext(&c->inside))
		return ENOMEM;
	c->inside.uc_stack.ss_sp = stack;
	c->inside.uc_stack.ss_size = STACK;
	makecontext(&c->inside, begin, 0);
	return real_create()(thread, attr, do_nothing, NULL);
}

void coroutine_resume(struct coroutine *c)
{
	starting = c;
	swapcontext(&c->outside, &c->inside);
}

void coroutine_suspend(struct coroutine *c)
{
	swapcontext(&c->inside, &c->outside);
}

#endif

int coroutine_create(struct coroutine **c, pthread_t *thread, const pthread_attr_t *attr,
		     void (*fn)(void *), void *arg)
{
	*c = calloc(1, sizeof(**c));
	if (!*c)
		return ENOMEM;
	**c = (struct coroutine){ .fn = fn, .arg = arg };
	return start(*c, thread, attr);
}
