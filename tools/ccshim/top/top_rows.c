/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses and sorts the flows of a page, and decides what limits each. */
#include "top.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"

const char *const top_orders[TOP_ORDERS] = {
	[TOP_BY_GATED] = "gated", [TOP_BY_GOODPUT] = "goodput", [TOP_BY_RATE] = "rate",
	[TOP_BY_RTT] = "rtt", [TOP_BY_PROGRAM] = "program",
};

enum top_order top_order_of(const char *name)
{
	enum top_order order = 0;

	while (order < TOP_ORDERS && strcmp(top_orders[order], name) != 0)
		order++;
	return order;
}

static bool matches(const struct stat_snapshot *s, const struct stat_process *p, const struct stat_qp *qp,
		    const void *filter)
{
	char peer[INET6_ADDRSTRLEN], pid[24];

	(void)s;
	snprintf(pid, sizeof(pid), "%" PRIu64, p->h.pid);
	return strcasestr(p->h.program, filter) || strcmp(pid, filter) == 0 ||
	       strcmp(p->h.job, filter) == 0 ||
	       strcasestr(ccs_gid_text(qp->q.peer_gid, peer), filter);
}

int top_select(struct stat_snapshot *s, const struct top_view *v)
{
	if (*v->filter)
		stat_keep(s, matches, v->filter);
	return stat_group(s, v->by);
}

static struct top_row make_row(const struct stat_process *p, const struct stat_qp *qp, double since_s)
{
	return (struct top_row){
		.process = p, .qp = qp,
		.limit = stat_limit_of(qp, since_s),
		.share = stat_share(qp, since_s),
		.goodput_bps = 8 * (double)qp->q.bytes / since_s,
		.gated = fmin((double)qp->q.gated_ns / 1e9 / since_s, 1),
		.p50_us = ccs_stats_percentile(&qp->rtt, 0.5) / 1e3,
		.p99_us = ccs_stats_percentile(&qp->rtt, 0.99) / 1e3,
	};
}

/* -- order ------------------------------------------------------------------------------------- */

static enum top_order by;

static double key_of(const struct top_row *r)
{
	switch (by) {
	case TOP_BY_GOODPUT: return r->goodput_bps;
	case TOP_BY_RATE: return (double)r->qp->q.rate;
	case TOP_BY_RTT: return r->p99_us;
	case TOP_BY_PROGRAM: return 0;
	default: return r->gated;
	}
}

static int sign(double x, double y)
{
	return x > y ? -1 : x < y;
}

/* Equal keys are ordered by goodput, then by a key that does not change. */
static int compare(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	const bool x_idle = x->limit == STAT_IDLE, y_idle = y->limit == STAT_IDLE;
	int c = x_idle - y_idle;

	if (!c && by == TOP_BY_PROGRAM)
		c = strcmp(x->process->h.program, y->process->h.program);
	if (!c)
		c = sign(key_of(x), key_of(y));
	if (!c)
		c = sign(x->goodput_bps, y->goodput_bps);
	if (!c)
		c = sign((double)y->process->h.pid, (double)x->process->h.pid);
	return c ? c : sign((double)y->qp->q.lqpn, (double)x->qp->q.lqpn);
}

size_t top_rows(const struct stat_snapshot *s, const struct top_view *v, struct top_row **rows)
{
	size_t n = 0, most = 0;

	for (size_t i = 0; i < s->count; i++)
		most += s->process[i].count;
	*rows = calloc(most + 1, sizeof(**rows));
	for (size_t i = 0; *rows && i < s->count; i++)
		for (size_t k = 0; k < s->process[i].count; k++)
			(*rows)[n++] = make_row(&s->process[i], &s->process[i].qp[k], s->since_s);
	by = v->order;
	if (n)
		qsort(*rows, n, sizeof(**rows), compare);
	return n;
}
