/* SPDX-License-Identifier: BSD-2-Clause */
#include "qdisc.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

static const char *kind_of(const struct nlmsghdr *nlh)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(struct tcmsg))
		if (mnl_attr_get_type(a) == TCA_KIND)
			return mnl_attr_get_str(a);
	return "";
}

/* Packets that a qdisc of that kind has marked CE, from its own statistics. */
static uint64_t marks_of(const char *kind, const void *xstats, size_t len)
{
	const struct tc_red_xstats *red = xstats;
	const struct tc_codel_xstats *codel = xstats;
	const struct tc_fq_codel_xstats *fq = xstats;

	if (!strcmp(kind, "red") && len >= sizeof(*red))
		return red->marked;
	if (!strcmp(kind, "codel") && len >= sizeof(*codel))
		return (uint64_t)codel->ecn_mark + codel->ce_mark;
	if (!strcmp(kind, "fq_codel") && len >= sizeof(*fq) &&
	    fq->type == TCA_FQ_CODEL_XSTATS_QDISC)
		return (uint64_t)fq->qdisc_stats.ecn_mark + fq->qdisc_stats.ce_mark;
	return 0;
}

static bool marks(const char *kind)
{
	return !strcmp(kind, "red") || !strcmp(kind, "codel") || !strcmp(kind, "fq_codel");
}

/* Attributes may stand unaligned, and be shorter than this program knows them. */
static void copy_attr(void *to, size_t size, const struct nlattr *a)
{
	size_t len = mnl_attr_get_payload_len(a);

	memset(to, 0, size);
	memcpy(to, mnl_attr_get_payload(a), len < size ? len : size);
}

static void count_stats(const struct nlattr *stats2, bool root, const char *kind,
			struct qdisc_stats *s)
{
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, stats2) {
		switch (mnl_attr_get_type(a)) {
		case TCA_STATS_BASIC:
			copy_attr(&basic, sizeof(basic), a);
			s->bytes += root ? basic.bytes : 0;
			s->packets += root ? basic.packets : 0;
			break;
		case TCA_STATS_QUEUE:
			copy_attr(&queue, sizeof(queue), a);
			s->backlog += root ? queue.backlog : 0;
			s->drops += root ? queue.drops : 0;
			break;
		case TCA_STATS_APP:
			s->marks += marks_of(kind, mnl_attr_get_payload(a),
					     mnl_attr_get_payload_len(a));
			break;
		}
	}
}

void qdisc_count(const struct nlmsghdr *nlh, struct qdisc_stats *s)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(*tc))
		if (mnl_attr_get_type(a) == TCA_STATS2)
			count_stats(a, tc->tcm_parent == TC_H_ROOT, kind_of(nlh), s);
}

static struct nlmsghdr *request(struct qdisc *q, char *buf, uint16_t flags, uint32_t parent,
				uint32_t handle)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++q->seq;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_ifindex = q->ifindex;
	tc->tcm_parent = parent;
	tc->tcm_handle = handle;
	return nlh;
}

/* Note one qdisc of the device: its kind for people, its handle if it marks. */
static int note(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const char *kind = kind_of(nlh);
	struct qdisc *q = arg;
	size_t n = strlen(q->kind);

	if (tc->tcm_ifindex != q->ifindex || tc->tcm_parent == TC_H_INGRESS)
		return MNL_CB_OK;
	snprintf(q->kind + n, sizeof(q->kind) - n, "%s%s", n ? "+" : "", kind);
	if (tc->tcm_parent != TC_H_ROOT && marks(kind) && q->marking < QDISC_CHAIN)
		q->handle[q->marking++] = tc->tcm_handle;
	return MNL_CB_OK;
}

/* The dump shows the tree once; afterwards each qdisc is asked for by its handle. */
static int survey(struct qdisc *q)
{
	char buf[32768]; /* the most that a kernel puts into one part of a dump */
	struct nlmsghdr *nlh = request(q, buf, NLM_F_DUMP, 0, 0);
	unsigned seq = q->seq;
	ssize_t n;
	int more = 1;

	if (mnl_socket_sendto(q->nl, nlh, nlh->nlmsg_len) < 0)
		return -1;
	while (more > 0) {
		n = mnl_socket_recvfrom(q->nl, buf, sizeof(buf));
		if (n < 0)
			return -1;
		more = mnl_cb_run(buf, (size_t)n, seq, 0, note, q);
	}
	return more;
}

int qdisc_open(struct qdisc *q, const char *device, char *err, size_t errlen)
{
	/* The kernel is silent about a device that has lost its qdisc. */
	static const struct timeval timeout = { .tv_sec = 1 };

	*q = (struct qdisc){ .ifindex = (int)if_nametoindex(device) };
	if (!q->ifindex) {
		snprintf(err, errlen, "%s: no such network device", device);
		return -1;
	}
	q->nl = mnl_socket_open(NETLINK_ROUTE);
	if (!q->nl || mnl_socket_bind(q->nl, 0, MNL_SOCKET_AUTOPID) ||
	    setsockopt(mnl_socket_get_fd(q->nl), SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout)) || survey(q))
		snprintf(err, errlen, "%s: cannot read its queue: %s", device, strerror(errno));
	else if (!q->kind[0] || !strcmp(q->kind, "noqueue"))
		snprintf(err, errlen, "%s: has no queueing discipline", device);
	else
		return 0;
	qdisc_close(q);
	return -1;
}

static int read_one(struct qdisc *q, uint32_t parent, uint32_t handle, struct qdisc_stats *s)
{
	char buf[4096];
	/* Without ECHO the answer goes to the kernel's multicast group only. */
	struct nlmsghdr *nlh = request(q, buf, NLM_F_ECHO, parent, handle);
	ssize_t n;

	if (mnl_socket_sendto(q->nl, nlh, nlh->nlmsg_len) < 0)
		return -1;
	n = mnl_socket_recvfrom(q->nl, buf, sizeof(buf));
	if (n < (ssize_t)sizeof(*nlh))
		return -1;
	if (nlh->nlmsg_type != RTM_NEWQDISC) {
		errno = ENOENT;
		return -1;
	}
	qdisc_count(nlh, s);
	return 0;
}

int qdisc_read(struct qdisc *q, struct qdisc_stats *s)
{
	unsigned i;

	*s = (struct qdisc_stats){ 0 };
	if (read_one(q, TC_H_ROOT, 0, s))
		return -1;
	for (i = 0; i < q->marking; i++)
		if (read_one(q, 0, q->handle[i], s))
			return -1;
	return 0;
}

void qdisc_close(struct qdisc *q)
{
	if (q->nl)
		mnl_socket_close(q->nl);
	q->nl = NULL;
}
