/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_DCQCN_NP_H
#define CCS_CC_DCQCN_NP_H
/*
 * DCQCN's notification point (DCQCN 3.1): which packet that arrives with a CE mark
 * makes the receiver send a CNP. Pure, no timer: marks within the interval after a
 * CNP are absorbed, and the first one after it is answered at once, as NICs do it
 * (min_time_between_cnps). The paper's text can also be read as a CNP at the
 * interval's end for what was absorbed; ns3-rdma polls like that.
 */
#include <stdbool.h>

#define CCS_DCQCN_NP_INTERVAL_US 50.0 /* DCQCN 3.1; ConnectX firmware: 4 us */

/* One flow's, in the caller's memory and under its lock. */
struct ccs_dcqcn_np {
	double interval_us;          /* least time between CNPs, >= 0 */
	double next_us;              /* no CNP before */
};

/* A flow that has sent no CNP yet. */
struct ccs_dcqcn_np ccs_dcqcn_np_init(double interval_us);

/* A CE mark came in. true: send a CNP now. Times must not decrease. */
bool ccs_dcqcn_np_ce(struct ccs_dcqcn_np *np, double now_us);

#endif
