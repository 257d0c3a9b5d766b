/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_JOBS_H
#define CCFABRIC_JOBS_H
/* Simulations side by side in processes. */
#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory that all processes share. */
void *fab_shared(size_t n, size_t size);

/* Calls run(owner, i) for each i below n in so many processes, each of which takes the next that is
 * left. False if a process failed, which has said why. */
bool fab_jobs(unsigned n, unsigned processes, bool progress, void (*run)(void *owner, unsigned i),
	      void *owner);

#endif
