/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads results of ccbench: the goodput and the queue of each run over time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/json_read.h"
#include "tools/common/slurp.h"
#include "plot.h"

struct curve {
	double *bin;
	size_t n, next;          /* next is the bin of the next value */
};

struct run {
	struct plot *p;
	unsigned source, number;
	char cc[48];
	double bin_s;
	struct curve goodput, queue; /* goodput is the sum of the flows */
	bool failed;             /* for another reason than the text */
};

/* Add to what other flows have in the bin. null is no value. */
static bool read_bin(struct json_read *j, void *arg)
{
	struct curve *c = arg;
	double v;

	if (!json_number(j, &v))
		return false;
	if (c->next == c->n) {
		double *bin = reallocarray(c->bin, c->n + 1, sizeof(*bin));

		if (!bin)
			return false;
		c->bin = bin;
		c->bin[c->n++] = NAN;
	}
	if (!isnan(v))
		c->bin[c->next] = v + (isnan(c->bin[c->next]) ? 0 : c->bin[c->next]);
	c->next++;
	return true;
}

static bool flow_member(struct json_read *j, const char *key, void *arg)
{
	struct run *r = arg;

	r->goodput.next = 0;
	return strcmp(key, "rate_bps") == 0 ? json_array(j, read_bin, &r->goodput) : json_skip(j);
}

static bool read_flow(struct json_read *j, void *arg)
{
	return json_object(j, flow_member, arg);
}

static bool run_member(struct json_read *j, const char *key, void *arg)
{
	struct run *r = arg;

	if (strcmp(key, "cc") == 0)
		return json_string(j, r->cc, sizeof(r->cc));
	if (strcmp(key, "bin_s") == 0)
		return json_number(j, &r->bin_s);
	if (strcmp(key, "flows") == 0)
		return json_array(j, read_flow, r);
	return strcmp(key, "queue_series_bytes") == 0 ? json_array(j, read_bin, &r->queue) : json_skip(j);
}

/* Values are of intervals, which end at their times. */
static int add_curve(struct run *r, struct plot_flow *flow, enum plot_what what, const struct curve *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->n && r->bin_s > 0 && !rc; i++)
		rc = plot_add(r->p, flow, what, (double)(i + 1) * r->bin_s, c->bin[i]);
	return rc;
}

/* The runs keep their order. */
static bool read_run(struct json_read *j, void *arg)
{
	struct run *r = arg;
	struct plot_flow *flow;
	bool ok;

	r->bin_s = NAN;
	r->goodput = r->queue = (struct curve){ 0 };
	*r->cc = '\0';
	ok = json_object(j, run_member, r);
	flow = ok ? plot_flow(r->p, r->source, r->number++) : NULL;
	if (flow)
		snprintf(flow->label, sizeof(flow->label), "%s", *r->cc ? r->cc : "?");
	r->failed = ok && (!flow || add_curve(r, flow, PLOT_RATE, &r->goodput) ||
			   add_curve(r, flow, PLOT_QUEUE, &r->queue));
	free(r->goodput.bin);
	free(r->queue.bin);
	return ok && !r->failed;
}

static bool top_member(struct json_read *j, const char *key, void *arg)
{
	return strcmp(key, "runs") == 0 ? json_array(j, read_run, arg) : json_skip(j);
}

int plot_read_bench(struct plot *p, unsigned source, const char *file)
{
	struct run r = { .p = p, .source = source };
	char *text = slurp(file);
	struct json_read j = { .text = text, .at = text };
	const bool ok = text && json_object(&j, top_member, &r) && json_end(&j);

	p->t0 = 0; /* the beginning of the measurement, before the first value */
	if (!text)
		tool_error("plot", "%s: %m", file);
	else if (!ok && !r.failed)
		tool_error("plot", "%s: not a result of ccbench, near character %td", file,
			   j.at - j.text + 1);
	free(text);
	return ok ? 0 : -1;
}
