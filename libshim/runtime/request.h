/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REQUEST_H
#define CCS_REQUEST_H
/*
 * What `ccshim set` asks of a running process, as text:
 *
 *	all | qp LQPN | peer ADDRESS[/BITS] | new | new peer ADDRESS[/BITS]
 *	NAME=VALUE
 *	...
 *
 * one on each line; "new": not the queue pairs that are connected now. Without a setting it
 * only asks what holds. Pure, and read as if anybody had written it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/match.h"
#include "runtime/options.h"

enum { CCS_REQUEST_LEN = 1024, CCS_REQUEST_MAX = 32 };

struct ccs_request {
	bool only_new;
	bool one;                        /* qp: lqpn */
	uint32_t lqpn;
	struct ccs_match match;          /* keys 0: all */
	unsigned count;
	struct { const char *name, *value; } setting[CCS_REQUEST_MAX]; /* into text */
	char text[CCS_REQUEST_LEN];
};

/* text need not end. 0, or -1 with a sentence in err. */
int ccs_request_parse(struct ccs_request *r, const char text[CCS_REQUEST_LEN], char *err,
		      size_t errlen);

/*
 * The settings into *o, one after the other: an option that queue pairs may differ in, or a
 * parameter of the algorithm of o->cc, which is given there. What cannot be, or cannot be
 * together, is refused: -1 with a sentence in err, and *o is of no use.
 */
int ccs_request_apply(const struct ccs_request *r, struct ccs_options *o, char *err,
		      size_t errlen);

/* Whether the request sets that option, if only by a parameter. */
bool ccs_request_sets(const struct ccs_request *r, const struct ccs_opt *opt);

#endif
