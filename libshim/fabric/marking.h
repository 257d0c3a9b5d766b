/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_MARKING_H
#define CCS_FABRIC_MARKING_H
/*
 * The effects of ECN settings: the CNPs of a marking probability, and how far a queue grows
 * if the switch marks on an average that its software polls. Pure.
 */
#include "fabric/red.h"

/* An average of the queue, as switches compute it. The queue itself if interval_us is 0. */
struct ccs_polled_queue {
	double interval_us, weight; /* average += weight * (queue - average), once per interval */
	double average, next_us;
};

/* The average at this time, at which the queue has this length. Times must not decrease. */
double ccs_polled_queue(struct ccs_polled_queue *a, double now_us, double queue);

/* The probability above which a flow of pps packets/s is not sent much more CNPs: one per CNP
 * interval. At most 1. */
double ccs_pmax_effective(double pps, double cnp_interval_us);

/* CNPs/s of a flow if its packets are marked with this probability: the interval, then the wait for
 * a mark. */
double ccs_cnp_rate(double probability, double pps, double cnp_interval_us);

/* A queue that grows from empty while its senders have not been slowed down. */
struct ccs_ramp {
	struct ccs_red red;
	double growth;              /* growth of the queue per us, in red's unit */
	double pps;                 /* packets that leave the port, per second */
	double poll_us, weight;     /* 0: marks depend on the queue itself; weight not below 1/1024 */
	double marks;               /* expected number of marks after which senders do slow down */
	double reaction_us;         /* from then until the queue stops growing */
};

/* The queue's greatest length. */
double ccs_ramp_peak(const struct ccs_ramp *ramp);

/* The largest kmin with which that is at most kmax; below 0 if no kmin is low enough. */
double ccs_ramp_largest_kmin(const struct ccs_ramp *ramp);

#endif
