/* SPDX-License-Identifier: BSD-2-Clause */
#include "qdisc_stats.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "agent/host/netlink.h"

/* Copy an attribute, which may be unaligned or shorter than this program's struct. */
static void copy_attr(void *to, size_t size, const struct ccs_netlink_attr *a)
{
	memset(to, 0, size);
	memcpy(to, a->data, a->len < size ? a->len : size);
}

/* Packets that a qdisc has marked, from the statistics that its kind defines. */
static uint64_t marks_of(const char *kind, const struct ccs_netlink_attr *a)
{
	union {
		struct tc_red_xstats red;
		struct tc_codel_xstats codel;
		struct tc_pie_xstats pie;
		struct tc_fq_codel_xstats fq_codel;
	} x;

	copy_attr(&x, sizeof(x), a);
	if (strcmp(kind, "red") == 0)
		return x.red.marked;
	if (strcmp(kind, "codel") == 0)
		return (uint64_t)x.codel.ecn_mark + x.codel.ce_mark;
	if (strcmp(kind, "pie") == 0)
		return x.pie.ecn_mark;
	if (strcmp(kind, "fq_codel") == 0 && x.fq_codel.type == TCA_FQ_CODEL_XSTATS_QDISC)
		return (uint64_t)x.fq_codel.qdisc_stats.ecn_mark + x.fq_codel.qdisc_stats.ce_mark;
	return 0;
}

static void add_stats(const struct ccs_netlink_attr *nest, bool is_root, const char *kind,
		      struct qdisc_stats *s)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_STATS_APP) {
			s->marks += marks_of(kind, &a);
		} else if (a.type == TCA_STATS_BASIC && is_root) {
			copy_attr(&basic, sizeof(basic), &a);
			s->bytes += basic.bytes;
			s->packets += basic.packets;
		} else if (a.type == TCA_STATS_QUEUE && is_root) {
			copy_attr(&queue, sizeof(queue), &a);
			s->backlog += queue.backlog;
			s->drops += queue.drops;
		}
	}
}

/* Find an attribute of a message. */
static bool find_attr(const struct nlmsghdr *h, unsigned type, struct ccs_netlink_attr *a)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, sizeof(struct tcmsg));

	while (ccs_netlink_next(&attrs, a))
		if (a->type == type)
			return true;
	return false;
}

bool qdisc_kind(const struct nlmsghdr *h, char kind[QDISC_KIND])
{
	struct ccs_netlink_attr a;

	memset(kind, 0, QDISC_KIND);
	if (h->nlmsg_type != RTM_NEWQDISC || h->nlmsg_len < NLMSG_LENGTH(sizeof(struct tcmsg)) ||
	    !find_attr(h, TCA_KIND, &a))
		return false;
	memcpy(kind, a.data, a.len < QDISC_KIND ? a.len : QDISC_KIND - 1);
	return true;
}

void qdisc_count(const struct nlmsghdr *h, struct qdisc_stats *s)
{
	const struct tcmsg *tc = NLMSG_DATA(h);
	struct ccs_netlink_attr a;
	char kind[QDISC_KIND];

	if (qdisc_kind(h, kind) && find_attr(h, TCA_STATS2, &a))
		add_stats(&a, tc->tcm_parent == TC_H_ROOT, kind, s);
}
