/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RTT_OUTLIER_H
#define CCS_RTT_OUTLIER_H
/*
 * Two filters that keep delay of the hosts out of RTT samples: one for pauses of a host, one for
 * receivers that are not ready.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * Outlier filter: is an RTT long because of a queue, or because a host paused (the peer, or the
 * thread that runs a software device)? After a pause, all segments in flight complete late and at
 * once. A queue also delays segments sent after the first late RTT; a pause that is over does not.
 * So a late RTT is accepted only if its segment was sent after the first late RTT, that is, one RTT
 * later, until an RTT is in time again. Without the filter a host that pauses for 1 ms in every 20
 * costs a lone flow half of its throughput: each pause halves the rate, and the steps up are small.
 *
 * A queue grows gradually, a pause does not. So an RTT that exceeds the last accepted RTT by no
 * more than the tolerance is accepted at once. Otherwise, with more segments in flight, fewer late
 * RTTs would be accepted: among sixteen flows at a slow port a fast flow would stay fast.
 */
struct ccs_rtt_outlier {
	float accepted_us;       /* the last accepted RTT, or 0 */
	uint32_t after_seq;      /* first segment number whose late RTT is accepted */
	bool late;               /* the last RTT was late */
};

struct ccs_rtt_outlier_sample {
	double rtt_us;
	double limit_us;         /* an RTT above this is late */
	double tolerance_us;     /* delay that a queue may add to the last accepted RTT at once */
	uint32_t seq;            /* number of the segment (lower half) */
	uint32_t next_seq;       /* number of the next segment to be sent */
};

/* Forget all samples. */
static inline void ccs_rtt_outlier_init(struct ccs_rtt_outlier *o)
{
	o->late = false;
	o->accepted_us = 0;
}

/* Add a sample; true if it is an outlier, which the algorithm must not see. */
bool ccs_rtt_is_outlier(struct ccs_rtt_outlier *o, const struct ccs_rtt_outlier_sample *sample);

/*
 * Receiver-not-ready filter: an RNR wait can only add to an RTT. So if an RTT is as long as with
 * a long queue, the least of the last four counts. Shorter RTTs are not filtered: the algorithm
 * must see how the RTT moves.
 */
struct ccs_rnr_filter {
	uint32_t last_ns[4];     /* the last RTTs of WRs that consume a receive */
	uint8_t next;            /* index of the next sample, modulo 4 */
};

void ccs_rnr_filter_init(struct ccs_rnr_filter *r);

/* Add a sample; the RTT to use for it. */
double ccs_rnr_filter_us(struct ccs_rnr_filter *r, double rtt_us, double limit_us);

#endif
