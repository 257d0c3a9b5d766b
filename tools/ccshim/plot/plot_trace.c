/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the flows of a trace. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "plot.h"
#include "tools/ccshim/replay/replay.h"

/* On the time line of all. Where the host's clock was not recorded, a flow that begins does
 * so when the event before it was. */
static double time_of(struct plot *p, struct plot_flow *flow, const struct replay_row *row)
{
	const double t = row->ev.ack.now_us / 1e6;

	if (!isnan(row->clock_us))
		return row->clock_us / 1e6;
	if (row->ev.kind == CCS_CC_EVENT_START || !flow->rows)
		flow->origin = p->latest - t;
	p->latest = fmax(p->latest, flow->origin + t);
	return flow->origin + t;
}

static double longest_queue(const struct ccs_cc_event *ev)
{
	double most = NAN;

	for (unsigned i = 0; i < ev->ack.nhops; i++)
		most = fmax(most, (double)ev->hop[i].qlen_bytes);
	return most;
}

static int add_ack(struct plot *p, struct plot_flow *flow, double t, const struct replay_row *row,
		   bool inflight)
{
	const struct ccs_cc_ack *ack = &row->ev.ack;
	const double rtt = ack->rtt_us > 0 ? ack->rtt_us / 1e6 : NAN;

	flow->bytes += ack->bytes;
	return plot_add_to_part(p, flow, PLOT_RTT, t, rtt) || plot_add(p, flow, PLOT_RTT, t, rtt) ||
	       plot_add_to_part(p, flow, PLOT_INFLIGHT, t, inflight ? ack->inflight : NAN) ||
	       plot_add(p, flow, PLOT_INFLIGHT, t, inflight ? ack->inflight : NAN) ||
	       plot_add(p, flow, PLOT_QUEUE, t, longest_queue(&row->ev)) ? -1 : 0;
}

static int add_row(struct plot *p, struct plot_flow *flow, const struct replay_file *f,
		   const struct replay_row *row)
{
	const double t = time_of(p, flow, row);

	flow->rows++;
	if (*f->rank)
		snprintf(flow->owner, sizeof(flow->owner), "rank %s ", f->rank);
	if (row->ev.kind == CCS_CC_EVENT_START || row->ev.kind == CCS_CC_EVENT_PATH)
		flow->max_rate = row->ev.max_rate;
	if (plot_add(p, flow, PLOT_RATE, t, flow->max_rate > 0 ? fmin(row->ev.out.rate, flow->max_rate) :
								  row->ev.out.rate))
		return -1;
	switch (row->ev.kind) {
	case CCS_CC_EVENT_ACK:
		return add_ack(p, flow, t, row, f->has[COL_INFLIGHT]);
	case CCS_CC_EVENT_CNP:
		return plot_add(p, flow, PLOT_CNPS, t, ++flow->cnps);
	default:
		return 0;
	}
}

struct rows_of {
	struct plot *plot;
	unsigned source;
};

static void name_peer(void *arg, uint32_t qp, const char *address)
{
	const struct rows_of *of = arg;
	struct plot_flow *flow = plot_flow(of->plot, of->source, qp);

	if (flow)
		snprintf(flow->peer, sizeof(flow->peer), "%s", address);
}

/* Report an incomplete trace, once per file. */
static void report_incomplete(const struct plot *p, const struct replay_file *f)
{
	if (!p->values && f->cut)
		tool_error("plot", "%s ends in the middle of a line, which is ignored; its process "
			   "was probably killed", f->name);
	if (!p->values && f->lost)
		tool_error("plot", "%s: %" PRIu64 " events were dropped when it was recorded", f->name,
			   f->lost);
}

static int read_rows(struct plot *p, unsigned source, struct replay_file *f)
{
	struct replay_row row;
	struct plot_flow *flow;
	int rc;

	while ((rc = replay_next(f, &row)) == 1) {
		flow = plot_flow(p, source, row.has_qp ? row.qp : 0);
		if (!flow || add_row(p, flow, f, &row))
			return -1;
	}
	report_incomplete(p, f);
	return rc;
}

int plot_read_trace(struct plot *p, unsigned source, const char *file)
{
	static struct replay_file f;
	struct rows_of of = { .plot = p, .source = source };
	int rc;

	f = (struct replay_file){
		.cmd = "plot", .whole_lines = true, .handle_peer = name_peer, .arg = &of,
	};
	rc = replay_open(&f, file);
	if (rc && f.file)
		tool_error("plot", "%s is neither a trace nor a recording, see ccshim-plot(1)", file);
	else if (!rc)
		rc = read_rows(p, source, &f);
	replay_close(&f);
	return rc;
}
