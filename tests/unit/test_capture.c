/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CE marks as the kernel hands them over: in a network namespace of the test's own, where
 * it may watch, with packets that look like RoCEv2 over its loopback.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/events.h"
#include "agentrig.h"

enum { RP, NP, ROCE = 4791, ECT = 2, CE = 3 };

/* Root of a user namespace; users that are not mapped there cannot make files. */
static bool own_user(void)
{
	const uid_t uid = getuid();
	FILE *f;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	f = fopen("/proc/self/uid_map", "w");
	return f && fprintf(f, "0 %u 1\n", uid) > 0 && fclose(f) == 0;
}

static void set_loopback(short flags)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = flags };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

/* As root, or as any user where the system allows it. */
static bool own_network(void)
{
	if (unshare(CLONE_NEWNET) && !own_user())
		return false;
	set_loopback(IFF_UP | IFF_RUNNING);
	return true;
}

static int capture_setup(void **state)
{
	struct rig *r;

	if (rig_setup(state))
		return -1;
	r = *state;
	for (int i = 0; i < RIG_HOSTS; i++) {
		rig_stop(r, i);
		r->config[i].capture = true;
		rig_start(r, i);
	}
	return 0;
}

static const uint8_t write_to_201[24] = { [0] = 0x0a, [5] = 0, [6] = 0x02, [7] = 0x01 };

static void set_v4(int fd, int option, int value)
{
	assert_int_equal(setsockopt(fd, IPPROTO_IP, option, &value, sizeof(value)), 0);
}

/* A packet from one host to the other, to that port, with those ECN bits. */
static void send_v4(const struct rig *r, int to, uint16_t port, int tos, const void *options,
		    size_t len)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ccs_address address;

	ccs_address_parse(r->address[!to], &address);
	memcpy(&in.sin_addr, address.b + 12, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	set_v4(fd, IP_TOS, tos);
	if (options)
		assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_OPTIONS, options, 8), 0);
	ccs_address_parse(r->address[to], &address);
	memcpy(&in.sin_addr, address.b + 12, 4);
	in.sin_port = htons(port);
	assert_int_equal(sendto(fd, write_to_201, len, 0, (struct sockaddr *)&in, sizeof(in)), len);
	close(fd);
}

#define CAPTURE_TEST(name_) TEST_WITH(name_, capture_setup, rig_teardown)

CAPTURE_TEST(a_packet_s_mark_becomes_a_cnp)
{
	static const uint8_t nops[8] = { IPOPT_NOP, IPOPT_NOP, IPOPT_NOP, IPOPT_NOP,
					 IPOPT_NOP, IPOPT_NOP, IPOPT_NOP, IPOPT_EOL };
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);

	send_v4(r, NP, ROCE, 46 << 2 | CE, NULL, sizeof(write_to_201));
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.ce_packets, 1);
	assert_int_equal(rig_cnps(&c, 0), 1);
	r->now_ns += 60000;
	send_v4(r, NP, ROCE, CE, nops, sizeof(write_to_201));
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.ce_packets, 2);
	assert_int_equal(rig_cnps(&c, 0), 2);
	/* It does not count packets to the other host. */
	assert_int_equal(r->agent[RP]->totals.ce_packets, 0);
	rig_hang_up(&c);
}

CAPTURE_TEST(what_is_no_mark)
{
	struct rig *r = *state;

	send_v4(r, NP, ROCE, 0, NULL, sizeof(write_to_201));
	send_v4(r, NP, ROCE, ECT, NULL, sizeof(write_to_201));
	send_v4(r, NP, ROCE, 1, NULL, sizeof(write_to_201));
	send_v4(r, NP, ROCE + 1, CE, NULL, sizeof(write_to_201));
	send_v4(r, NP, ROCE, CE, NULL, 11); /* no whole BTH */
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.ce_packets, 0);
	send_v4(r, NP, ROCE, CE, NULL, 12);
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.ce_packets, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 1);
}

CAPTURE_TEST(marks_by_ipv6)
{
	struct rig *r = *state;
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(ROCE),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	const int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&in6, sizeof(in6)))
		skip(); /* a host without it */
	r->config[NP].naddresses = 0;
	r->config[NP].port = (uint16_t)(r->port + 1);
	rig_stop(r, NP);
	rig_start(r, NP);
	for (int tos = 0; tos < 4; tos++) {
		assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos)), 0);
		assert_int_equal(sendto(fd, write_to_201, sizeof(write_to_201), 0,
					(struct sockaddr *)&in6, sizeof(in6)), 24);
	}
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.ce_packets, 1);
	close(fd);
}

/* More than fit, while the agent does not look: what is lost, is counted. */
CAPTURE_TEST(a_burst_beyond_the_ring)
{
	enum { BURST = 70000 };
	const struct ccs_agent_totals *t;
	struct rig *r = *state;

	rig_settle(r);
	for (int i = 0; i < BURST; i++)
		send_v4(r, NP, ROCE, CE, NULL, sizeof(write_to_201));
	rig_settle(r);
	ccs_capture_count(r->agent[NP]);
	t = &r->agent[NP]->totals;
	assert_int_equal(t->ce_packets + t->ce_dropped, BURST);
	assert_true(t->ce_packets >= 60000); /* 0.6 s at 100000 a second */
	assert_true(t->ce_dropped > 0);
	assert_non_null(strstr(r->said, "CE-marked packets arrive faster"));
}

/* Packet sockets of this network namespace, but for the first line. */
static int packet_sockets(void)
{
	FILE *f = fopen("/proc/self/net/packet", "r");
	char line[256];
	int n = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n++;
	fclose(f);
	return n;
}

/* A child that closes what it has inherited does not keep the kernel capturing. */
CAPTURE_TEST(a_child_keeps_no_ring)
{
	struct rig *r = *state;
	int end[2], n = packet_sockets();
	char byte = 0;
	pid_t child;

	assert_int_equal(n, 2 * RIG_HOSTS);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	child = fork();
	if (!child) {
		for (int fd = 3; fd < 1024; fd++)
			if (fd != end[0])
				close(fd);
		n = write(end[0], &byte, 1) == 1 && read(end[0], &byte, 1) == 0;
		_exit(!n);
	}
	close(end[0]);
	assert_int_equal(read(end[1], &byte, 1), 1);
	for (int i = 0; i < RIG_HOSTS; i++)
		rig_stop(r, i);
	n = packet_sockets();
	close(end[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(n, 0);
}

int main(void)
{
	if (!own_network()) {
		printf("1..0 # SKIP no network namespace may be made here\n");
		return 0;
	}
	return test_run(NULL, NULL);
}
