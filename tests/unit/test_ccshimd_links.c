/* SPDX-License-Identifier: BSD-2-Clause */
/* A link's traffic, queue and rate: sysfs, qdiscs and the rate under a queue. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "agent/host/qdisc.h"
#include "agent/telemetry/telemetry.h"
#include "base/sysfs.h"
#include "seed.h"
#include "tree.h"

static char root[] = "/tmp/ccs_links_XXXXXX";

/* A file of the tree, with the folders above it. */
static void put(const char *file, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, file);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

#define IB "class/infiniband/mlx5_0/ports/1/"

TEST(bytes_of_netdev_and_nic_add_up)
{
	struct ccs_ingress in;
	uint64_t bytes;

	put("class/net/eth0/statistics/rx_bytes", "1000\n");
	put("class/net/eth1/statistics/rx_bytes", "7\n");
	put(IB "gid_attrs/ndevs/0", "eth0\n");
	put(IB "counters/port_rcv_data", "250\n");
	put("class/infiniband/rxe_1/ports/1/gid_attrs/ndevs/0", "eth1\n");
	assert_int_equal(ccs_ingress_open(&in, root, "eth0"), 0);
	assert_true(ccs_ingress_read(&in, &bytes));
	assert_int_equal(bytes, 2000);
	put("class/net/eth0/statistics/rx_bytes", "18446744073709550000\n");
	put(IB "counters/port_rcv_data", "4\n");
	assert_true(ccs_ingress_read(&in, &bytes));
	assert_int_equal(bytes, UINT64_C(18446744073709550016));
	put(IB "counters/port_rcv_data", "");
	assert_false(ccs_ingress_read(&in, &bytes));
	ccs_ingress_close(&in);
	assert_int_equal(ccs_ingress_open(&in, root, "eth1"), 0);
	assert_true(ccs_ingress_read(&in, &bytes));
	assert_int_equal(bytes, 7);
	ccs_ingress_close(&in);
	assert_int_equal(ccs_ingress_open(&in, root, "eth2"), ENOENT);
}

TEST(speed_may_be_unknown)
{
	put("class/net/eth0/speed", "100000\n");
	assert_true(ccs_sysfs_speed(root, "eth0") == 100e9);
	put("class/net/eth0/speed", "-1\n");
	assert_true(ccs_sysfs_speed(root, "eth0") == 0);
	put("class/net/eth0/speed", "4294967295\n"); /* as older kernels print it */
	assert_true(ccs_sysfs_speed(root, "eth0") == 0);
	assert_true(ccs_sysfs_speed(root, "eth9") == 0);
	put(IB "gid_attrs/ndevs/0", "eth0\n");
	assert_true(ccs_sysfs_speed_is_guess(root, "mlx5_0", 1));
	assert_true(ccs_sysfs_rate(root, "mlx5_0", 1, 1e9) == 0);
	assert_true(ccs_sysfs_rate(root, "mlx5_0", 1, 10e9) == 10e9);
	assert_true(ccs_sysfs_rate(root, "mlx5_0", 2, 1e9) == 1e9); /* it has no interface */
	put("class/net/eth0/speed", "1000\n");
	assert_true(ccs_sysfs_rate(root, "mlx5_0", 1, 1e9) == 1e9);
}

/* The kernel's part is played by a socket's other end. */
struct answer {
	_Alignas(8) char data[1024];
	size_t len;
};

static void add(struct answer *a, const void *data, size_t len)
{
	memcpy(a->data + a->len, data, len);
	memset(a->data + a->len + len, 0, NLA_ALIGN(len) - len);
	a->len += NLA_ALIGN(len);
}

static size_t begin_attr(struct answer *a, unsigned type)
{
	const size_t at = a->len;

	add(a, &(struct nlattr){ .nla_type = (uint16_t)type }, sizeof(struct nlattr));
	return at;
}

static void end_attr(struct answer *a, size_t at, size_t len)
{
	const uint16_t nla_len = (uint16_t)len;

	memcpy(a->data + at + offsetof(struct nlattr, nla_len), &nla_len, sizeof(nla_len));
}

static void end_message(struct answer *a, size_t len)
{
	const uint32_t nlmsg_len = (uint32_t)len;

	memcpy(a->data + offsetof(struct nlmsghdr, nlmsg_len), &nlmsg_len, sizeof(nlmsg_len));
	a->len = len;
}

static void add_attr(struct answer *a, unsigned type, const void *data, size_t len)
{
	const size_t at = begin_attr(a, type);

	add(a, data, len);
	end_attr(a, at, NLA_HDRLEN + len);
}

enum { IFINDEX = 7, SEQUENCE = 41 };

/*
 * The kernel's answer for tbf with red below it, without the attributes that the agent does not
 * read.
 */
static struct answer qdisc(const char *kind, uint64_t rate64, uint32_t parent)
{
	const struct tcmsg tc = { .tcm_ifindex = IFINDEX, .tcm_parent = parent, .tcm_handle = 0x10000 };
	const struct tc_tbf_qopt tbf = { .rate = { .rate = rate64 ? UINT32_MAX : 25000000 } };
	const struct gnet_stats_basic basic = { .bytes = UINT64_C(123456789012), .packets = 5 };
	const struct gnet_stats_queue queue = { .qlen = 3, .backlog = 65536, .drops = 2 };
	struct answer a = { .len = 0 };
	size_t nest;

	add(&a, &(struct nlmsghdr){ .nlmsg_type = RTM_NEWQDISC, .nlmsg_seq = SEQUENCE },
	    sizeof(struct nlmsghdr));
	add(&a, &tc, sizeof(tc));
	add_attr(&a, TCA_KIND, kind, strlen(kind) + 1);
	nest = begin_attr(&a, TCA_OPTIONS);
	add_attr(&a, TCA_TBF_PARMS, &tbf, sizeof(tbf));
	if (rate64)
		add_attr(&a, TCA_TBF_RATE64, &rate64, sizeof(rate64));
	end_attr(&a, nest, a.len - nest);
	nest = begin_attr(&a, TCA_STATS2);
	add_attr(&a, TCA_STATS_BASIC, &basic, sizeof(basic));
	add_attr(&a, TCA_STATS_QUEUE, &queue, sizeof(queue));
	end_attr(&a, nest, a.len - nest);
	end_message(&a, a.len);
	return a;
}

/* Stores the request in asked. */
static int read_root(const struct answer *a, struct ccs_qdisc *q, char asked[256])
{
	struct ccs_netlink n = { .sequence = SEQUENCE - 1 };
	int end[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, end), 0);
	n.fd = end[0];
	assert_int_equal(send(end[1], a->data, a->len, 0), a->len);
	err = ccs_qdisc_read_root(&n, IFINDEX, q);
	assert_true(recv(end[1], asked, 256, 0) > 0);
	close(end[0]);
	close(end[1]);
	return err;
}

TEST(root_qdisc_is_asked_for)
{
	const struct answer a = qdisc("tbf", 0, TC_H_ROOT);
	_Alignas(8) char asked[256];
	const struct nlmsghdr *h = (void *)asked;
	const struct tcmsg *tc = NLMSG_DATA(h);
	struct ccs_qdisc q;

	assert_int_equal(read_root(&a, &q, asked), 0);
	assert_int_equal(h->nlmsg_type, RTM_GETQDISC);
	assert_int_equal(h->nlmsg_flags, NLM_F_REQUEST | NLM_F_ECHO);
	assert_int_equal(h->nlmsg_len, NLMSG_LENGTH(sizeof(*tc)));
	assert_int_equal(tc->tcm_ifindex, IFINDEX);
	assert_int_equal(tc->tcm_parent, TC_H_ROOT);
	assert_int_equal(q.bytes, UINT64_C(123456789012));
	assert_int_equal(q.backlog, 65536);
	assert_true(q.tbf_rate == 200e6);
}

TEST(rates_are_tbfs_only_and_may_be_large)
{
	struct answer a = qdisc("tbf", UINT64_C(50000000000), TC_H_ROOT);
	struct ccs_qdisc q;
	char asked[256];

	assert_int_equal(read_root(&a, &q, asked), 0);
	assert_true(q.tbf_rate == 400e9);
	a = qdisc("htb", 0, TC_H_ROOT);
	assert_int_equal(read_root(&a, &q, asked), 0);
	assert_true(q.tbf_rate == 0);
	assert_int_equal(q.backlog, 65536);
	a = qdisc("noqueue", 0, TC_H_ROOT); /* its counters are always 0 */
	assert_int_equal(read_root(&a, &q, asked), ENOENT);
}

/* Truncated anywhere, or with any byte changed: an error or an answer. */
TEST(strange_answers_are_no_counters)
{
	const struct answer whole = qdisc("tbf", 1, TC_H_ROOT);
	struct ccs_qdisc q;
	char asked[256];
	struct answer a;

	seed_start("strange_answers_are_no_counters");
	a = qdisc("tbf", 0, 0x10001); /* not the root's */
	assert_int_equal(read_root(&a, &q, asked), ENOENT);
	for (size_t len = NLMSG_HDRLEN; len < whole.len; len++) {
		a = whole;
		end_message(&a, len);
		assert_int_equal(read_root(&a, &q, asked), ENOENT);
	}
	for (unsigned i = 0; i < 20000; i++) {
		a = whole;
		for (unsigned k = (unsigned)seed_below(4); k < 4; k++)
			a.data[seed_below(a.len)] ^= (char)seed_below(256);
		read_root(&a, &q, asked);
	}
}

TREE_GROUP(root)

int main(void)
{
	return test_run(make_root, remove_root);
}
