/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SPAWN_H
#define BENCH_SPAWN_H
/* Starting and ending worker processes, under the shim or bare. */
#include <stddef.h>
#include <sys/types.h>

#include "bench/ccbench/scenario/settings.h"
#include "bench/ccbench/traffic/xchg.h"

struct child {
	pid_t pid;       /* 0: not started, or reaped */
	struct xchg x;
};

/*
 * Fork and exec this very program as a worker. Under a setting with preload, the
 * shim is added to LD_PRELOAD and its report goes to the file `report`. 0, or -1
 * with errno.
 */
int spawn_worker(struct child *c, const struct setting *s, const char *preload,
		 const char *report);

/* Wait for its end: 0 if it exited with 0; if not, err has the exit status or signal. */
int spawn_reap(struct child *c, char *err, size_t errlen);

/* Kill and reap, without a message. */
void spawn_kill(struct child *c);

/*
 * Make the value of LD_PRELOAD from its old value, which may be NULL: remove every libccshim.so, and
 * add lib unless it is NULL, before other libraries as 'ccshim run' does (preload_list.h).
 */
void preload_value(const char *old, const char *lib, char *buf, size_t len);

/* Find the shim, first in this build tree, then in the installation; -1 if it does not exist. */
int preload_find(char *buf, size_t len);

#endif
