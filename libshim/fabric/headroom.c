/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/headroom.h"

#include <math.h>

#define ROUNDING 1e-9 /* cells: rounding of the last bit must not turn 408 cells into 409 */

double ccs_headroom_cable_us(double metres, double velocity)
{
	return metres / velocity * 1e6;
}

double ccs_headroom_response_us(double rate_bps)
{
	static const struct { double gbps, quanta; } response[] = {
		{ 10, 67 }, { 25, 80 }, { 40, 118 }, { 50, 147 }, { 100, 394 }, { 200, 453 },
		{ 400, 905 }, { 800, 905 },
	};

	for (unsigned i = 0; i < sizeof(response) / sizeof(*response); i++)
		if (rate_bps == response[i].gbps * 1e9)
			return response[i].quanta * 512 / rate_bps * 1e6;
	return NAN;
}

/* Cells that `bits` of the line fill if all frames have k full cells and a byte. */
static double cells_of_split_frames(const struct ccs_headroom *h, double k, double bits)
{
	const double frame = floor(k * h->cell_bytes) + 1;

	return bits * (k + 1) / (8 * (frame + CCS_FRAME_GAP));
}

double ccs_headroom_cells(const struct ccs_headroom *h, double bits)
{
	const double smallest = fmax(h->slot_bits / 8 - CCS_FRAME_GAP, 1);
	const double first = ceil(smallest / h->cell_bytes);
	const double last = floor((h->mtu_bytes - 1) / h->cell_bytes);
	double cells = bits * first / h->slot_bits;

	/* The cells per bit of such frames rise or fall monotonically with k. */
	if (last >= first)
		cells = fmax(cells, fmax(cells_of_split_frames(h, first, bits),
					 cells_of_split_frames(h, last, bits)));
	return ceil(cells - ROUNDING);
}

struct ccs_headroom_need ccs_headroom_need(const struct ccs_headroom *h)
{
	const double frame_us = 8 * h->mtu_bytes / h->rate_bps * 1e6;
	struct ccs_headroom_need need = {
		.tm1_us = h->t0_us / 2 + frame_us, .tr1_us = h->cable_us,
		.tm2_us = h->t0_us / 2 + frame_us, .tr2_us = h->cable_us,
	};

	need.total_us = h->t0_us + 2 * frame_us + 2 * h->cable_us;
	need.cells = (uint64_t)fmin(ccs_headroom_cells(h, need.total_us * 1e-6 * h->rate_bps), 0x1p53);
	need.bytes = (uint64_t)fmin((double)need.cells * h->cell_bytes, 0x1p53);
	return need;
}
