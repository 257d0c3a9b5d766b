/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_HOST_JITTER_H
#define CCS_CC_HOST_JITTER_H
/*
 * The hosts' jitter, for an algorithm that knows by other feedback than RTTs whether a link is
 * full: as long as none is, RTTs vary for the hosts, or because acknowledgements wait behind data
 * of the other direction.
 */
#include <stdbool.h>

#include "cc/cc.h"
#include "cc/jitter.h"
#include "cc/minmax.h"

#define CCS_HOST_JITTER_SAMPLES 100        /* RTTs before the first estimate, */
#define CCS_HOST_JITTER_FULL_SAMPLES 6     /* after a link was full, whose queue drains, */
#define CCS_HOST_JITTER_LOSS_SAMPLES 1000  /* and after a loss, which leaves */
#define CCS_HOST_JITTER_LOSS_SHARE 0.5     /* of what was learnt before */
#define CCS_HOST_JITTER_DECAY (1 / 256.0)  /* per RTT at a full link */

struct ccs_host_jitter {
	struct ccs_jitter rtts;
	float us;                    /* the most that was seen while no link was full */
	int wanted;                  /* RTTs before the next estimate */
};

static inline void ccs_host_jitter_init(struct ccs_host_jitter *j)
{
	*j = (struct ccs_host_jitter){ .wanted = CCS_HOST_JITTER_SAMPLES };
}

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

/* By the next estimate RTTs that contain the retransmission are forgotten. */
static inline void ccs_host_jitter_loss(struct ccs_host_jitter *j)
{
	j->wanted = CCS_HOST_JITTER_LOSS_SAMPLES;
	j->us *= (float)CCS_HOST_JITTER_LOSS_SHARE;
}

#endif
