/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim plot --output FILE.json: the values as counters of the Trace Event Format. A process ID of
 * that format has one process, so the second process with an ID gets another, above all of Linux.
 */
#include <math.h>
#include <search.h>
#include <string.h>

#include "base/json.h"
#include "plot.h"

enum { PIDS = 1 << 22 }; /* PID_MAX_LIMIT of Linux */

static const struct {
	const char *name, *unit;
	double scale;
} counters[PLOT_EXPORTS] = {
	[PLOT_RATE] = { "rate", "bit/s", 1 }, [PLOT_RTT] = { "RTT", "us", 1e6 },
	[PLOT_INFLIGHT] = { "in flight", "bytes", 1 }, [PLOT_QUEUE] = { "queue", "bytes", 1 },
	[PLOT_CNPS] = { "CNPs", "CNPs", 1 }, [PLOT_WINDOW] = { "window", "bytes", 1 },
	[PLOT_ADVICE] = { "advice", "bit/s", 1 },
};

bool plot_is_export(const char *file)
{
	const size_t len = strlen(file);

	return len > 5 && strcmp(file + len - 5, ".json") == 0;
}

/* Times are in us, to a ns: a double of seconds does not represent it. NAN: at no time. */
static void begin_event(struct ccs_json *j, const struct plot_flow *flow, const char *ph, const char *name,
			double t)
{
	ccs_json_object(j, NULL);
	ccs_json_str(j, "ph", ph);
	ccs_json_str(j, "name", name);
	ccs_json_uint(j, "pid", flow->track);
	if (*ph != 'C')
		ccs_json_uint(j, "tid", (uint32_t)flow->id);
	if (!isnan(t))
		ccs_json_num(j, "ts", round(t * 1e9) / 1e3);
}

static void put_name(struct ccs_json *j, const struct plot_flow *flow, const char *what, const char *name)
{
	begin_event(j, flow, "M", what, NAN);
	ccs_json_object(j, "args");
	ccs_json_str(j, "name", name);
	ccs_json_end(j);
	ccs_json_end(j);
}

static int compare_process(const void *a, const void *b)
{
	const struct plot_flow *x = a, *y = b;
	const uint64_t i = x->id >> 32, k = y->id >> 32;

	return x->source != y->source ? (x->source > y->source) - (x->source < y->source) : (i > k) - (i < k);
}

/* The ID of the first flow of the process, or a new ID. Returns whether the process is new. */
static bool choose_track(struct plot_flow *flow, void **processes)
{
	static uint32_t used[PIDS];      /* by how many processes so far */
	struct plot_flow **first = tsearch(flow, processes, compare_process);
	const unsigned pid = flow->pid % PIDS;

	if (first && *first != flow) {
		flow->track = (*first)->track;
		return false;
	}
	flow->track = (pid ? pid : PIDS) + (uint64_t)PIDS * used[pid]++;
	return true;
}

static void keep(void *flow)
{
	(void)flow;
}

void plot_export_begin(struct plot *p)
{
	struct ccs_json *j = p->json;
	void *processes = NULL;

	ccs_json_object(j, NULL);
	ccs_json_str(j, "displayTimeUnit", "ns");
	ccs_json_array(j, "traceEvents");
	for (unsigned i = 0; i < p->n; i++) {
		if (choose_track(p->flow[i], &processes))
			put_name(j, p->flow[i], "process_name", p->flow[i]->process);
		put_name(j, p->flow[i], "thread_name", p->flow[i]->name);
		for (unsigned what = 0; what < PLOT_EXPORTS; what++)
			p->flow[i]->exported[what] = NAN;
	}
	tdestroy(processes, keep);
}

/* A counter keeps its value until the next event. */
void plot_export_value(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v)
{
	char name[192];

	if (v == flow->exported[what])
		return;
	flow->exported[what] = v;
	snprintf(name, sizeof(name), "%s %s", flow->name, counters[what].name);
	begin_event(p->json, flow, "C", name, t);
	ccs_json_object(p->json, "args");
	ccs_json_num(p->json, counters[what].unit, v * counters[what].scale);
	ccs_json_end(p->json);
	ccs_json_end(p->json);
}

void plot_export_instant(struct plot *p, struct plot_flow *flow, const char *name, double t)
{
	if (!p->json || !p->values || !flow->shown)
		return;
	begin_event(p->json, flow, "i", name, t);
	ccs_json_str(p->json, "s", "t");
	ccs_json_end(p->json);
}
