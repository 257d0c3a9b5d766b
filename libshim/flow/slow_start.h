/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SLOW_START_H
#define CCS_SLOW_START_H
/*
 * Slow start: finds the rate at which a new flow begins.
 *
 * The window grows by half per RTT, from one segment to the limit, while no RTT shows a queue. The
 * first queue ends slow start. The path is full then, and the lowest rate at which a window was
 * delivered is this flow's share. Half of it lets the queue drain, so that flows that started
 * together see the unloaded path. An incast begins near its fair shares, without an overflow. The
 * algorithm takes over when the queue has drained, or after CCS_SLOW_START_DRAIN_SAMPLES samples:
 * an average over the fall of that queue would favour, for fifty samples, flows that saw more of
 * it.
 *
 *	ramping --(limit reached)--> done
 *	ramping --(queue)--> done, or draining if the caller calls ccs_slow_start_drain() --> done
 */
#include <stdbool.h>
#include <stdint.h>

enum { CCS_SLOW_START_DRAIN_SAMPLES = 16 };

struct ccs_slow_start {
	double window;           /* bytes that may be outstanding; the limit once it has ended */
	double lowest_rate;      /* bit/s: the lowest rate at which a window was delivered */
	bool ramping;            /* the window is still growing */
	uint8_t drain_samples;   /* at most this many more samples to wait for the queue to drain */
};

/* Begin with an empty window; ccs_slow_start_set_limit() sets the first one. */
void ccs_slow_start_begin(struct ccs_slow_start *s, bool ramping);

/* End slow start with the window at its limit; the algorithm takes over with the next sample. */
void ccs_slow_start_end(struct ccs_slow_start *s, double limit);

/* The segment or the limit has changed, in bytes. */
void ccs_slow_start_set_limit(struct ccs_slow_start *s, double segment, double limit);

/* Grow the window for len acknowledged bytes, without a sample. */
void ccs_slow_start_grow(struct ccs_slow_start *s, uint64_t len);

/*
 * A sample while ramping: len bytes are acknowledged, a window was delivered in delivery_us, and
 * the RTT shows a queue or does not. Ends slow start at the first queue or at the limit.
 */
void ccs_slow_start_sample(struct ccs_slow_start *s, uint64_t len, double delivery_us, bool queued,
			   double limit);

/* A queue has ended slow start: wait for it to drain. Returns the rate to set until then. */
double ccs_slow_start_drain(struct ccs_slow_start *s);

/* A sample after the ramp: true while the algorithm must not see it, because the queue drains. */
bool ccs_slow_start_is_draining(struct ccs_slow_start *s, bool queued);

#endif
