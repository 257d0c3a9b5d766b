/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_MARKING_H
#define CCS_FABRIC_MARKING_H
/* Marks of ECN and the thresholds of DCQCN, section 4. Pure. */
#include <stdbool.h>

/*
 * RED marking of DCQCN's congestion point (DCQCN 3.1): on the instantaneous queue,
 * not on an average of it. The caller brings the queue's length and the dice. Lengths may be
 * in any unit that kmin and kmax have. kmin == kmax with any pmax is DCTCP's step: everything above
 * the threshold is marked.
 */
struct ccs_red {
	double kmin, kmax;           /* bytes */
	double pmax;                 /* 0..1, the probability at kmax */
};

/* Probability of a mark: 0 up to kmin, pmax at kmax, 1 above it. */
double ccs_red_probability(const struct ccs_red *red, double qlen_bytes);

/* Whether a packet that finds this queue is to be marked; dice is uniform in [0, 1). */
bool ccs_red_mark(const struct ccs_red *red, double qlen_bytes, double dice);

/*
 * Buffer thresholds of DCQCN, section 4: ECN must mark before PFC pauses, and PFC must pause before
 * the buffer is full. All sizes have one unit, whichever it is.
 */
struct ccs_thresholds {
	double buffer, flight; /* flight: arrives at a port and priority after its PAUSE frame */
	double ports, priorities, beta;
};

/* The rest of the buffer, for queues; 0 or less: there is no buffer for any threshold. */
double ccs_thresholds_rest(const struct ccs_thresholds *t);

/* The largest static t_PFC: all ports and priorities may reach it at the same time. */
double ccs_thresholds_pfc_static(const struct ccs_thresholds *t);

/* The largest dynamic t_PFC while `used` of the buffer is in use. */
double ccs_thresholds_pfc_dynamic(const struct ccs_thresholds *t, double used);

/* t_ECN below a static t_PFC: n egress queues may be the cause of one ingress queue. */
double ccs_thresholds_ecn_static(const struct ccs_thresholds *t);

/* t_ECN must be below this with a dynamic t_PFC, if `per_port` queues of a port fill up. The
 * paper's bound follows from all priorities, not from one. */
double ccs_thresholds_ecn_dynamic(const struct ccs_thresholds *t, double per_port);

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

double ccs_ramp_peak(const struct ccs_ramp *ramp);

/* The largest kmin with which that is at most kmax; below 0 if no kmin is low enough. */
double ccs_ramp_largest_kmin(const struct ccs_ramp *ramp);

#endif
