/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/qdisc.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

static void parse_stats(struct ccs_qdisc *q, const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	bool has_basic = false, has_queue = false;
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_STATS_APP) {
			q->own_stats = a;
		} else if (a.type == TCA_STATS_BASIC && a.len >= sizeof(basic.bytes)) {
			ccs_netlink_copy(&a, &basic, sizeof(basic));
			q->bytes = basic.bytes;
			q->packets = basic.packets;
			has_basic = true;
		} else if (a.type == TCA_STATS_QUEUE) {
			ccs_netlink_copy(&a, &queue, sizeof(queue));
			q->backlog = queue.backlog;
			q->drops = queue.drops;
			has_queue = true;
		}
	}
	q->counts = has_basic && has_queue;
}

bool ccs_qdisc_parse(const struct nlmsghdr *h, struct ccs_qdisc *q)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, sizeof(struct tcmsg));
	const struct tcmsg *tc = NLMSG_DATA(h);
	struct ccs_netlink_attr a;
	bool has_kind = false;

	if (h->nlmsg_type != RTM_NEWQDISC || h->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)))
		return false;
	*q = (struct ccs_qdisc){
		.ifindex = tc->tcm_ifindex, .parent = tc->tcm_parent, .handle = tc->tcm_handle,
	};
	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_KIND) {
			ccs_netlink_copy(&a, q->kind, sizeof(q->kind) - 1);
			has_kind = true;
		} else if (a.type == TCA_OPTIONS) {
			q->options = a;
		} else if (a.type == TCA_STATS2) {
			parse_stats(q, &a);
		}
	}
	return has_kind;
}

/* A tbf states its rate in bytes/s, in 32 bits, or in 64 bits if it does not fit. */
double ccs_qdisc_tbf_rate(const struct ccs_qdisc *q)
{
	struct tc_tbf_qopt options = { 0 };
	struct ccs_netlink_attrs attrs;
	struct ccs_netlink_attr a;
	uint64_t rate64 = 0;

	if (strcmp(q->kind, "tbf") != 0 || !q->options.len)
		return 0;
	attrs = ccs_netlink_nested(&q->options);
	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_TBF_PARMS)
			ccs_netlink_copy(&a, &options, sizeof(options));
		else if (a.type == TCA_TBF_RATE64)
			ccs_netlink_copy(&a, &rate64, sizeof(rate64));
	}
	return 8.0 * (double)(rate64 ? rate64 : options.rate.rate);
}
