/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_JUDGE_H
#define CCFABRIC_JUDGE_H
/* The goals of the UCloud article for one run of a traffic model. */
#include "bench/sim/fabric/fabric.h"
#include "models.h"

/* Goal 1: the least share of a saturated port that is used, or the share of the offered bytes that is
 * delivered. Goal 2: PAUSE frames per port and second. Goal 3: us. */
#define FAB_FULL_MIN 0.95
#define FAB_DELIVERED_MIN 0.99
#define FAB_PAUSES_MAX 5.0
#define FAB_DELAY_MAX_US 80.0
#define FAB_DELAY_MOST_US 40.0  /* in this share of the models: */
#define FAB_DELAY_MOST_SHARE 0.9

struct fab_verdict {
	bool run;
	bool g1, g2, g3, pass;
	double g1_value;         /* share */
	double pauses_per_s;     /* received by the port that gets most */
	double p50_us, p99_us, mean_us, max_us; /* of lossless packets from the NIC to the receiver */
	uint64_t lost;           /* lossless packets for which a switch had no buffer */
	uint64_t packets;
	bool deadlock;
	double simulated_us, wall_s;
};

/* False with a sentence in err if the model names a port that the topology does not have. */
bool fab_judge_run(struct fab_verdict *v, const struct fab_model *m, const struct fab_conf *conf,
		   const struct fab_result *r, char *err, size_t len);

#endif
