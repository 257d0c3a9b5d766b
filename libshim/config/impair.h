/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_IMPAIR_RULES_H
#define CCS_IMPAIR_RULES_H
/*
 * The value of the option `impair`: items, separated by commas. These apply to all that follows:
 *
 *	peer=ADDRESS[/N]   only queue pairs to that peer; peer=any: to every peer
 *	qp=N               only the N-th connection of the process; qp=any: every one
 *
 * The others set a condition, or are a failure with the time when it happens:
 *
 *	rate=RATE  delay=TIME  jitter=TIME  seed=N  KIND[:WHEN[:TIME]]
 *
 * WHEN is a number N of requests after which the next one fails (default 0), a probability for each
 * request if it has a point or an exponent, or a time since the connection, if it has a unit.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"

#define CCS_IMPAIR_KINDS(X) \
	X(RETRY, "retry") \
	X(RNR, "rnr") \
	X(ACCESS, "access") \
	X(INVALID, "invalid") \
	X(OPERATION, "operation") \
	X(FLUSH, "flush") \
	X(FATAL, "fatal") \
	X(PORT, "port")
#define CCS_IMPAIR_MEMBER(id, text) CCS_IMPAIR_##id,
enum ccs_impair_kind { CCS_IMPAIR_KINDS(CCS_IMPAIR_MEMBER) CCS_IMPAIR_COUNT };
#undef CCS_IMPAIR_MEMBER

enum ccs_impair_when { CCS_IMPAIR_AFTER, CCS_IMPAIR_CHANCE, CCS_IMPAIR_TIME };

struct ccs_impair_rule {
	enum ccs_impair_kind kind;
	enum ccs_impair_when when;
	double value;                    /* requests, a probability, or us */
	double duration_us;              /* of kind PORT: INFINITY if it was not given */
};

enum { CCS_IMPAIR_RULES = 16, CCS_IMPAIR_LINKS = 8 };

/* The items for one connection. All zero: there are none. */
struct ccs_impair {
	double rate;                     /* bit/s, of all connections with this link; 0: no limit */
	unsigned link;                   /* which item gave the rate, below CCS_IMPAIR_LINKS */
	double delay_us, jitter_us;
	unsigned seed;
	unsigned rules;
	struct ccs_impair_rule rule[CCS_IMPAIR_RULES];
};

/*
 * Parse the items for the nth connection of a process, from 1, to that peer. NULL: the peer is
 * unknown. 0, or -1 with a sentence in err.
 */
int ccs_impair_parse(const char *text, const struct ccs_address *peer, unsigned nth,
		     struct ccs_impair *out, char *err, size_t errlen);

/* For the option table. 0, or -1 with a sentence in err. */
int ccs_impair_check(const char *text, char *err, size_t errlen);

#endif
