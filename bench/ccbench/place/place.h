/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H
/*
 * Where the workers of a run are, one for each host, and how to exchange messages with them.
 * They are processes of this machine (local.c) or of the ranks of an MPI job (place_mpi.c).
 */
#include <stddef.h>
#include <stdint.h>

#include "bench/ccbench/scenario/settings.h"
#include "bench/ccbench/traffic/xchg.h"

struct place {
	/* Start a worker under a setting: 0, or -1 with errno. */
	int (*start)(struct place *p, unsigned host, const struct setting *s);
	/* This host's clock minus that host's, ns. */
	int64_t (*offset)(struct place *p, unsigned host);
	/* As xchg_send(), xchg_wait_any() over the first `hosts` hosts, and xchg_recv(). */
	int (*send)(struct place *p, unsigned host, uint32_t type, const void *data, size_t len);
	int (*wait)(struct place *p, unsigned hosts, int64_t ns);
	int (*recv)(struct place *p, unsigned host, struct xchg_msg *m);
	/* Wait for a worker's end: 0 if it exited with 0, or -1 and the reason in err. */
	int (*end)(struct place *p, unsigned host, char *err, size_t errlen);
	/* Kill the worker if it runs. */
	void (*kill)(struct place *p, unsigned host);
	/* The shim's report of the worker that has ended, to be freed; or NULL. */
	char *(*report)(struct place *p, unsigned host);
	/* Free the place and its resources. */
	void (*release)(struct place *p);
	int64_t lead;    /* ns within which a message reaches every worker */
	const char *dir; /* for temporary files */
};

/* A new directory of temporary files; NULL and errno, with the name that was tried in dir. */
char *place_scratch(char *dir, size_t len);

/* Processes of this machine. preload: the shim. NULL without memory. */
struct place *place_local(const char *preload, const char *dir);

#endif
