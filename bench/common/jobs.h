/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_JOBS_H
#define BENCH_JOBS_H
/* Simulations side by side in processes. */
#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory that all processes share. */
void *jobs_shared(size_t n, size_t size);

struct jobs {
	void (*run)(void *owner, unsigned i);
	void *owner;
	unsigned n, processes;   /* a process takes the next job that is left */
	bool quiet;              /* without the bar on a terminal, */
	const char *program;     /* and without lines elsewhere, which begin with this; NULL: none */
};

/* Run each job i below n. False if a process failed, which has printed why. The
 * program ends if there is no memory, or no process can be started. */
bool jobs_run(const struct jobs *j);

#endif
