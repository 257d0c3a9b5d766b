/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_EVENT_H
#define CCS_CC_EVENT_H
/*
 * One event that was passed to an algorithm, with all of its arguments and the rate and window
 * that it then wanted: what a trace records and a replay repeats. Pure.
 */
#include "cc/cc.h"

enum ccs_cc_event_kind {
	CCS_CC_EVENT_START,          /* a flow begins, on this path */
	CCS_CC_EVENT_PATH,           /* the path is better known now */
	CCS_CC_EVENT_RATE,           /* continue from this rate */
	CCS_CC_EVENT_ACK, CCS_CC_EVENT_CNP, CCS_CC_EVENT_SEND, CCS_CC_EVENT_LOSS,
	CCS_CC_EVENT_TICK,           /* nothing but the time */
};

#define CCS_CC_EVENT_KINDS (CCS_CC_EVENT_TICK + 1)

/* What each kind is called in a trace: PATH and RATE both "set". */
extern const char *const ccs_cc_event_names[CCS_CC_EVENT_KINDS];

struct ccs_cc_event {
	enum ccs_cc_event_kind kind;
	struct ccs_cc_ack ack;   /* now_us of all; bytes of SEND; the rest, but for hops, of ACK */
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	struct ccs_cc_path path; /* of START and PATH */
	double max_rate;         /* of START and PATH: the user's cap, bit/s; INFINITY: none */
	double rate;             /* of RATE, bit/s */
	struct ccs_cc_out out;   /* after it */
	uint64_t origin_ns;      /* where its time begins, on the host's time line */
};

/*
 * Pass the same event to cc. The caller fires the timers that are due before it. START
 * resets cc with cc->spec. out is not touched.
 */
void ccs_cc_event_replay(struct ccs_cc *cc, const struct ccs_cc_event *event);

#endif
