/* SPDX-License-Identifier: BSD-2-Clause */
/* The base RTT as a windowed minimum; see base_rtt.h. */
#include <math.h>

#include "cc/minmax.h"
#include "flow/base_rtt.h"

#define WINDOW_NS 10000000000ull

void ccs_base_rtt_init(struct ccs_base_rtt *b, uint64_t now_ns)
{
	b->window_ns = now_ns;
	b->any_us[0] = b->any_us[1] = INFINITY;
	b->whole_us[0] = b->whole_us[1] = INFINITY;
}

static void begin_window_if_due(struct ccs_base_rtt *b, uint64_t now_ns)
{
	if (now_ns - b->window_ns <= WINDOW_NS)
		return;
	b->any_us[1] = b->any_us[0];
	b->whole_us[1] = b->whole_us[0];
	b->any_us[0] = b->whole_us[0] = INFINITY;
	b->window_ns = now_ns;
}

void ccs_base_rtt_add(struct ccs_base_rtt *b, double rtt_us, double rest_us, bool whole,
		      uint64_t now_ns)
{
	begin_window_if_due(b, now_ns);
	b->any_us[0] = ccs_min(b->any_us[0], rtt_us + rest_us);
	if (whole)
		b->whole_us[0] = (float)ccs_min(b->whole_us[0], rtt_us);
}

double ccs_base_rtt_us(const struct ccs_base_rtt *b, double segment_us)
{
	const double any = ccs_min(b->any_us[0], b->any_us[1]);
	const double whole = ccs_min(b->whole_us[0], b->whole_us[1]);

	return whole < INFINITY ? ccs_min(whole, any + segment_us) : any;
}
