/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between agents: forged, replayed, malformed and unauthenticated ones are refused. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/siphash.h"
#include "agent/net/net.h"
#include "agentrig.h"
#include "seed.h"

enum { RP, NP };

/* The next CNP of NP for flow 1, as an attacker who reads the messages can forge it. */
static struct ccs_wire_message true_cnp(const struct rig *r)
{
	const struct ccs_peer *p = &r->agent[NP]->peers.peer[0];

	assert_int_not_equal(p->serial, 0);
	return (struct ccs_wire_message){
		.header = {
			.type = CCS_WIRE_CNP, .incarnation = r->agent[RP]->peers.peer[0].incarnation,
			.echo = p->incarnation, .sequence = p->sequence + 1,
		},
		.cnp = { .qpn = 0x201, .marked = 1 },
	};
}

static uint64_t refused(const struct rig *r, enum ccs_refusal why)
{
	return r->agent[RP]->totals.refused[why];
}

/* The incarnation that the host's agent states to a HELLO from another address. */
static uint64_t stated_incarnation(struct rig *r, int host, const char *from)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(r->port) };
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1 },
	};
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t buf[CCS_WIRE_MAX];
	ssize_t n;

	inet_pton(AF_INET, from, &in.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	rig_forge_message(r, from, host, &m);
	n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	close(fd);
	assert_true(n > 0);
	assert_int_equal(ccs_wire_decode(buf, (size_t)n, &m), CCS_WIRE_OK);
	return m.header.incarnation;
}

/*
 * A host that can only send from an address cannot use messages that it receives at another
 * address.
 */
RIG_TEST(incarnation_differs_between_hosts)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	struct ccs_wire_message m;

	m = true_cnp(r);
	m.header.echo = stated_incarnation(r, RP, "127.0.0.3");
	rig_forge_message(r, "127.0.0.2", RP, &m);
	m = true_cnp(r);
	m.header.incarnation = stated_incarnation(r, NP, "127.0.0.3");
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_INCARNATION), 2);
	assert_int_equal(rig_cnps(&c, 0), 0);
	rig_hang_up(&c);
}

/* As it was published. */
TEST(siphash_matches_the_reference_vector)
{
	const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 }, word = key[0];

	assert_true(ccs_siphash(key, &word, 0) == 0x726fdb47dd0e0e31);
	assert_true(ccs_siphash(key, &word, 1) == 0x93f5f5799a932462);
}

RIG_TEST(forged_cnps_are_refused)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	struct ccs_wire_message m;

	m = true_cnp(r);
	m.header.echo = stated_incarnation(r, RP, "127.0.0.3");
	rig_forge_message(r, "127.0.0.3", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_PEER), 1);
	m = true_cnp(r);
	m.header.echo ^= 1; /* a host that does not receive our messages cannot know it */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_INCARNATION), 1);
	m = true_cnp(r);
	m.header.incarnation ^= 1;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_INCARNATION), 2);
	m = true_cnp(r);
	m.cnp.qpn = 0x999;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_FLOW), 1);
	assert_int_equal(rig_cnps(&c, 0), 0);
	m.header.sequence++;
	m.cnp.qpn = 0x201;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

RIG_TEST(duplicate_and_late_cnps_are_refused)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	struct ccs_wire_message m;
	uint64_t first;

	m = true_cnp(r);
	first = m.header.sequence;
	m.header.sequence = first + 70;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	rig_forge_message(r, "127.0.0.2", RP, &m);       /* doubled */
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 1);
	m.header.sequence = first + 7;                   /* overtaken, within the window */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(rig_cnps(&c, 0), 2);
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 2);
	m.header.sequence = first + 6;                   /* just beyond it */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 3);
	m.header.sequence = UINT64_MAX;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	m.header.sequence = first + 71;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 4);
	assert_int_equal(rig_cnps(&c, 0), 3);
	rig_hang_up(&c);
}

/* Messages to a previous incarnation of an agent are not accepted. */
RIG_TEST(messages_from_before_a_restart_are_refused)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	struct ccs_wire_message m;

	m = true_cnp(r);
	rig_hang_up(&c);
	rig_stop(r, RP);
	rig_start(r, RP);
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_INCARNATION), 1);
	assert_int_equal(rig_cnps(&c, 0), 0);
	rig_hang_up(&c);
}

/* A HELLO of a sender that does not receive the answer neither grants nor ends a lease. */
RIG_TEST(unverified_hello_changes_nothing)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = UINT64_MAX, .sequence = 1 },
		.hello = { .lease_ms = 3000, .requested = CCS_PEER_NP },
	};
	uint64_t last_seen_ns;

	rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_int_equal(r->agent[NP]->peers.high, 0);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_forge_message(r, "127.0.0.1", NP, &m);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	/* A HELLO of an earlier incarnation with the right echo: a replay. */
	m.header.incarnation = 1;
	m.header.echo = r->agent[RP]->peers.peer[0].incarnation;
	rig_forge_message(r, "127.0.0.1", NP, &m);
	assert_int_equal(r->agent[NP]->totals.refused[CCS_REFUSED_INCARNATION], 1);
	/* Answers that were not asked for, or not by this. */
	m = true_cnp(r);
	m.header.type = CCS_WIRE_HELLO_ACK;
	m.hello_ack.of = r->agent[RP]->peers.peer[0].sequence;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 1);
	rig_stop(r, NP);
	rig_pass(r, 1200);
	assert_int_not_equal(r->agent[RP]->peers.peer[0].hello.awaited, 0);
	m.hello_ack.lease_ms = 3000;
	last_seen_ns = rig_path(&c, 0)->last_seen_ns;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 2);
	assert_int_equal(rig_path(&c, 0)->last_seen_ns, last_seen_ns);
	rig_hang_up(&c);
}

/* NP only receives, so it holds no lease at RP. */
RIG_TEST(recorded_messages_of_an_earlier_incarnation_are_refused)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	const struct ccs_peer *p = &r->agent[RP]->peers.peer[0];
	struct ccs_wire_message hello = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 1, .sequence = 1 },
		.hello = { .lease_ms = 3000 },
	}, cnp;
	uint64_t now;

	now = p->incarnation;
	assert_int_equal(p->lease_ns, 0);
	hello.header.echo = r->agent[NP]->peers.peer[0].incarnation;
	rig_forge_message(r, "127.0.0.2", RP, &hello);
	assert_int_equal(p->incarnation, now);
	cnp = true_cnp(r);
	cnp.header.incarnation = 1;
	rig_forge_message(r, "127.0.0.2", RP, &cnp);
	assert_int_equal(refused(r, CCS_REFUSED_INCARNATION), 2);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

/* A HELLO may be recorded as well: whether it is of the present one, only an answer shows. */
RIG_TEST(an_incarnation_that_has_not_answered_slows_no_flow)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	struct ccs_peer *p = &r->agent[RP]->peers.peer[0];
	struct ccs_wire_message cnp;

	cnp = true_cnp(r);
	cnp.header.incarnation = p->incarnation = UINT64_MAX; /* as by its HELLO */
	rig_forge_message(r, "127.0.0.2", RP, &cnp);
	assert_int_equal(refused(r, CCS_REFUSED_INCARNATION), 1);
	assert_int_equal(rig_cnps(&c, 0), 0);
	rig_pass(r, 3000);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

RIG_TEST(replies_to_unverified_hellos_are_limited)
{
	struct rig *r = *state;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1 },
		.hello = { .lease_ms = 3000, .requested = CCS_PEER_NP },
	};
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);

	for (int i = 0; i < 600; i++) {
		char from[24];

		sprintf(from, "127.%d.%d.9", 1 + i / 200, i % 200);
		rig_forge_message(r, from, NP, &m);
	}
	assert_in_range(r->agent[NP]->totals.refused[CCS_REFUSED_LIMIT], 50, 150);
	/* Known peers are served. */
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_pass(r, 1000);
	rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_in_range(r->agent[NP]->totals.refused[CCS_REFUSED_LIMIT], 50, 150);
	rig_hang_up(&c);
}

/* So that no two of the test's prefixes share a bucket by chance. */
static void fix_salt(struct rig *r)
{
	r->agent[NP]->salt = 1;
}

/* The host that sends gets its lease within 0.2 s, although no time refills what a flood took. */
static void assert_leased_in_time(struct rig *r)
{
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);

	assert_int_not_equal(rig_path(&c, 0)->last_seen_ns, 0);
	rig_hang_up(&c);
}

RIG_TEST(hellos_of_one_address_do_not_lock_out_others)
{
	struct rig *r = *state;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1 },
	};

	fix_salt(r);
	for (int i = 0; i < 3000; i++)
		rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_in_range(r->agent[NP]->totals.refused[CCS_REFUSED_LIMIT], 2980, 2990);
	assert_leased_in_time(r);
}

RIG_TEST(hellos_of_one_network_do_not_lock_out_others)
{
	struct rig *r = *state;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1 },
	};

	fix_salt(r);
	for (int i = 0; i < 3000; i++) {
		char from[INET_ADDRSTRLEN];

		sprintf(from, "127.9.0.%d", 1 + i % 254);
		rig_forge_message(r, from, NP, &m);
	}
	assert_in_range(r->agent[NP]->totals.refused[CCS_REFUSED_LIMIT], 2850, 2900);
	assert_leased_in_time(r);
}

/* At most once by each address, so that each is limited by its network or by all only. */
RIG_TEST(hellos_by_ipv6_are_limited_by_network_and_host)
{
	struct rig *r = *state;
	struct ccs_address remote;
	unsigned host = 0, link = 0, network = 0;

	fix_salt(r);
	ccs_address_parse("2001:db8::", &remote);
	for (unsigned i = 0; i < 256; i++) {
		remote.b[15] = (uint8_t)i;
		host += ccs_hello_limit_claim(r->agent[NP], &remote);
	}
	assert_int_equal(host, 62);
	for (unsigned i = 0; i < 256; i++) {
		remote.b[7] = (uint8_t)i;
		network += ccs_hello_limit_claim(r->agent[NP], &remote);
	}
	assert_int_equal(network + host, 125);
	ccs_address_parse("fe80::", &remote);
	for (unsigned i = 0; i < 256; i++) {
		remote.b[15] = (uint8_t)i;
		link += ccs_hello_limit_claim(r->agent[NP], &remote);
	}
	assert_int_equal(link, 125);
}

RIG_TEST(other_wire_version_is_warned_about_once)
{
	struct rig *r = *state;
	uint8_t m[48] = { 'C', 'C', 'S', 'W', 9, 1 };

	rig_forge(r, "127.0.0.9", NP, m, sizeof(m));
	rig_forge(r, "127.0.0.8", NP, m, sizeof(m));
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.refused[CCS_REFUSED_VERSION], 2);
	assert_int_equal(r->nsaid, 1);
	assert_non_null(strstr(r->said, "127.0.0.9: it uses protocol version 9"));
}

RIG_TEST(a_trouble_that_lasts_is_reported_once_an_hour)
{
	struct rig *r = *state;
	uint8_t m[48] = { 'C', 'C', 'S', 'W', 9, 1 };

	for (unsigned i = 0; i < 3; i++) {
		rig_forge(r, "127.0.0.9", NP, m, sizeof(m));
		rig_settle(r);
	}
	assert_int_equal(r->nsaid, 1);
	r->now_ns += 3600000000000;
	rig_forge(r, "127.0.0.9", NP, m, sizeof(m));
	rig_settle(r);
	assert_int_equal(r->nsaid, 2);
	assert_non_null(strstr(r->said, "(2 more since"));
}

/* Random bytes, and true messages with a few bits or the length changed. */
RIG_TEST(random_messages_are_harmless)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	uint64_t before;

	seed_start("random_messages_are_harmless");
	for (int i = 0; i < 3000; i++) {
		struct ccs_wire_message m = true_cnp(r);
		uint8_t buf[CCS_WIRE_MAX];
		size_t len;

		m.header.type = (uint8_t)(1 + seed_below(3));
		len = ccs_wire_encode(&m, buf);
		for (uint64_t n = seed_below(4); n > 0; n--)
			buf[seed_below(len)] ^= (uint8_t)(1 << seed_below(8));
		if (seed_below(4) == 0)
			len = seed_below(sizeof(buf));
		rig_forge(r, seed_below(2) ? "127.0.0.2" : "127.0.0.7", RP, buf, len);
		rig_settle(r);
		r->now_ns += 1000000;
	}
	/* The true peer is still accepted, at the latest with a new incarnation. */
	rig_stop(r, NP);
	rig_start(r, NP);
	rig_pass(r, 10000);
	before = rig_cnps(&c, 0);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), before + 1);
	rig_hang_up(&c);
}

/* -- authentication ------------------------------------------------------------------- */

/* Stands for a keyed hash: a sum, and the key, which has the id 0. */
static void sum_tag(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		    size_t len, uint8_t tag[CCS_WIRE_TAG])
{
	const uint8_t *p = message;

	(void)peer;
	(void)key;
	memset(tag, *(const uint8_t *)arg, CCS_WIRE_TAG);
	for (size_t i = 0; i < len; i++)
		tag[i % CCS_WIRE_TAG] = (uint8_t)(tag[i % CCS_WIRE_TAG] * 31 + p[i]);
}

static bool sum_check(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		      size_t len, const uint8_t tag[CCS_WIRE_TAG])
{
	uint8_t right[CCS_WIRE_TAG];

	sum_tag(arg, peer, key, message, len, right);
	return memcmp(right, tag, CCS_WIRE_TAG) == 0;
}

static int sum_select(void *arg, const struct ccs_address *peer)
{
	(void)arg;
	(void)peer;
	return 0;
}

RIG_TEST(messages_with_a_wrong_key_are_refused)
{
	struct rig *r = *state;
	uint8_t key = 7, other = 8;
	const struct ccs_agent_auth auth = { &key, sum_select, sum_tag, sum_check };
	const struct ccs_agent_auth wrong = { &other, sum_select, sum_tag, sum_check };
	struct ccs_wire_message m;
	struct rig_client c;

	r->agent[RP]->config.auth = r->agent[NP]->config.auth = &auth;
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	m = true_cnp(r);
	rig_forge_message(r, "127.0.0.2", RP, &m);       /* without a tag */
	assert_int_equal(refused(r, CCS_REFUSED_AUTH), 1);
	r->agent[NP]->config.auth = &wrong;
	r->now_ns += 60000;
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(refused(r, CCS_REFUSED_AUTH), 2);
	assert_int_equal(rig_cnps(&c, 0), 1);
	assert_int_equal(r->nsaid, 1);
	rig_hang_up(&c);
}

RIG_TEST(hellos_without_the_key_use_up_nothing_that_is_limited)
{
	struct rig *r = *state;
	uint8_t key = 7;
	const struct ccs_agent_auth auth = { &key, sum_select, sum_tag, sum_check };
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1 },
	};
	struct rig_client c;

	r->agent[RP]->config.auth = r->agent[NP]->config.auth = &auth;
	for (int i = 0; i < 1000; i++)
		rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_int_equal(r->agent[NP]->totals.refused[CCS_REFUSED_AUTH], 1000);
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.refused[CCS_REFUSED_LIMIT], 0);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}
