/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/egress.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

struct answer {
	struct ccs_egress *egress;
	uint32_t ifindex;
	bool is_tbf, is_none;            /* by its name; "noqueue" counts nothing */
	bool sent, waits;                /* what was told */
};

/* The attribute as a struct of that size, of which a shorter one leaves the rest zero. */
static void copy(const struct ccs_netlink_attr *a, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, a->data, a->len < size ? a->len : size);
}

static void take_stats(struct answer *to, const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_STATS_BASIC && a.len >= sizeof(basic.bytes)) {
			copy(&a, &basic, sizeof(basic));
			to->egress->sent_bytes = basic.bytes;
			to->sent = true;
		} else if (a.type == TCA_STATS_QUEUE) {
			copy(&a, &queue, sizeof(queue));
			to->egress->backlog_bytes = queue.backlog;
			to->waits = true;
		}
	}
}

/* tbf's: bytes/s, in 32 bits, or in 64 if that is not enough. */
static void take_tbf(struct answer *to, const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct tc_tbf_qopt options;
	struct ccs_netlink_attr a;
	uint64_t rate64;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_TBF_PARMS && !(to->egress->rate > 0)) {
			copy(&a, &options, sizeof(options));
			to->egress->rate = 8.0 * options.rate.rate;
		} else if (a.type == TCA_TBF_RATE64) {
			copy(&a, &rate64, sizeof(rate64));
			to->egress->rate = 8.0 * (double)rate64;
		}
	}
}

static bool is_name(const struct ccs_netlink_attr *a, const char *name)
{
	const size_t len = strlen(name) + 1;

	return a->len >= len && memcmp(a->data, name, len) == 0;
}

static void take(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, sizeof(struct tcmsg));
	const struct tcmsg *tc = NLMSG_DATA(h);
	struct answer *to = arg;
	struct ccs_netlink_attr a;

	if (h->nlmsg_type != RTM_NEWQDISC || h->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)) ||
	    tc->tcm_ifindex != (int)to->ifindex || tc->tcm_parent != TC_H_ROOT)
		return;
	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_KIND) {
			to->is_tbf = is_name(&a, "tbf");
			to->is_none = is_name(&a, "noqueue");
		} else if (a.type == TCA_OPTIONS && to->is_tbf) {
			take_tbf(to, &a);
		} else if (a.type == TCA_STATS2) {
			take_stats(to, &a);
		}
	}
}

int ccs_egress_read(struct ccs_netlink *n, uint32_t ifindex, struct ccs_egress *e)
{
	const struct tcmsg root = {
		.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex, .tcm_parent = TC_H_ROOT,
	};
	struct answer answer = { .egress = e, .ifindex = ifindex };
	struct ccs_netlink_request r;
	int err;

	*e = (struct ccs_egress){ 0 };
	/* The kernel tells everybody who listens to tc's news, and us only if asked to echo. */
	ccs_netlink_begin(n, &r, RTM_GETQDISC, NLM_F_ECHO);
	ccs_netlink_put_header(&r, &root, sizeof(root));
	err = ccs_netlink_ask(n, &r, take, &answer);
	if (err == EINVAL || err == EIO)
		return ENOENT; /* built-in: old kernels refuse to tell, new ones say nothing */
	if (err)
		return err;
	return answer.sent && answer.waits && !answer.is_none ? 0 : ENOENT;
}
