/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccfabric.h"

#include <math.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"

static bool has_other_flows(const struct fab_conf *c)
{
	for (unsigned i = 0; i < c->flows->n; i++)
		if (!c->flows->flow[i].group)
			return true;
	return false;
}

/* The share of the measured time without the pauses between operations. */
static double share_of_time(const struct fab_conf *c, const struct fab_result *r)
{
	const double measured = (double)(r->end - r->begin - c->warm);
	double sum = 0;

	for (unsigned i = 0; i < r->operations; i++)
		sum += (double)r->operation[i].length;
	return has_other_flows(c) || sum <= 0 ? 1 : fmin(sum / measured, 1);
}

static double jain(const struct fab_conf *c, const struct fab_result *r)
{
	const bool others = has_other_flows(c);
	const unsigned n = others ? c->flows->n : c->topology->nodes;
	double *bytes = mem_zeroed(n, sizeof(*bytes)), sum = 0, squares = 0;
	size_t counted = 0;

	for (unsigned i = 0; i < c->flows->n; i++) {
		const struct fab_flow_spec *f = &c->flows->flow[i];

		if (!f->unmeasured && !(others && f->group))
			bytes[others ? i : f->dst] += (double)r->flow[f->id].acked;
	}
	for (unsigned i = 0; i < n; i++) {
		const bool takes_part = others ? !c->flows->flow[i].group : bytes[i] > 0;

		counted += takes_part;
		sum += takes_part ? bytes[i] : 0;
		squares += takes_part ? bytes[i] * bytes[i] : 0;
	}
	free(bytes);
	return jain_index(sum, squares, counted);
}

struct fab_figures fab_figures(const struct fab_conf *conf, const struct fab_result *r)
{
	const struct fab_outcome outcome = { .conf = conf, .result = r };
	struct fab_figures f = {
		.jain = jain(conf, r), .operations = fab_operations(r),
		.pauses = (double)r->pauses, .drops = (double)r->dropped,
	};
	uint32_t port;

	for (uint32_t i = 0; i < 2 * conf->topology->links; i++)
		f.utilisation = fmax(f.utilisation, r->port[i].utilisation);
	f.utilisation = fmin(f.utilisation / share_of_time(conf, r), 1);
	if (fab_longest_queues(&outcome, true, &port, 1)) {
		f.queue_p99 = r->port[port].queue_p99;
		f.queue_mean = r->port[port].queue_mean;
	}
	return f;
}
