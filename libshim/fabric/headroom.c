/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/headroom.h"

#include <math.h>

#define ROUNDING 1e-9 /* cells: rounding of the last bit must not turn 408 cells into 409 */

double ccs_headroom_cable_us(double metres, double velocity)
{
	return metres / velocity * 1e6;
}

struct ccs_headroom_need ccs_headroom_need(const struct ccs_headroom *h)
{
	const double frame_us = 8 * h->mtu_bytes / h->rate_bps * 1e6;
	struct ccs_headroom_need need = {
		.tm1_us = h->t0_us / 2 + frame_us, .tr1_us = h->cable_us,
		.tm2_us = h->t0_us / 2 + frame_us, .tr2_us = h->cable_us,
	};

	need.total_us = h->t0_us + 2 * frame_us + 2 * h->cable_us;
	need.cells = (uint64_t)fmin(ceil(need.total_us * 1e-6 * h->rate_bps / h->slot_bits - ROUNDING),
				    0x1p53);
	need.bytes = (uint64_t)fmin((double)need.cells * h->cell_bytes, 0x1p53);
	return need;
}
