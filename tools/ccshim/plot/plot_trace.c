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
	       plot_add(p, flow, PLOT_ADVICE, t, ack->advised_rate > 0 ? ack->advised_rate : NAN) ||
	       plot_add(p, flow, PLOT_QUEUE, t, longest_queue(&row->ev)) ? -1 : 0;
}

static int add_row(struct plot *p, struct plot_flow *flow, const struct replay_file *f,
		   const struct replay_row *row)
{
	const double t = time_of(p, flow, row);

	flow->rows++;
	if (row->ev.kind == CCS_CC_EVENT_START || row->ev.kind == CCS_CC_EVENT_PATH)
		flow->max_rate = row->ev.max_rate;
	if (plot_add(p, flow, PLOT_RATE, t, flow->max_rate > 0 ? fmin(row->ev.out.rate, flow->max_rate) :
								  row->ev.out.rate))
		return -1;
	if (plot_add(p, flow, PLOT_WINDOW, t, row->ev.out.window > 0 ? row->ev.out.window : NAN))
		return -1;
	if (row->ev.kind != CCS_CC_EVENT_ACK && row->ev.kind != CCS_CC_EVENT_SEND &&
	    row->ev.kind != CCS_CC_EVENT_TICK)
		plot_export_instant(p, flow, row->event, t);
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

static void name_peer(void *arg, unsigned process, uint32_t qp, const char *address)
{
	const struct rows_of *of = arg;
	struct plot_flow *flow = plot_flow(of->plot, of->source, (uint64_t)process << 32 | qp);

	if (flow)
		snprintf(flow->peer, sizeof(flow->peer), "%s", address);
}

/* Name the processes of the file's flows, in the legend if there are several. */
static void name_processes(struct plot *p, unsigned source, const struct replay_file *f)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct plot_flow *flow = p->flow[i];
		const struct replay_process *of;
		char rank[24] = "";

		if (flow->source != source || flow->id >> 32 >= f->processes)
			continue;
		of = &f->process[flow->id >> 32];
		if (*of->rank)
			snprintf(rank, sizeof(rank), "rank %s ", of->rank);
		flow->pid = of->pid;
		snprintf(flow->process, sizeof(flow->process), "%s %s%s%s", of->program, rank,
			 *of->host ? "on " : "", of->host);
		if (f->processes > 1)
			snprintf(flow->owner, sizeof(flow->owner), "%.15s[%u] %s", of->program, of->pid, rank);
		else
			memcpy(flow->owner, rank, sizeof(rank));
	}
}

static int read_rows(struct plot *p, unsigned source, struct replay_file *f)
{
	struct replay_row row;
	struct plot_flow *flow;
	int rc;

	while ((rc = replay_next(f, &row)) == 1) {
		flow = plot_flow(p, source, (uint64_t)row.process << 32 | row.qp);
		if (!flow || add_row(p, flow, f, &row))
			return -1;
	}
	if (!p->values) { /* once per file */
		replay_report_incomplete(f);
		name_processes(p, source, f);
	}
	return rc;
}

static bool has_flows(const struct plot *p, unsigned source)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->flow[i]->source == source)
			return true;
	return false;
}

/* The trace of a process without flows may be empty. */
int plot_read_trace(struct plot *p, unsigned source, const char *file)
{
	static struct replay_file f;
	struct rows_of of = { .plot = p, .source = source };
	int rc;

	if (p->values && !has_flows(p, source))
		return 0;
	f = (struct replay_file){
		.cmd = "plot", .whole_lines = true, .handle_peer = name_peer, .arg = &of,
	};
	rc = replay_open(&f, file);
	if (f.empty)
		rc = 0;
	else if (rc && f.file)
		tool_error("plot", "%s is neither a trace nor a recording, see ccshim-plot(1)", file);
	else if (!rc)
		rc = read_rows(p, source, &f);
	replay_close(&f);
	return rc;
}
