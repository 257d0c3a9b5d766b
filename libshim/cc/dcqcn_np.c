/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/dcqcn_np.h"

#include <math.h>

struct ccs_dcqcn_np ccs_dcqcn_np_init(double interval_us)
{
	return (struct ccs_dcqcn_np){ .interval_us = interval_us, .next_us = -INFINITY };
}

bool ccs_dcqcn_np_ce(struct ccs_dcqcn_np *np, double now_us)
{
	if (now_us < np->next_us)
		return false;
	np->next_us = now_us + np->interval_us;
	return true;
}
