/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REQUEST_H
#define CCS_REQUEST_H
/*
 * A request of `ccshim set` to a running process, as text:
 *
 *	all | qp LQPN | peer ADDRESS[/BITS] | new | new peer ADDRESS[/BITS]
 *	NAME=VALUE
 *	...
 *
 * one on each line; "new": applies to queue pairs connected later, not to connected queue pairs.
 * Without a setting it only queries the current ones. The text is untrusted; parsing has no
 * side effects.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/match.h"
#include "config/options.h"

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

/* text need not be terminated. 0, or -1 with a sentence in err. */
int ccs_request_parse(struct ccs_request *r, const char text[CCS_REQUEST_LEN], char *err,
		      size_t errlen);

/*
 * Apply the settings to *o, in order: an option that may differ between queue pairs, or a
 * parameter of the algorithm of o->cc, which is set there. Invalid or conflicting settings are
 * refused: -1 with a sentence in err, and *o is undefined.
 */
int ccs_request_apply(const struct ccs_request *r, struct ccs_options *o, char *err,
		      size_t errlen);

/* Whether the request sets that option, directly or through a parameter of cc. */
bool ccs_request_sets(const struct ccs_request *r, const struct ccs_opt *opt);

#endif
