/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides what limits a flow, and its share; and the limits of a tenant. */
#include "stat.h"

#include <math.h>

#include "base/text.h"
#include "base/units.h"

/* Below this share of its time at the gate, a flow is limited by its application. */
#define GATED 0.1
/* From this share of its rate on, a flow with a full window is limited by the rate all the same. */
#define FULL_RATE 0.9

const char *const stat_limits[] = {
	[STAT_IDLE] = "idle", [STAT_APPLICATION] = "app", [STAT_RATE] = "rate", [STAT_WINDOW] = "window",
	[STAT_TENANT_CAP] = "tenant cap",
	[STAT_OBSERVED] = "none", [STAT_UNCONTROLLED] = "uncontrolled",
};

/* Limited flows are bold, idle ones faint, uncontrolled ones red. */
const char *const stat_styles[] = {
	[STAT_IDLE] = "\033[2m", [STAT_APPLICATION] = "", [STAT_RATE] = "\033[1m", [STAT_WINDOW] = "\033[1m",
	[STAT_TENANT_CAP] = "\033[1m",
	[STAT_OBSERVED] = "", [STAT_UNCONTROLLED] = "\033[31m",
};

enum stat_limit stat_limit_of(const struct stat_qp *qp, double since_s)
{
	const struct ccs_stats_qp *q = &qp->q;
	const double goodput = 8 * (double)q->bytes / since_s;

	if (qp->sums)
		return qp->limit;
	if (*q->uncontrolled)
		return STAT_UNCONTROLLED;
	if (!q->bytes && !q->inflight && !q->queued)
		return STAT_IDLE;
	if (!q->enforced)
		return STAT_OBSERVED;
	if ((double)q->gated_ns / 1e9 < GATED * since_s)
		return STAT_APPLICATION;
	/* The next segment does not fit into the window; at full rate, it just fills it now and then. */
	if (q->inflight + q->segment > q->window && goodput < FULL_RATE * (double)q->rate)
		return STAT_WINDOW;
	return q->tenant_cap && q->rate >= q->tenant_cap ? STAT_TENANT_CAP : STAT_RATE;
}

double stat_share(const struct stat_qp *qp, double since_s)
{
	return since_s > 0 && qp->q.line_rate ? 8 * (double)qp->q.bytes / since_s / (double)qp->q.line_rate : NAN;
}

void stat_format_terms(char *cell, size_t len, const struct stat_process *p)
{
	const struct ccs_terms *t = &p->terms;
	char rate[CCS_UNIT_LEN];
	const char *none = *p->tenant && !(t->weight > 0) ? "?" : "-"; /* users see no terms */

	*cell = '\0';
	if (t->cap > 0)
		ccs_append(cell, len, "cap=%s", ccs_format_unit(t->cap, CCS_UNIT_RATE, rate, sizeof(rate)));
	if (t->guarantee > 0)
		ccs_append(cell, len, "%sguarantee=%s", *cell ? " " : "",
			   ccs_format_unit(t->guarantee, CCS_UNIT_RATE, rate, sizeof(rate)));
	if (t->floor > 0)
		ccs_append(cell, len, "%sbackground", *cell ? " " : "");
	if (!*cell)
		snprintf(cell, len, "%s", none);
}
