/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CHILDREN_H
#define CCS_CHILDREN_H
/*
 * Work that may wait without end, such as reading files of other users, in child processes. The
 * caller never waits longer for a child than CHILDREN_STUCK_MS beyond its last sign of progress.
 */
#include <stdbool.h>
#include <stddef.h>

enum { CHILDREN_AT_ONCE = 128, CHILDREN_STUCK_MS = 1000 };

struct children {
	/* In the child: do item i, and write the result to `out`. The child must close what it has
	 * opened before it returns. */
	void (*run)(void *arg, size_t i, int out);
	/* In the caller, for each item: the data that its child wrote. complete: the child returned;
	 * otherwise it was stuck or could not be started. */
	void (*done)(void *arg, size_t i, const char *data, size_t len, bool complete);
	void *arg;
};

/*
 * Run the items 0 to n - 1, CHILDREN_AT_ONCE at a time; the next begins as soon as one ends. A
 * child that did not run or write for CHILDREN_STUCK_MS is stuck: it is killed and not awaited,
 * since a process that waits for a file system may survive SIGKILL.
 */
void children_run(const struct children *c, size_t n);

/* write(2) until all is written. */
void children_write(int out, const void *data, size_t len);

#endif
