/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_ADVICE_H
#define CCS_CC_ADVICE_H
/*
 * The rate that a port advises to all of its flows, after the Rate Control Protocol (Dukkipati,
 * Kobayashi, Zhang-Shen, McKeown: Processor Sharing Flows in the Internet, IWQoS 2005). The caller
 * reads the port's counters and sends the advised rate to all senders.
 *
 * While the port is not full, the rate is its capacity C, and delay controls the flows. When it is full,
 * the rate falls until it limits the flows. Then the controller measures the number of flows in effect: the
 * bytes that arrived, divided by the bytes that one flow may have sent at the rates in force when
 * they left. The advised rate is eta * C divided by that number. The number does not depend on
 * earlier changes of the rate, so the loop cannot oscillate. A flow that its application limits counts in proportion
 * to its use.
 *
 * With tenants, a flow's rate is the advised rate times its factor (shares.h), and counts by it.
 *
 * Senders' statements have little power. Flows that are announced together at a free port get equal
 * shares for the time in which their first data must arrive; if too little arrives, announcements
 * have no effect for a time. The count of flows limits how far the rate falls at once.
 *
 * Pure: no clock, no allocation. One instance per port, used by one thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

enum { CCS_ADVICE_RECORDS = 32 };

/* The share of the capacity from which a rate does not bind, and factors do not apply. */
#define CCS_ADVICE_FREE 0.999

/* A reading of the port. */
struct ccs_advice_port {
	uint64_t now_ns;                 /* time of the reading */
	uint64_t bytes;                  /* bytes sent by the port since a fixed time */
	uint64_t queue;                  /* bytes in the port's queue; 0 unless sees_queue */
	bool sees_queue;
	double capacity;                 /* bit/s, >= 1 */
	unsigned flows;                  /* active flows by their hosts' count; 0: unknown */
	double unit, units;              /* of the flows' shares, see shares.h; 0: flows are equal */
	bool claimed;                    /* some shares are to be in force at once */
	double rtt_us;                   /* from the advice to its effect, without queues */
	double grain;                    /* bytes that a flow sends at once; 0: 4096 */
};

struct ccs_advice_record {
	uint64_t ns, bytes, queue;
	double allowed;                  /* integral of the rate, bits */
};

/* All zero before the first reading. */
struct ccs_advice {
	struct ccs_advice_record record[CCS_ADVICE_RECORDS];
	unsigned head, n;                /* index of the next record; number of records */
	double rate;                     /* advised rate, bit/s; 0: no reading yet */
	double allowed;                  /* integral of the rate until allowed_ns, bits */
	uint64_t allowed_ns;
	double flows;                    /* flows in effect, by their factors */
	double unit;                     /* the unit of rate, allowed and flows; 0: flows are equal */
	double load;                     /* arrivals relative to the capacity at the last reading */
	unsigned cuts;                   /* consecutive cuts of a full port */
	double cut_ns;                   /* time at which the last cut takes effect */
	double begun_ns;                 /* first record with flows after a pause */
	double alone_ns;                 /* start of the time in which a single flow is active; 0: more are */
	double join_ns, joined_ns;       /* first and last announcement of flows that join together */
	double joining;                  /* the number of these flows */
	uint64_t join_bytes;             /* the port's bytes at that time */
	double deaf_ns;                  /* until when announcements have no effect */
	unsigned false_joins;            /* consecutive trials in which too little arrived */
	bool paused;
	bool searching;                  /* the rate falls until it limits the flows */
	bool trying;                     /* announced flows have shares, and have still to send */
};

/*
 * Add a reading; returns the rate to advise, bit/s. If a counter or the time did not advance, the
 * measurement starts again at the present rate.
 */
double ccs_advice_feed(struct ccs_advice *a, const struct ccs_advice_port *port);

/*
 * Announce `more` flows that are about to send. port->bytes is the counter now. Returns the rate to
 * advise to all flows, bit/s.
 */
double ccs_advice_join(struct ccs_advice *a, const struct ccs_advice_port *port, unsigned more);

/*
 * Flows have begun whose shares are to be in force at once (ccs_shares_assign()): the others' rate
 * falls to their new shares, and rises again if these flows do not send.
 */
double ccs_advice_claim(struct ccs_advice *a, const struct ccs_advice_port *port);

/* The time until a reading is wanted earlier than usual, ns, because announced flows have sent by then; 0: as usual. */
double ccs_advice_wait_ns(const struct ccs_advice *a, const struct ccs_advice_port *port);

#endif
