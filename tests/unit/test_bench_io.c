/* SPDX-License-Identifier: BSD-2-Clause */
/* Input from outside: netlink messages, a shim's report, words between processes. */
#include "test.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/ccbench/traffic/xchg.h"
#include "tools/common/qdisc_stats.h"

static union {
	struct nlmsghdr header;
	char bytes[1024];
} message;

/* Append an attribute; returns it, so that it can be made to contain others. */
static struct nlattr *put_attr(unsigned type, const void *data, size_t len)
{
	struct nlattr *a = (void *)(message.bytes + message.header.nlmsg_len);

	*a = (struct nlattr){ .nla_type = (uint16_t)type, .nla_len = (uint16_t)(NLA_HDRLEN + len) };
	memcpy((char *)a + NLA_HDRLEN, data, len);
	message.header.nlmsg_len += (uint32_t)NLA_ALIGN(a->nla_len);
	return a;
}

static const struct nlmsghdr *qdisc_message(const char *kind, uint32_t parent,
					    struct gnet_stats_queue *queue, uint64_t bytes,
					    const void *app, size_t len)
{
	const struct gnet_stats_basic basic = { .bytes = bytes, .packets = 1 };
	struct nlattr *stats;

	message.header = (struct nlmsghdr){
		.nlmsg_type = RTM_NEWQDISC, .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
	};
	*(struct tcmsg *)NLMSG_DATA(&message.header) = (struct tcmsg){ .tcm_parent = parent };
	put_attr(TCA_KIND, kind, strlen(kind) + 1);
	stats = put_attr(TCA_STATS2, "", 0);
	if (app)
		put_attr(TCA_STATS_APP, app, len);
	put_attr(TCA_STATS_BASIC, &basic, sizeof(basic));
	put_attr(TCA_STATS_QUEUE, queue, sizeof(*queue));
	stats->nla_len = (uint16_t)(message.bytes + message.header.nlmsg_len - (char *)stats);
	return &message.header;
}

static void count(struct qdisc_stats *s, const struct nlmsghdr *h)
{
	struct ccs_qdisc q;

	assert_true(ccs_qdisc_parse(h, &q));
	qdisc_count(&q, s);
}

/* tbf with red below: the root's figures once, the marks from red. */
TEST(a_qdisc_chain_is_not_counted_twice)
{
	struct gnet_stats_queue queue = { .backlog = 5000, .drops = 7 };
	struct tc_red_xstats red = { .early = 3, .pdrop = 4, .marked = 11 };
	struct qdisc_stats s = { 0 };

	count(&s, qdisc_message("tbf", TC_H_ROOT, &queue, 90000, NULL, 0));
	count(&s, qdisc_message("red", 0x10001, &queue, 90000, &red, sizeof(red)));
	assert_int_equal(s.backlog, 5000);
	assert_int_equal(s.drops, 7);
	assert_int_equal(s.bytes, 90000);
	assert_int_equal(s.marks, 11);
	/* A marking root counts all marks; an unknown kind or a short answer counts 0. */
	s = (struct qdisc_stats){ 0 };
	count(&s, qdisc_message("red", TC_H_ROOT, &queue, 1, &red, sizeof(red)));
	assert_int_equal(s.marks, 11);
	count(&s, qdisc_message("red", TC_H_ROOT, &queue, 1, &red, 4));
	count(&s, qdisc_message("tbf", TC_H_ROOT, &queue, 1, &red, sizeof(red)));
	assert_int_equal(s.marks, 11);
}

TEST(words_arrive_whole_and_in_order)
{
	struct xchg_msg m;
	struct xchg x[2];
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	x[0].fd = fd[0];
	x[1].fd = fd[1];
	assert_int_equal(xchg_wait_any(x, 2, 1000, NULL), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(xchg_send(&x[0], 3, "hello", 5), 0);
	assert_int_equal(xchg_send(&x[0], 4, NULL, 0), 0);
	assert_int_equal(xchg_wait_any(x, 2, 1000000, NULL), 1);
	assert_int_equal(xchg_recv(&x[1], &m), 0);
	assert_int_equal(m.type, 3);
	assert_string_equal(m.data, "hello");
	free(m.data);
	assert_int_equal(xchg_recv(&x[1], &m), 0);
	assert_int_equal(m.type, 4);
	assert_int_equal(m.len, 0);
	free(m.data);
	close(fd[0]);
	assert_int_equal(xchg_recv(&x[1], &m), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(xchg_send(&x[1], 1, "x", 1), -1); /* and no SIGPIPE */
	close(fd[1]);
}
