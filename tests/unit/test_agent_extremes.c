/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks that must not last: the greatest numbers, a host's own address, ports of users, and
 * clocks that are set back or stand still.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agentrig.h"

enum { RP, NP };

/* An attacker on the path knows the incarnations of both without a key. */
static struct ccs_wire_message forged(const struct rig *r, int to, enum ccs_wire_type type)
{
	const struct ccs_peer *p = &r->agent[to]->peers.peer[0];

	assert_int_not_equal(p->serial, 0);
	return (struct ccs_wire_message){
		.header = {
			.type = (uint8_t)type, .incarnation = p->incarnation, .sequence = UINT64_MAX,
			.echo = ccs_agent_incarnation(r->agent[to], &p->ends),
		},
	};
}

static uint64_t refused(const struct rig *r, int host, enum ccs_refusal why)
{
	return r->agent[host]->totals.refused[why];
}

/* A mark at NP slows the flow of RP. */
static bool is_mark_delivered(struct rig *r, const struct rig_client *c)
{
	const uint64_t before = rig_cnps(c, 0);

	rig_mark(r, NP, 1);
	rig_settle(r);
	return rig_cnps(c, 0) > before;
}

static struct rig_client sender(struct rig *r)
{
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);

	assert_true(is_mark_delivered(r, &c));
	return c;
}

/* -- the greatest numbers ---------------------------------------------------------------- */

RIG_TEST(the_greatest_incarnation_shuts_no_host_out)
{
	struct rig *r = *state;
	struct rig_client c = sender(r);

	for (int host = 0; host < RIG_HOSTS; host++) {
		struct ccs_wire_message m = forged(r, host, CCS_WIRE_HELLO);

		m.header.incarnation = UINT64_MAX;
		m.hello.lease_ms = CCS_LEASE_MAX_MS;
		rig_forge_message(r, r->address[!host], host, &m);
	}
	rig_pass(r, 2000);
	assert_true(is_mark_delivered(r, &c));
	rig_hang_up(&c);
}

RIG_TEST(the_greatest_sequence_number_silences_no_host)
{
	struct rig *r = *state;
	struct rig_client c = sender(r);
	struct ccs_wire_message m = forged(r, RP, CCS_WIRE_CNP);

	m.cnp.qpn = 0x201;
	rig_forge_message(r, r->address[NP], RP, &m);
	m = forged(r, NP, CCS_WIRE_HELLO);
	m.hello.lease_ms = CCS_LEASE_MAX_MS;
	rig_forge_message(r, r->address[RP], NP, &m);
	rig_pass(r, 10000);
	assert_true(is_mark_delivered(r, &c));
	rig_hang_up(&c);
}

/* -- the host's own address -------------------------------------------------------------- */

/* The answer goes to the agent itself, and causes no other. */
RIG_TEST(a_hello_from_the_hosts_own_address_is_answered_once)
{
	struct rig *r = *state;
	const struct ccs_agent_totals *t = &r->agent[NP]->totals;
	struct ccs_wire_message m = { .header = { .type = CCS_WIRE_HELLO, .incarnation = UINT64_MAX } };

	rig_forge_message(r, r->address[NP], NP, &m);
	rig_pass(r, 5000);
	assert_int_equal(t->hellos_received, 1);
	assert_int_equal(t->hellos_sent, 0);
	assert_int_equal(t->refused[CCS_REFUSED_INCARNATION], 1); /* its own answer */
	assert_int_equal(r->agent[NP]->peers.high, 0);
}

/* Queue pairs of one host may be connected to each other. */
RIG_TEST(forged_messages_from_the_hosts_own_address_slow_none_of_its_flows)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_ipc_add add = rig_flow(r, RP, 1, 0);
	struct ccs_wire_message m;
	const struct ccs_peer *p = &r->agent[RP]->peers.peer[0];

	memcpy(add.peer_gid, add.local_gid, sizeof(add.peer_gid));
	assert_int_equal(rig_request(r, c.fd, &add, sizeof(add)), 0);
	rig_settle(r);
	assert_int_equal(p->proven, ccs_agent_incarnation(r->agent[RP], &p->ends));
	m = forged(r, RP, CCS_WIRE_CNP);
	m.cnp.qpn = 0x201;
	m.header.echo ^= 1;
	rig_forge_message(r, r->address[RP], RP, &m);
	assert_int_equal(refused(r, RP, CCS_REFUSED_INCARNATION), 1);
	assert_int_equal(rig_cnps(&c, 0), 0);
	rig_hang_up(&c);
}

/* -- ports of users ------------------------------------------------------------------------ */

static void send_as_user(const struct rig *r, int from, int to, struct ccs_wire_message *m,
			 unsigned n)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t buf[CCS_WIRE_MAX];
	const size_t len = ccs_wire_encode(m, buf);

	inet_pton(AF_INET, r->address[from], &in.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	inet_pton(AF_INET, r->address[to], &in.sin_addr);
	in.sin_port = htons(r->port);
	while (n--)
		assert_int_equal(sendto(fd, buf, len, 0, (struct sockaddr *)&in, sizeof(in)), len);
	close(fd);
}

/* Else a user could use up the HELLOs of his host's address that other hosts answer. */
RIG_TEST(users_of_a_host_send_nothing_in_place_of_its_agent)
{
	enum { DATAGRAMS = 200 };
	struct rig *r = *state;
	struct ccs_wire_message m = { .header = { .type = CCS_WIRE_HELLO, .incarnation = UINT64_MAX } };
	struct rig_client c;

	send_as_user(r, RP, NP, &m, DATAGRAMS);
	rig_settle(r);
	assert_int_equal(refused(r, NP, CCS_REFUSED_PORT), DATAGRAMS);
	assert_int_equal(r->agent[NP]->totals.hellos_received, 0);
	c = sender(r);
	assert_int_equal(refused(r, NP, CCS_REFUSED_LIMIT), 0);
	m = forged(r, RP, CCS_WIRE_CNP);
	m.cnp.qpn = 0x201;
	send_as_user(r, NP, RP, &m, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	assert_int_equal(refused(r, RP, CCS_REFUSED_PORT), 1);
	rig_hang_up(&c);
}

static bool refuse_tag(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		       size_t len, const uint8_t tag[CCS_WIRE_TAG])
{
	(void)arg, (void)peer, (void)key, (void)message, (void)len, (void)tag;
	return false;
}

/* Each of these messages would also be refused by all checks that follow. */
RIG_TEST(messages_are_checked_in_the_documented_order)
{
	const struct ccs_agent_auth auth = { .check = refuse_tag };
	struct rig *r = *state;
	struct rig_client c = sender(r);
	struct ccs_wire_message m = forged(r, RP, CCS_WIRE_CNP);
	uint8_t data[CCS_WIRE_MAX];
	size_t len;

	m.cnp.qpn = 0x999;
	m.header.sequence = 1;
	rig_forge_message(r, r->address[NP], RP, &m);
	assert_int_equal(refused(r, RP, CCS_REFUSED_REPLAYED), 1);
	m.header.incarnation ^= 1;
	rig_forge_message(r, r->address[NP], RP, &m);
	assert_int_equal(refused(r, RP, CCS_REFUSED_INCARNATION), 1);
	r->agent[RP]->config.auth = &auth;
	rig_forge_message(r, r->address[NP], RP, &m);
	assert_int_equal(refused(r, RP, CCS_REFUSED_AUTH), 1);
	m.header.echo ^= 1;
	rig_forge_message(r, r->address[NP], RP, &m);
	assert_int_equal(refused(r, RP, CCS_REFUSED_INCARNATION), 2);
	len = ccs_wire_encode(&m, data) - 1; /* it is incomplete */
	rig_forge(r, r->address[NP], RP, data, len);
	assert_int_equal(refused(r, RP, CCS_REFUSED_GARBAGE), 1);
	r->agent[RP]->config.auth = NULL;
	send_as_user(r, NP, RP, &m, 1);
	rig_settle(r);
	assert_int_equal(refused(r, RP, CCS_REFUSED_PORT), 1);
	assert_int_equal(refused(r, RP, CCS_REFUSED_INCARNATION), 2);
	assert_int_equal(refused(r, RP, CCS_REFUSED_FLOW), 0);
	rig_hang_up(&c);
}

/* -- clocks ---------------------------------------------------------------------------------- */

/* Incarnations are of the system's time when the agent starts. */
RIG_TEST(a_clock_that_is_set_back_shuts_no_host_out)
{
	struct rig *r = *state;
	struct rig_client c = sender(r);
	const uint64_t year_ns = 365ull * 86400 * 1000000000;

	for (int i = 0; i < 2; i++) {
		const uint64_t before = r->agent[NP]->incarnation;

		rig_stop(r, NP);
		rig_start(r, NP);
		r->agent[NP]->incarnation = before - year_ns;
		rig_pass(r, 5000);
		assert_true(is_mark_delivered(r, &c));
	}
	rig_hang_up(&c);
}

RIG_TEST(a_sender_whose_clock_is_set_back_gets_a_lease)
{
	struct rig *r = *state;
	struct rig_client c = sender(r);
	const uint64_t before = r->agent[RP]->incarnation;

	rig_hang_up(&c);
	rig_stop(r, RP);
	rig_start(r, RP);
	r->agent[RP]->incarnation = before - 86400000000000;
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_pass(r, 2000);
	assert_true(is_mark_delivered(r, &c));
	rig_hang_up(&c);
}

/* While a host is suspended its CLOCK_MONOTONIC does not advance; other hosts' clocks do. */
static uint64_t lagging_clock(void *arg)
{
	static const uint64_t hour_ns = 3600000000000;

	return ((const struct rig *)arg)->now_ns - hour_ns;
}

RIG_TEST(a_suspended_host_is_served_when_it_returns)
{
	struct rig *r = *state;

	for (int host = 0; host < RIG_HOSTS; host++) {
		struct rig_client c = sender(r);
		struct ccs_agent *suspended = r->agent[host];

		r->agent[host] = NULL;
		for (unsigned s = 0; s < 3600; s += 10) {
			r->now_ns += 10000000000;
			rig_settle(r);
		}
		r->agent[host] = suspended;
		suspended->config.now = lagging_clock;
		rig_pass(r, 10000);
		assert_true(is_mark_delivered(r, &c));
		suspended->config.now = r->config[host].now;
		rig_hang_up(&c);
		rig_pass(r, 10000);
	}
}
