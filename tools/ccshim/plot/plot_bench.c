/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads results of ccbench: the goodput and the queue of each run over time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/json_read.h"
#include "tools/common/slurp.h"
#include "plot.h"

struct curve {
	double bin[1 << 14];
	unsigned n, next;        /* next is the bin of the next value */
};

struct reader {
	struct plot *p;
	unsigned source, runs;
	char cc[48];
	double bin_s;
	struct curve goodput, queue; /* goodput is the sum of the flows */
	bool failed;             /* for another reason than the text */
};

static bool read_bin(struct json_read *j, void *arg)
{
	struct curve *c = arg;
	double v;

	if (!json_number(j, &v) || c->next == sizeof(c->bin) / sizeof(*c->bin))
		return false;
	if (c->next == c->n)
		c->bin[c->n++] = v;
	else if (!isnan(v)) /* null, which is no value */
		c->bin[c->next] = v + (isnan(c->bin[c->next]) ? 0 : c->bin[c->next]);
	c->next++;
	return true;
}

static bool flow_member(struct json_read *j, const char *key, void *arg)
{
	struct reader *r = arg;

	r->goodput.next = 0;
	return strcmp(key, "rate_bps") == 0 ? json_array(j, read_bin, &r->goodput) : json_skip(j);
}

static bool read_flow(struct json_read *j, void *arg)
{
	return json_object(j, flow_member, arg);
}

static bool run_member(struct json_read *j, const char *key, void *arg)
{
	struct reader *r = arg;

	if (strcmp(key, "cc") == 0)
		return json_string(j, r->cc, sizeof(r->cc));
	if (strcmp(key, "bin_s") == 0)
		return json_number(j, &r->bin_s);
	if (strcmp(key, "flows") == 0)
		return json_array(j, read_flow, r);
	return strcmp(key, "queue_series_bytes") == 0 ? json_array(j, read_bin, &r->queue) : json_skip(j);
}

static bool read_run(struct json_read *j, void *arg)
{
	struct reader *r = arg;
	struct plot_flow *flow;

	strcpy(r->cc, "?");
	r->goodput.n = r->queue.n = r->queue.next = 0;
	r->bin_s = NAN;
	if (!json_object(j, run_member, r))
		return false;
	if ((r->goodput.n || r->queue.n) && !(r->bin_s > 0 && r->bin_s < 1e9))
		return false;
	flow = plot_flow(r->p, r->source, r->runs++);
	r->failed = !flow;
	if (flow)
		memcpy(flow->label, r->cc, sizeof(r->cc));
	for (unsigned i = 0; flow && i < r->goodput.n; i++) /* each value is of an interval that ends then */
		r->failed |= plot_add(r->p, flow, PLOT_RATE, (i + 1) * r->bin_s, r->goodput.bin[i]);
	for (unsigned i = 0; flow && i < r->queue.n; i++)
		r->failed |= plot_add(r->p, flow, PLOT_QUEUE, (i + 1) * r->bin_s, r->queue.bin[i]);
	return !r->failed;
}

static bool top_member(struct json_read *j, const char *key, void *arg)
{
	return strcmp(key, "runs") == 0 ? json_array(j, read_run, arg) : json_skip(j);
}

int plot_read_bench(struct plot *p, unsigned source, const char *file)
{
	static struct reader r;
	char *text = slurp(file);
	struct json_read j = { .text = text, .at = text };
	bool ok;

	r.p = p;
	r.source = source;
	r.runs = 0;
	r.failed = false;
	ok = text && json_object(&j, top_member, &r) && json_end(&j);
	p->t0 = 0; /* the beginning of the measurement, before the first value */
	if (!text)
		tool_error("plot", "%s: %m", file);
	else if (!ok && !r.failed)
		tool_error("plot", "%s: not a result of ccbench, near character %td", file,
			   j.at - j.text + 1);
	free(text);
	return ok ? 0 : -1;
}
