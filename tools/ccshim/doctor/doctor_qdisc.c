/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the qdiscs of an interface dropped and marked. */
#include "doctor.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/host/netlink.h"

struct answer {
	struct doctor_qdisc *sum;
	int ifindex;
	bool found;
};

static uint32_t word_at(const struct ccs_netlink_attr *a, size_t offset)
{
	uint32_t word = 0;

	if (offset + sizeof(word) <= a->len)
		memcpy(&word, a->data + offset, sizeof(word));
	return word;
}

/* Packets marked, from the statistics of a qdisc's own kind. */
static uint32_t marks_of(const char *kind, const struct ccs_netlink_attr *a)
{
	if (strcmp(kind, "red") == 0)
		return word_at(a, offsetof(struct tc_red_xstats, marked));
	if (strcmp(kind, "codel") == 0)
		return word_at(a, offsetof(struct tc_codel_xstats, ecn_mark));
	if (strcmp(kind, "pie") == 0)
		return word_at(a, offsetof(struct tc_pie_xstats, ecn_mark));
	if (strcmp(kind, "fq_codel") == 0 && word_at(a, 0) == TCA_FQ_CODEL_XSTATS_QDISC)
		return word_at(a, offsetof(struct tc_fq_codel_xstats, qdisc_stats.ecn_mark));
	return 0;
}

/* The root counts the drops of the whole tree, each qdisc its own marks. */
static void add_stats(struct answer *to, const char *kind, bool is_root,
		      const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_STATS_QUEUE && is_root)
			to->sum->drops += word_at(&a, offsetof(struct gnet_stats_queue, drops));
		else if (a.type == TCA_STATS_APP)
			to->sum->marks += marks_of(kind, &a);
	}
	to->found = true;
}

static void handle_qdisc(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, sizeof(struct tcmsg));
	const struct tcmsg *tc = NLMSG_DATA(h);
	struct answer *to = arg;
	struct ccs_netlink_attr a;
	char kind[32] = "";

	if (h->nlmsg_type != RTM_NEWQDISC || h->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)) ||
	    tc->tcm_ifindex != to->ifindex)
		return;
	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_KIND)
			memcpy(kind, a.data, a.len < sizeof(kind) ? a.len : sizeof(kind) - 1);
		else if (a.type == TCA_STATS2 && strcmp(kind, "noqueue") != 0)
			add_stats(to, kind, tc->tcm_parent == TC_H_ROOT, &a);
	}
}

static void add_recorded(void *arg, const char *name, uint64_t value)
{
	struct doctor_qdisc *q = arg;

	if (strcmp(name, "drops") == 0)
		q->drops += value;
	else if (strcmp(name, "marks") == 0)
		q->marks += value;
}

bool doctor_read_qdisc(const char *root, const char *interface, struct doctor_qdisc *q)
{
	const struct tcmsg all = { .tcm_family = AF_UNSPEC };
	struct answer answer = { .sum = q, .ifindex = (int)if_nametoindex(interface) };
	struct ccs_netlink_request request;
	struct ccs_netlink netlink;

	*q = (struct doctor_qdisc){ 0 };
	if (*root)
		return nic_read_recorded(root, interface, "qdisc", add_recorded, q);
	if (!answer.ifindex || ccs_netlink_open(&netlink, NETLINK_ROUTE))
		return false;
	ccs_netlink_begin(&netlink, &request, RTM_GETQDISC, NLM_F_DUMP);
	ccs_netlink_put_header(&request, &all, sizeof(all));
	ccs_netlink_ask(&netlink, &request, handle_qdisc, &answer);
	ccs_netlink_close(&netlink);
	return answer.found;
}
