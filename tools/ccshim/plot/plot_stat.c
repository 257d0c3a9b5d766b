/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a recording of `ccshim stat -i SECONDS --json`: a line of JSON for each interval. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/json_read.h"
#include "plot.h"

struct line {
	struct plot *p;
	unsigned source;
	bool interval;           /* counters are increases in the interval, not totals */
	bool failed;             /* for another reason than the text */
	double t;
	double pid;
	char program[32], rank[16], peer[INET6_ADDRSTRLEN];
	struct {
		double lqpn, rate, bytes, inflight, cnps, p50, p99, queue;
	} qp;
};

static bool rtt_member(struct json_read *j, const char *key, void *arg)
{
	struct line *l = arg;

	if (strcmp(key, "p50") == 0)
		return json_number(j, &l->qp.p50);
	if (strcmp(key, "p99") == 0)
		return json_number(j, &l->qp.p99);
	return json_skip(j);
}

static bool hop_member(struct json_read *j, const char *key, void *arg)
{
	struct line *l = arg;
	double bytes;

	if (strcmp(key, "queue_bytes") != 0)
		return json_skip(j);
	if (!json_number(j, &bytes))
		return false;
	l->qp.queue = fmax(l->qp.queue, bytes);
	return true;
}

static bool read_hop(struct json_read *j, void *arg)
{
	return json_object(j, hop_member, arg);
}

static bool telemetry_member(struct json_read *j, const char *key, void *arg)
{
	return strcmp(key, "hops") == 0 ? json_array(j, read_hop, arg) : json_skip(j);
}

static bool qp_member(struct json_read *j, const char *key, void *arg)
{
	struct line *l = arg;
	const struct {
		const char *key;
		double *value;
	} numbers[] = {
		{ "lqpn", &l->qp.lqpn }, { "rate_bps", &l->qp.rate }, { "bytes", &l->qp.bytes },
		{ "inflight_bytes", &l->qp.inflight }, { "rp_cnp_handled", &l->qp.cnps },
	};

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strcmp(key, numbers[i].key) == 0)
			return json_number(j, numbers[i].value);
	if (strcmp(key, "peer") == 0)
		return json_string(j, l->peer, sizeof(l->peer));
	if (strcmp(key, "rtt_us") == 0)
		return json_object(j, rtt_member, l);
	if (strcmp(key, "telemetry") == 0)
		return json_object(j, telemetry_member, l);
	return json_skip(j);
}

/* Of RTTs the median and the 99th percentile; of CNPs, that have a panel if there are any, the
 * sum. */
static int add_values(struct line *l, struct plot_flow *flow)
{
	struct plot *p = l->p;

	flow->rows++;
	flow->bytes = fmax(l->qp.bytes, 0) + (l->interval ? flow->bytes : 0);
	flow->cnps = fmax(l->qp.cnps, 0) + (l->interval ? flow->cnps : 0);
	snprintf(flow->owner, sizeof(flow->owner), "%.15s[%.0f] %s", l->program, l->pid, l->rank);
	snprintf(flow->process, sizeof(flow->process), "%s %s", l->program, l->rank);
	flow->pid = (unsigned)l->pid;
	memcpy(flow->peer, l->peer, sizeof(flow->peer));
	return plot_add(p, flow, PLOT_RATE, l->t, l->qp.rate) ||
	       plot_add(p, flow, PLOT_RTT, l->t, l->qp.p50 / 1e6) ||
	       plot_add(p, flow, PLOT_RTT, l->t, p->cdf < 0 && !p->json ? l->qp.p99 / 1e6 : NAN) ||
	       plot_add_to_part(p, flow, PLOT_INFLIGHT, l->t, l->qp.inflight) ||
	       plot_add(p, flow, PLOT_INFLIGHT, l->t, l->qp.inflight) ||
	       plot_add(p, flow, PLOT_QUEUE, l->t, l->qp.queue) ||
	       plot_add(p, flow, PLOT_CNPS, l->t, flow->cnps > 0 ? flow->cnps : NAN) ? -1 : 0;
}

static bool read_qp(struct json_read *j, void *arg)
{
	struct line *l = arg;
	struct plot_flow *flow;

	l->qp.lqpn = l->qp.rate = l->qp.bytes = l->qp.inflight = l->qp.cnps = NAN;
	l->qp.p50 = l->qp.p99 = l->qp.queue = NAN;
	*l->peer = '\0';
	if (!json_object(j, qp_member, l) || !(l->qp.lqpn >= 0 && l->qp.lqpn <= UINT32_MAX))
		return false;
	flow = plot_flow(l->p, l->source, (uint64_t)l->pid << 32 | (uint32_t)l->qp.lqpn);
	l->failed = !flow || add_values(l, flow);
	return !l->failed;
}

static bool read_rank(struct json_read *j, struct line *l)
{
	double rank;

	if (!json_number(j, &rank) || !(rank >= 0 && rank <= UINT32_MAX))
		return false;
	snprintf(l->rank, sizeof(l->rank), "rank %.0f ", rank);
	return true;
}

static bool process_member(struct json_read *j, const char *key, void *arg)
{
	struct line *l = arg;

	if (strcmp(key, "pid") == 0)
		return json_number(j, &l->pid) && l->pid >= 0 && l->pid <= INT32_MAX;
	if (strcmp(key, "program") == 0)
		return json_string(j, l->program, sizeof(l->program));
	if (strcmp(key, "rank") == 0)
		return read_rank(j, l);
	return strcmp(key, "qps") == 0 ? json_array(j, read_qp, l) : json_skip(j);
}

static bool read_process(struct json_read *j, void *arg)
{
	struct line *l = arg;

	*l->rank = '\0';
	return json_object(j, process_member, arg);
}

static bool top_member(struct json_read *j, const char *key, void *arg)
{
	struct line *l = arg;

	if (strcmp(key, "time") == 0)
		return json_number(j, &l->t);
	l->interval |= strcmp(key, "interval_s") == 0;
	return strcmp(key, "processes") == 0 && l->t > 0 ? json_array(j, read_process, l) : json_skip(j);
}

static int read_line(struct plot *p, unsigned source, const char *text, const char *file,
		     unsigned long number)
{
	struct line l = { .p = p, .source = source };
	struct json_read j = { .text = text, .at = text };

	if (json_object(&j, top_member, &l) && json_end(&j) && l.t > 0)
		return 0;
	if (!l.failed)
		tool_error("plot", "%s:%lu: not a line of 'ccshim stat -i SECONDS --json', near "
			   "character %td", file, number, j.at - j.text + 1);
	return -1;
}

int plot_read_stat(struct plot *p, unsigned source, const char *file)
{
	FILE *f = fopen(file, "re");
	unsigned long number = 0;
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	while (f && !rc && (len = getline(&text, &size, f)) > 0) {
		number++;
		if (text[len - 1] == '\n')
			rc = text[strspn(text, " \t\r\n")] ? read_line(p, source, text, file, number) : 0;
		else if (!p->values)
			tool_error("plot", "%s ends in the middle of a line, which is ignored", file);
	}
	if (!f || ferror(f)) {
		tool_error("plot", "%s: %m", file);
		rc = -1;
	}
	free(text);
	if (f)
		fclose(f);
	return rc;
}
