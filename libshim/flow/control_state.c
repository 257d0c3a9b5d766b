/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a flow's algorithm has an effect: the state with its hysteresis. */
#include "flow/control_state.h"

#include <stdbool.h>

#include "cc/minmax.h"

#define LOW 0.75         /* RTTs below this part of the average are low */
#define AVERAGE_OF 16    /* RTTs in the moving average */

const char *const ccs_control_names[] = {
	[CCS_CONTROL_OK] = "ok", [CCS_CONTROL_AT_FLOOR] = "at-floor",
	[CCS_CONTROL_AT_LIMIT] = "at-limit",
};

static enum ccs_control shown_by(struct ccs_control_state *c, enum ccs_control shown, double rtt_us)
{
	const bool low = rtt_us < LOW * c->average_us;

	c->average_us += ((float)rtt_us - c->average_us) / AVERAGE_OF;
	return low ? CCS_CONTROL_OK : shown;
}

void ccs_control_sample(struct ccs_control_state *c, enum ccs_control shown, double rtt_us,
			uint64_t last_ns, uint64_t now_ns)
{
	shown = shown_by(c, shown, rtt_us);
	if (shown == c->now) {
		c->samples = 0;
		return;
	}
	if (!c->samples || shown != c->next || now_ns - last_ns > CCS_CONTROL_PAUSE_NS) {
		c->next = shown;
		c->since_ns = now_ns;
		c->samples = 1;
		return;
	}
	c->samples += c->samples < CCS_CONTROL_SAMPLES;
	if (c->samples < CCS_CONTROL_SAMPLES ||
	    (double)(now_ns - c->since_ns) <
	    ccs_max(CCS_CONTROL_NS, 1e3 * CCS_CONTROL_RTTS * (double)c->average_us))
		return;
	c->now = shown;
	c->samples = 0;
}
