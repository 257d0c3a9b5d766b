/* SPDX-License-Identifier: BSD-2-Clause */
#include "qdisc.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool has_marks(const char *kind)
{
	return !strcmp(kind, "red") || !strcmp(kind, "codel") || !strcmp(kind, "pie") ||
	       !strcmp(kind, "fq_codel");
}

/* Append the kind of one qdisc of the device, and its handle if it marks. */
static void add_qdisc(void *arg, const struct nlmsghdr *h)
{
	struct qdisc *q = arg;
	size_t n = strlen(q->kind);
	struct ccs_qdisc one;

	if (!ccs_qdisc_parse(h, &one) || one.ifindex != q->ifindex || one.parent == TC_H_INGRESS)
		return;
	snprintf(q->kind + n, sizeof(q->kind) - n, "%s%s", n ? "+" : "", one.kind);
	if (one.parent != TC_H_ROOT && has_marks(one.kind) && q->marking < QDISC_CHAIN)
		q->handle[q->marking++] = one.handle;
}

static int request(struct qdisc *q, unsigned flags, const struct tcmsg *tc,
		   void (*handle)(void *, const struct nlmsghdr *), void *arg)
{
	struct ccs_netlink_request r;

	ccs_netlink_begin(&q->netlink, &r, RTM_GETQDISC, flags);
	ccs_netlink_put_header(&r, tc, sizeof(*tc));
	return ccs_netlink_ask(&q->netlink, &r, handle, arg);
}

int qdisc_open(struct qdisc *q, const char *device, char *err, size_t errlen)
{
	const struct tcmsg all = { .tcm_family = AF_UNSPEC };
	int error;

	*q = (struct qdisc){ .netlink.fd = -1, .ifindex = (int)if_nametoindex(device) };
	if (!q->ifindex)
		return ccs_refuse(err, errlen, "%s: no such network device", device);
	error = ccs_netlink_open(&q->netlink, NETLINK_ROUTE);
	if (!error)
		error = request(q, NLM_F_DUMP, &all, add_qdisc, q);
	if (error)
		snprintf(err, errlen, "%s: cannot read its queue: %s", device, strerror(error));
	else if (!q->kind[0] || !strcmp(q->kind, "noqueue"))
		snprintf(err, errlen, "%s: has no queueing discipline", device);
	else
		return 0;
	qdisc_close(q);
	return -1;
}

static void add_stats(void *arg, const struct nlmsghdr *h)
{
	struct ccs_qdisc q;

	if (ccs_qdisc_parse(h, &q))
		qdisc_count(&q, arg);
}

/* One qdisc, by its parent or by its handle. The kernel multicasts the reply; it reaches the
 * requester only with NLM_F_ECHO. */
static int read_qdisc(struct qdisc *q, uint32_t parent, uint32_t handle, struct qdisc_stats *s)
{
	const struct tcmsg tc = {
		.tcm_ifindex = q->ifindex, .tcm_parent = parent, .tcm_handle = handle,
	};

	return request(q, NLM_F_ECHO, &tc, add_stats, s);
}

int qdisc_read(struct qdisc *q, struct qdisc_stats *s)
{
	int error;

	*s = (struct qdisc_stats){ 0 };
	error = read_qdisc(q, TC_H_ROOT, 0, s);
	for (unsigned i = 0; !error && i < q->marking; i++)
		error = read_qdisc(q, 0, q->handle[i], s);
	return error;
}

void qdisc_close(struct qdisc *q)
{
	ccs_netlink_close(&q->netlink);
}
