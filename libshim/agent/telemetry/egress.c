/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/egress.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

struct answer {
	struct ccs_egress *egress;
	uint32_t ifindex;
	bool is_tbf, is_none;            /* by its name; "noqueue" has no counters */
	bool has_sent, has_backlog;      /* attributes present */
};

/* Copy the attribute to a struct of that size; zero what a shorter attribute lacks. */
static void copy_attr(const struct ccs_netlink_attr *a, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, a->data, a->len < size ? a->len : size);
}

static void parse_stats(struct answer *to, const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_STATS_BASIC && a.len >= sizeof(basic.bytes)) {
			copy_attr(&a, &basic, sizeof(basic));
			to->egress->sent_bytes = basic.bytes;
			to->has_sent = true;
		} else if (a.type == TCA_STATS_QUEUE) {
			copy_attr(&a, &queue, sizeof(queue));
			to->egress->backlog_bytes = queue.backlog;
			to->has_backlog = true;
		}
	}
}

/* A tbf states its rate in bytes/s, in 32 bits, or in 64 bits if it does not fit. */
static void parse_tbf(struct answer *to, const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct tc_tbf_qopt options;
	struct ccs_netlink_attr a;
	uint64_t rate64;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_TBF_PARMS && !(to->egress->rate > 0)) {
			copy_attr(&a, &options, sizeof(options));
			to->egress->rate = 8.0 * options.rate.rate;
		} else if (a.type == TCA_TBF_RATE64) {
			copy_attr(&a, &rate64, sizeof(rate64));
			to->egress->rate = 8.0 * (double)rate64;
		}
	}
}

static bool is_name(const struct ccs_netlink_attr *a, const char *name)
{
	const size_t len = strlen(name) + 1;

	return a->len >= len && memcmp(a->data, name, len) == 0;
}

static void handle_reply(void *arg, const struct nlmsghdr *h)
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
			parse_tbf(to, &a);
		} else if (a.type == TCA_STATS2) {
			parse_stats(to, &a);
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
	/* The kernel multicasts the reply; it reaches the requester only with NLM_F_ECHO. */
	ccs_netlink_begin(n, &r, RTM_GETQDISC, NLM_F_ECHO);
	ccs_netlink_put_header(&r, &root, sizeof(root));
	err = ccs_netlink_ask(n, &r, handle_reply, &answer);
	if (err == EINVAL || err == EIO)
		return ENOENT; /* a built-in qdisc on an old kernel; newer kernels do not reply */
	if (err)
		return err;
	return answer.has_sent && answer.has_backlog && !answer.is_none ? 0 : ENOENT;
}
