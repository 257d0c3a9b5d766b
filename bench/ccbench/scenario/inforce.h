/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_INFORCE_H
#define BENCH_INFORCE_H
/*
 * Checks whether a setting was in force on a host, in the shim's report on each queue pair of the
 * worker there that posted. Pure, except that it allocates memory.
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
	char missing_feedback[64];   /* feedback that the algorithm needs and did not get */
};

/*
 * report: the shim's, or NULL if it wrote no report. 0, or -1 and a reason in why if one of the n
 * queue pairs was not under the setting or the report does not show that it was.
 */
int inforce_check(struct inforce *sum, const char *report, const struct setting *s,
		  struct inforce_qp *v, size_t n, char *why, size_t len);

#endif
