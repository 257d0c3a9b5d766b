/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/headroom.h"

#include <math.h>

#define ROUNDING 1e-9 /* cells: rounding of the last bit must not turn 408 cells into 409 */

/* Preamble and gap around a frame, and the smallest frame with them. */
enum { GAP_BITS = 160, PAUSE_BITS = 512 + GAP_BITS };

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

/* Delays in bit times that 802.3 and 802.1Q allow, from a secondary source: check them against the
 * standards before you rely on them. */
static const struct standard {
	double rate_bps, interface_bits, response_bits;
} standard[] = {
	{ 25e9, 6144, 40960 },
	{ 100e9, 122880, 201728 },
};

double ccs_headroom_standard_bits(double rate_bps, double cable_us, double frame_bytes)
{
	for (unsigned i = 0; i < sizeof(standard) / sizeof(*standard); i++)
		if (standard[i].rate_bps == rate_bps)
			return 2 * (8 * frame_bytes + GAP_BITS) + PAUSE_BITS +
			       2 * cable_us * 1e-6 * rate_bps + 2 * standard[i].interface_bits +
			       standard[i].response_bits;
	return NAN;
}

/* SONiC, pg_profile_lookup.ini of switches with cells of 208 bytes. */
const struct ccs_headroom_published ccs_headroom_sonic_100g[] = {
	{ 5, 165568, 208 }, { 40, 177632, 208 }, { 300, 268736, 208 },
};
const unsigned ccs_headroom_sonic_100g_rows =
	sizeof(ccs_headroom_sonic_100g) / sizeof(*ccs_headroom_sonic_100g);
