/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_HOST_JITTER_H
#define CCS_CC_HOST_JITTER_H
/*
 * Jitter of the hosts, for an algorithm that knows from other feedback than RTTs whether a link is
 * full. While no link is full, RTTs vary because hosts are late, or because acknowledgements wait
 * for data of the other direction. rcp has another rule with some of these constants, because a
 * link that is used as advised is almost full.
 */
#include <stdbool.h>

#include "cc/cc.h"
#include "cc/jitter.h"
#include "cc/minmax.h"

#define CCS_HOST_JITTER_SAMPLES 100        /* RTTs before the first estimate */
#define CCS_HOST_JITTER_FULL_SAMPLES 6     /* RTTs after a link was full, whose queue drains */
#define CCS_HOST_JITTER_LOSS_SAMPLES 1000  /* RTTs after a loss */
#define CCS_HOST_JITTER_LOSS_SHARE 0.5     /* share of the estimate that a loss leaves */
#define CCS_HOST_JITTER_DECAY (1 / 256.0)  /* decay of the estimate per RTT at a full link */

struct ccs_host_jitter {
	struct ccs_jitter rtts;
	float us;                    /* largest estimate while no link was full */
	int wanted;                  /* RTTs before the next estimate */
};

static inline void ccs_host_jitter_init(struct ccs_host_jitter *j)
{
	*j = (struct ccs_host_jitter){ .wanted = CCS_HOST_JITTER_SAMPLES };
}

/* RTTs at a full link do not count. */
static inline void ccs_host_jitter_add(struct ccs_host_jitter *j, const struct ccs_cc_ack *ack,
				       bool full)
{
	if (!(ack->rtt_us > 0 && ack->rtt_us < INFINITY))
		return;
	if (full) {
		j->us *= 1 - (float)CCS_HOST_JITTER_DECAY;
		if (j->wanted < CCS_HOST_JITTER_FULL_SAMPLES)
			j->wanted = CCS_HOST_JITTER_FULL_SAMPLES;
		return;
	}
	ccs_jitter_add(&j->rtts, ack->rtt_us);
	j->wanted -= j->wanted > 0;
	if (j->wanted == 0)
		j->us = fmaxf(j->us, (float)ccs_jitter_us(&j->rtts));
}

/* The next estimate contains no RTT of a retransmission. */
static inline void ccs_host_jitter_loss(struct ccs_host_jitter *j)
{
	j->wanted = CCS_HOST_JITTER_LOSS_SAMPLES;
	j->us *= (float)CCS_HOST_JITTER_LOSS_SHARE;
}

#endif
