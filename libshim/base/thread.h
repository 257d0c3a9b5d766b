/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_THREAD_H
#define CCS_BASE_THREAD_H
/*
 * Threads of the library in the application's process. They inherit neither its signals, which it
 * alone handles, nor its scheduling: an application thread that is pinned to a CPU, and spins
 * there with a real-time policy, would never let a thread run that has the same CPU.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

/* Parse "all" or a list of CPUs as in taskset(1), "0-3,8". 0, or -1 with a sentence in err. */
int ccs_cpus_parse(const char *text, cpu_set_t *cpus, char *err, size_t errlen);

/* Set the CPUs of threads that are created afterwards. Default: all CPUs. */
void ccs_thread_set_cpus(const cpu_set_t *cpus);

/* As pthread_create(), with all signals blocked, the policy SCHED_OTHER and the CPUs set. errno
 * is kept. A CPU that the process may not use does not matter as long as it may use another. */
int ccs_thread_create(pthread_t *thread, void *(*function)(void *), void *arg);

#endif
