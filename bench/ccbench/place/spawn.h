/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SPAWN_H
#define BENCH_SPAWN_H
/* Starting and ending worker processes, under the shim or bare. */
#include <stddef.h>
#include <sys/types.h>

#include "bench/ccbench/settings.h"
#include "xchg.h"

struct child {
	pid_t pid;       /* 0: none, or reaped */
	struct xchg x;
};

/*
 * Fork and exec this very program as a worker. Under a setting with preload, the
 * shim is added to LD_PRELOAD and its report goes to the file `report`. 0, or -1
 * with errno.
 */
int spawn_worker(struct child *c, const struct setting *s, const char *preload,
		 const char *report);

/* Wait for its end: 0 if it exited with 0, else how it ended in err. */
int spawn_reap(struct child *c, char *err, size_t errlen);

/* Kill and reap, without a message. */
void spawn_kill(struct child *c);

/*
 * LD_PRELOAD from its old value (or NULL): lib (or NULL: none) instead of every libccshim.so, before
 * other libraries as under 'ccshim run' (preload_list.h). These stay.
 */
void preload_value(const char *old, const char *lib, char *buf, size_t len);

/* The shim of this build tree, else the installed one; -1 if neither is there. */
int preload_find(char *buf, size_t len);

#endif
