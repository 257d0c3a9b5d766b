/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_THREAD_H
#define CCS_BASE_THREAD_H
/*
 * Threads of the library in the application's process. They inherit neither its signals, which it
 * alone handles, nor its scheduling: an application thread that is pinned to a CPU, and spins
 * there with a real-time policy, would never let a thread run that has the same CPU.
 */
#include <pthread.h>
#include <stdatomic.h>

/* As pthread_create(), with all signals blocked, no real-time policy and all CPUs that the process
 * may use. errno is kept. */
int ccs_thread_create(pthread_t *thread, void *(*function)(void *), void *arg);
/* The number of those that run: a thread that returns subtracts itself. */
extern atomic_uint ccs_threads;

#endif
