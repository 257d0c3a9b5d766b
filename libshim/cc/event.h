/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_EVENT_H
#define CCS_CC_EVENT_H
/*
 * An event of an algorithm, with its arguments and the resulting rate and window. Traces record
 * these events and replays repeat them. Pure.
 */
#include "cc/cc.h"

enum ccs_cc_event_kind {
	CCS_CC_EVENT_START,          /* ccs_cc_start() */
	CCS_CC_EVENT_PATH,           /* ccs_cc_repath() */
	CCS_CC_EVENT_RATE,           /* ccs_cc_set_rate() */
	CCS_CC_EVENT_ACK, CCS_CC_EVENT_CNP, CCS_CC_EVENT_SEND, CCS_CC_EVENT_LOSS,
	CCS_CC_EVENT_TICK,           /* only timers */
};

#define CCS_CC_EVENT_KINDS (CCS_CC_EVENT_TICK + 1)

/* Names of the kinds in a trace; PATH and RATE are both "set". */
extern const char *const ccs_cc_event_names[CCS_CC_EVENT_KINDS];

struct ccs_cc_event {
	enum ccs_cc_event_kind kind;
	struct ccs_cc_ack ack;   /* all kinds: now_us; SEND: bytes; ACK: all members but hops */
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	struct ccs_cc_path path; /* START and PATH */
	double max_rate;         /* START and PATH: the user's limit, bit/s; INFINITY: no limit */
	double rate;             /* RATE: bit/s */
	struct ccs_cc_out out;   /* result */
	uint64_t origin_ns;      /* the algorithm's time 0, in the host's time */
};

/*
 * Repeat an event on cc. The caller fires the timers that are due before it. START resets cc with
 * cc->spec. event->out is not used.
 */
void ccs_cc_event_replay(struct ccs_cc *cc, const struct ccs_cc_event *event);

#endif
