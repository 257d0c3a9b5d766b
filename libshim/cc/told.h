/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_TOLD_H
#define CCS_CC_TOLD_H
/*
 * One thing that an algorithm was told, with all of its facts, and what came of
 * it: the record of those who look on. Pure.
 */
#include "cc/cc.h"

enum ccs_told_kind {
	CCS_TOLD_START,          /* a flow begins, on this path */
	CCS_TOLD_PATH,           /* the path is better known now */
	CCS_TOLD_RATE,           /* go on from this rate */
	CCS_TOLD_ACK, CCS_TOLD_CNP, CCS_TOLD_SEND, CCS_TOLD_LOSS,
	CCS_TOLD_TICK,           /* nothing but the time */
};

#define CCS_TOLD_KINDS (CCS_TOLD_TICK + 1)

/* What each kind is called in a trace: PATH and RATE both "set". */
extern const char *const ccs_told_words[CCS_TOLD_KINDS];

struct ccs_told {
	enum ccs_told_kind kind;
	struct ccs_cc_ack ack;   /* now_us of all; bytes of SEND; the rest, but for hops, of ACK */
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	struct ccs_cc_path path; /* of START and PATH */
	double max_rate;         /* of START and PATH: the user's cap, bit/s; INFINITY: none */
	double rate;             /* of RATE, bit/s */
	struct ccs_cc_out out;   /* after it */
	uint64_t origin_ns;      /* where its time begins, on the host's time line */
};

/*
 * Tell cc the same, and nothing else: timers that are due before it are the
 * caller's. START begins anew with cc->spec. out is not touched.
 */
void ccs_told_repeat(struct ccs_cc *cc, const struct ccs_told *told);

#endif
