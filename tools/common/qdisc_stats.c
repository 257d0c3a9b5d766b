/* SPDX-License-Identifier: BSD-2-Clause */
#include "qdisc_stats.h"

#include <linux/pkt_sched.h>
#include <string.h>

/* Packets that a qdisc has marked, from the statistics that its kind defines. */
static uint64_t marks_of(const struct ccs_qdisc *q)
{
	union {
		struct tc_red_xstats red;
		struct tc_codel_xstats codel;
		struct tc_pie_xstats pie;
		struct tc_fq_codel_xstats fq_codel;
	} x;

	ccs_netlink_copy(&q->own_stats, &x, sizeof(x));
	if (strcmp(q->kind, "red") == 0)
		return x.red.marked;
	if (strcmp(q->kind, "codel") == 0)
		return (uint64_t)x.codel.ecn_mark + x.codel.ce_mark;
	if (strcmp(q->kind, "pie") == 0)
		return x.pie.ecn_mark;
	if (strcmp(q->kind, "fq_codel") == 0 && x.fq_codel.type == TCA_FQ_CODEL_XSTATS_QDISC)
		return (uint64_t)x.fq_codel.qdisc_stats.ecn_mark + x.fq_codel.qdisc_stats.ce_mark;
	return 0;
}

void qdisc_count(const struct ccs_qdisc *q, struct qdisc_stats *s)
{
	s->marks += marks_of(q);
	if (q->parent != TC_H_ROOT)
		return;
	s->bytes += q->bytes;
	s->packets += q->packets;
	s->backlog += q->backlog;
	s->drops += q->drops;
}
