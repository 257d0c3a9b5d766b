/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_DCQCN_NP_H
#define CCS_CC_DCQCN_NP_H
/*
 * DCQCN's notification point (DCQCN 3.1): whether a packet with a CE mark makes the receiver send a
 * CNP. Marks within the interval after a CNP are absorbed, and the next mark causes a CNP at once,
 * as in NICs (min_time_between_cnps). The paper can also mean a CNP at the end of the interval for
 * absorbed marks; ns3-rdma polls in this way. Pure, no timer.
 */
#include <math.h>
#include <stdbool.h>

#define CCS_DCQCN_NP_INTERVAL_US 50.0 /* DCQCN 3.1; ConnectX firmware: 4 us */

/* State of a flow. */
struct ccs_dcqcn_np {
	double interval_us;          /* least time between CNPs, >= 0 */
	double next_us;              /* earliest time of the next CNP */
};

static inline struct ccs_dcqcn_np ccs_dcqcn_np_init(double interval_us)
{
	return (struct ccs_dcqcn_np){ .interval_us = interval_us, .next_us = -INFINITY };
}

/* A CE mark arrived. True: send a CNP now. Times must not decrease. */
static inline bool ccs_dcqcn_np_ce(struct ccs_dcqcn_np *np, double now_us)
{
	if (now_us < np->next_us)
		return false;
	np->next_us = now_us + np->interval_us;
	return true;
}

#endif
