/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONFIG_IMPAIR_H
#define CCS_CONFIG_IMPAIR_H
/*
 * The value of the option `impair`: items, separated by commas, as ccshim-impair(1) describes.
 *
 *	delay=TIME  jitter=TIME  seed=N  KIND[:WHEN]
 *
 * peer=ADDRESS[/N] and qp=N restrict the items after them to queue pairs to that peer and to the
 * N-th connection of the process, up to peer=any or qp=any.
 */
#include <stddef.h>

#include "base/address.h"

#define CCS_IMPAIR_KINDS(X) \
	X(RETRY, "retry") X(RNR, "rnr") X(ACCESS, "access") X(INVALID, "invalid") \
	X(OPERATION, "operation") X(FLUSH, "flush") X(FATAL, "fatal") X(PORT, "port")
#define CCS_IMPAIR_MEMBER(id, text) CCS_IMPAIR_##id,
enum ccs_impair_kind { CCS_IMPAIR_KINDS(CCS_IMPAIR_MEMBER) CCS_IMPAIR_COUNT };
#undef CCS_IMPAIR_MEMBER

enum ccs_impair_when { CCS_IMPAIR_AFTER, CCS_IMPAIR_CHANCE, CCS_IMPAIR_TIME };

struct ccs_impair_rule {
	enum ccs_impair_kind kind;
	enum ccs_impair_when when;
	double value;                    /* requests, a probability, or us */
};

enum { CCS_IMPAIR_RULES = 16 };

/* The items for one connection. */
struct ccs_impair {
	double delay_us, jitter_us;
	unsigned seed, rules;
	struct ccs_impair_rule rule[CCS_IMPAIR_RULES];
};

/*
 * Parse the items for the nth connection of a process, from 1, to that peer. NULL: the peer is
 * unknown. 0, or -1 with a sentence in err.
 */
int ccs_impair_parse(const char *text, const struct ccs_address *peer, unsigned nth,
		     struct ccs_impair *out, char *err, size_t errlen);

/* For the option table. */
int ccs_impair_check(const char *text, char *err, size_t errlen);

#endif
