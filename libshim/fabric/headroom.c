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

/* ceil(T * rate / slot) is n for T in ((n - 1) * slot / rate, n * slot / rate]. */
struct ccs_interval ccs_headroom_solve_tm(const struct ccs_headroom_row *row, double slot_bits)
{
	const double slot_us = slot_bits / row->rate_bps * 1e6;

	return (struct ccs_interval){ (row->cells - 1) * slot_us - 2 * row->cable_us,
				      row->cells * slot_us - 2 * row->cable_us };
}

struct ccs_interval ccs_headroom_solve_t0(const struct ccs_headroom_row *row, double slot_bits,
					  double frame_bytes)
{
	const struct ccs_interval tm = ccs_headroom_solve_tm(row, slot_bits);
	const double frames_us = 2 * 8 * frame_bytes / row->rate_bps * 1e6;

	return (struct ccs_interval){ tm.above - frames_us, tm.most - frames_us };
}

struct ccs_interval ccs_interval_common(struct ccs_interval a, struct ccs_interval b)
{
	return (struct ccs_interval){ fmax(a.above, b.above), fmin(a.most, b.most) };
}
