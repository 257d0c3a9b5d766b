/* SPDX-License-Identifier: BSD-2-Clause */
#include "flows.h"

#include <math.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "bench/sim/fabric/topology.h"
#include "tools/common/words.h"

#define FLOW_LINE "SOURCE DESTINATION PRIORITY PORT BYTES SECONDS"
#define SECONDS_MAX 1e6 /* in ps, this is far below 2^63 */

enum { NODES_MAX = 1 << 16, PRIORITIES = 8, PORTS = 1 << 16 };

void fab_flows_add(struct fab_flows *f, struct fab_flow_spec flow)
{
	if ((f->n & (f->n - 1)) == 0)
		f->flow = mem_resized(f->flow, f->n ? 2 * (size_t)f->n : 1, sizeof(flow));
	flow.id = f->n;
	f->flow[f->n++] = flow;
}

static int by_start(const void *a, const void *b)
{
	const struct fab_flow_spec *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void fab_flows_sort(struct fab_flows *f)
{
	if (f->n)
		qsort(f->flow, f->n, sizeof(*f->flow), by_start);
}

static bool is_host(const struct topology *t, unsigned long long node)
{
	return node < t->nodes && !t->is_switch[node];
}

static bool read_flow(struct words *w, const struct topology *t, struct fab_flow_spec *flow)
{
	unsigned long long src, dst, priority, port, size;
	double start;

	if (!words_line(w, "a flow is missing: " FLOW_LINE) ||
	    !words_number(w, "a node", NODES_MAX, &src) ||
	    !words_number(w, "a node", NODES_MAX, &dst) ||
	    !words_number(w, "a priority", PRIORITIES, &priority) ||
	    !words_number(w, "a port", PORTS, &port) ||
	    !words_number(w, "the flow's bytes", 1ull << 40, &size))
		return false;
	if (!words_quantity(w, "time of the flow's start in seconds", CCS_UNIT_NONE, &start) ||
	    !words_end_line(w, FLOW_LINE))
		return false;
	if (start > SECONDS_MAX)
		return words_refuse(w, "the flow starts after more than %g seconds", SECONDS_MAX);
	if (src == dst || !size)
		return words_refuse(w, src == dst ? "the flow's source is its destination"
					      : "the flow has no bytes");
	if (!is_host(t, src) || !is_host(t, dst))
		return words_refuse(w, "node %llu is no host of the topology", is_host(t, src) ? dst : src);
	*flow = (struct fab_flow_spec){
		.src = (unsigned)src, .dst = (unsigned)dst, .priority = (unsigned)priority,
		.port = (unsigned)port, .size = size, .start = (uint64_t)llround(start * 1e12),
	};
	return true;
}

static bool read_all(struct words *w, const struct topology *t, struct fab_flows *f)
{
	unsigned long long n;

	if (!words_line(w, "the file is empty: the number of flows is missing") ||
	    !words_number(w, "the number of flows", 1ull << 28, &n) ||
	    !words_end_line(w, "the number of flows, before a line for each: " FLOW_LINE))
		return false;
	while (n--) {
		struct fab_flow_spec flow;

		if (!read_flow(w, t, &flow))
			return false;
		fab_flows_add(f, flow);
	}
	return words_end_file(w, "the flows that its first line counts");
}

bool fab_flows_read(struct fab_flows *f, const char *path, const struct topology *t, char *err, size_t len)
{
	struct words w;
	bool ok;

	*f = (struct fab_flows){ 0 };
	ok = words_open(&w, path, err, len) && read_all(&w, t, f);
	words_close(&w);
	if (ok)
		fab_flows_sort(f);
	else
		fab_flows_free(f);
	return ok;
}

void fab_flows_free(struct fab_flows *f)
{
	free(f->flow);
	*f = (struct fab_flows){ 0 };
}
