/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_ADVICE_H
#define CCS_CC_ADVICE_H
/*
 * One rate for all flows through a port, after the Rate Control Protocol (Dukkipati,
 * Kobayashi, Zhang-Shen, McKeown: Processor Sharing Flows in the Internet, IWQoS 2005).
 * The reader of the port's counters feeds them in and advises what comes out to all senders.
 *
 * The controller measures how many flows there are in effect: the bytes that arrived, divided
 * by what one flow may have sent meanwhile at the rates that were in force when those bytes
 * left. The advised rate is eta * C divided by that number. Neither the number nor the
 * rate depends on how the rate moved before, so the loop has no dynamics of its own; flows
 * that their application holds back count for the part that they use.
 *
 * A count of the flows by their senders is not needed for that. It bounds the rate from
 * below, so that a competitor that does not follow cannot take everything, and it announces
 * flows before their first bytes arrive.
 *
 * Pure: no clock, no allocation. One instance per port, used by one thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

enum { CCS_ADVICE_RECORDS = 32 };

/* What is known of the port at one moment. */
struct ccs_advice_port {
	uint64_t now_ns;                 /* when the counters were read */
	uint64_t bytes;                  /* that have passed the port since any fixed time */
	uint64_t queue;                  /* bytes that wait for it; 0 unless sees_queue */
	bool sees_queue;
	double capacity;                 /* bit/s, >= 1 */
	unsigned flows;                  /* that send now, as their hosts count them; 0: unknown */
	double rtt_us;                   /* from the advice to its effect, without queues */
	double grain;                    /* bytes that a flow sends at once; 0: 4096 */
};

struct ccs_advice_record {
	uint64_t ns, bytes, queue;
	double allowed;                  /* bits that one flow was allowed to send until then */
	double joined;                   /* flows that were announced until then */
};

/* All zero at first: nothing was fed yet. */
struct ccs_advice {
	struct ccs_advice_record record[CCS_ADVICE_RECORDS];
	unsigned head, n;                /* the next one's place; how many there are */
	double rate;                     /* bit/s, advised now; 0: none yet */
	double allowed;                  /* bits, until allowed_ns */
	uint64_t allowed_ns;
	double joined;
	double flows;                    /* in effect, those just announced included */
	double load;                     /* arrivals in relation to the capacity, as fed last */
	unsigned saturated;              /* cuts in a row, since the port is full */
	double cut_ns;                   /* when the last one takes effect */
	double begun_ns;                 /* the first record that shows flows after a pause, */
	bool paused;                     /* which lasts */
};

/*
 * Take one reading of the port; the rate to advise from now on, bit/s. A counter that went
 * back, or the same time again, starts the measurement over at the present rate.
 */
double ccs_advice_feed(struct ccs_advice *a, const struct ccs_advice_port *port);

/*
 * So many more flows are about to send, of which no byte was seen yet; port->flows has them
 * already, its counters are not read. The rate to advise to them and to all others, bit/s:
 * where the port was full all flows make way for them at once.
 */
double ccs_advice_join(struct ccs_advice *a, const struct ccs_advice_port *port, unsigned more);

#endif
