/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_INFORCE_H
#define BENCH_INFORCE_H
/*
 * Whether a setting was in force on a host: by what the shim reports of the worker there, of
 * each queue pair that posted. Pure but for memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings.h"

struct inforce_qp {
	uint32_t qpn;
	bool used;           /* messages of it have completed */
	bool found;          /* set by inforce_check() */
};

/* Sums over hosts; all zero to begin with. */
struct inforce {
	double sent, fallback;  /* bytes; of these under the algorithm's fallback */
	unsigned fallen, qps;     /* queue pairs that were under it for some bytes; that have one */
	char cc[32];            /* the fallback */
	char feedback[16];       /* status of the feedback of the last of them at the end */
	char missing_feedback[64];   /* feedback that the algorithm needs and that nothing delivered */
};

/*
 * report: the shim's, or NULL where it left none. 0, or -1 and a reason in why if some queue
 * pair of the n was not under the setting, or nothing says that it was.
 */
int inforce_check(struct inforce *sum, const char *report, const struct setting *s,
		  struct inforce_qp *v, size_t n, char *why, size_t len);

#endif
