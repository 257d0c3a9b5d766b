/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_COROUTINE_H
#define CCS_TESTS_COROUTINE_H
/*
 * A function with a separate stack that runs only while it is resumed. It runs in the thread that
 * resumes it; with sanitizers, which must know about each stack, in a separate thread.
 */
#include <pthread.h>

struct coroutine;

/*
 * A coroutine for fn(arg), which must not return, in place of a thread. *thread becomes an idle
 * thread, for calls that need a thread's name.
 */
int coroutine_create(struct coroutine **c, pthread_t *thread, const pthread_attr_t *attr,
		     void (*fn)(void *), void *arg);
/* Let it run until it calls coroutine_suspend(). */
void coroutine_resume(struct coroutine *c);
/*
 * Suspend the running coroutine: return to the caller of coroutine_resume(), until its next call.
 */
void coroutine_suspend(struct coroutine *c);

#endif
