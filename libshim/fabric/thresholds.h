/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_THRESHOLDS_H
#define CCS_FABRIC_THRESHOLDS_H
/*
 * Buffer thresholds of DCQCN, section 4: ECN must mark before PFC pauses, and PFC must pause before
 * the buffer is full. All sizes have one unit, whichever it is. Pure.
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

#endif
