/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_ADVICE_H
#define CCS_CC_ADVICE_H
/*
 * The rate that a port advises to all of its flows, after the Rate Control Protocol (Dukkipati,
 * Kobayashi, Zhang-Shen, McKeown: Processor Sharing Flows in the Internet, IWQoS 2005). The caller
 * reads the port's counters and sends the advised rate to all senders.
 *
 * The controller measures the number of flows in effect: the bytes that arrived, divided by the
 * bytes that one flow may have sent at the rates in force when they left. The advised rate is
 * eta * C divided by that number. Neither depends on earlier changes of the rate, so the loop has
 * no dynamics. A flow that its application limits counts in proportion to its use.
 *
 * The senders' count of flows is optional. It bounds the rate from below, so that a competitor that
 * ignores the advice does not get the whole port, and it announces flows before their first bytes.
 *
 * Pure: no clock, no allocation. One instance per port, used by one thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

enum { CCS_ADVICE_RECORDS = 32 };

/* A reading of the port. */
struct ccs_advice_port {
	uint64_t now_ns;                 /* time of the reading */
	uint64_t bytes;                  /* bytes sent by the port since a fixed time */
	uint64_t queue;                  /* bytes in the port's queue; 0 unless sees_queue */
	bool sees_queue;
	double capacity;                 /* bit/s, >= 1 */
	unsigned flows;                  /* active flows by their hosts' count; 0: unknown */
	double rtt_us;                   /* from the advice to its effect, without queues */
	double grain;                    /* bytes that a flow sends at once; 0: 4096 */
};

struct ccs_advice_record {
	uint64_t ns, bytes, queue;
	double allowed;                  /* integral of the rate, bits */
	double joined;                   /* number of flows announced so far */
};

/* All zero before the first reading. */
struct ccs_advice {
	struct ccs_advice_record record[CCS_ADVICE_RECORDS];
	unsigned head, n;                /* index of the next record; number of records */
	double rate;                     /* advised rate, bit/s; 0: no reading yet */
	double allowed;                  /* integral of the rate until allowed_ns, bits */
	uint64_t allowed_ns;
	double joined;
	double flows;                    /* flows in effect, including announced flows */
	double load;                     /* arrivals relative to the capacity at the last reading */
	unsigned saturated;              /* consecutive cuts of a full port */
	double cut_ns;                   /* time at which the last cut takes effect */
	double begun_ns;                 /* first record with flows after a pause */
	bool paused;
};

/*
 * Add a reading; returns the rate to advise, bit/s. If a counter or the time did not advance, the
 * measurement starts again at the present rate.
 */
double ccs_advice_feed(struct ccs_advice *a, const struct ccs_advice_port *port);

/*
 * Announce `more` flows that have not sent a byte yet; port->flows includes them, its counters are
 * not read. Returns the rate to advise to all flows, bit/s: at a full port, the others slow down
 * at once.
 */
double ccs_advice_join(struct ccs_advice *a, const struct ccs_advice_port *port, unsigned more);

#endif
