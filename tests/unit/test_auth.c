/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys and tags of host agents, or the errors of a build without libsodium. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentrig.h"
#include "seed.h"
#include "tools/ccshimd/ccshimd.h"

static char file[] = "/tmp/test_auth.XXXXXX";
static struct ccs_agent_auth auth;
static char err[512];

static int open_with(const void *key, size_t len, mode_t mode)
{
	const int fd = open(file, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, key, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	*err = '\0';
	return auth_open(&auth, file, err, sizeof(err));
}

static int open_text(const char *key)
{
	return open_with(key, strlen(key), 0600);
}

#define HEX "000102030405060708090a0b0c0d0e0f"

#ifdef HAVE_LIBSODIUM

static const struct ccs_address peer;    /* any */

static void compute(const void *message, size_t len, uint8_t tag[CCS_WIRE_TAG])
{
	auth.tag(auth.arg, &peer, 0, message, len, tag);
}

static bool is_right(const void *message, size_t len, const uint8_t tag[CCS_WIRE_TAG])
{
	return auth.check(auth.arg, &peer, 0, message, len, tag);
}

static void tag_with(const char *key, const char *message, uint8_t tag[CCS_WIRE_TAG])
{
	assert_int_equal(open_text(key), 0);
	compute(message, strlen(message), tag);
	auth_close(&auth);
}

/* BLAKE2b-256 of "abc" with that key, by Python's hashlib.blake2b(digest_size=32, key=...). */
TEST(the_tag_is_keyed_blake2b)
{
	static const uint8_t golden[CCS_WIRE_TAG] = {
		0x3f, 0xd8, 0xfd, 0x31, 0x50, 0x1c, 0xdb, 0xe9,
		0x42, 0x60, 0x7b, 0x20, 0x43, 0x68, 0xe3, 0xdc,
		0x4e, 0xbc, 0xe5, 0x74, 0x4d, 0xe1, 0xa9, 0x55,
		0xa6, 0x02, 0x5f, 0x5c, 0x98, 0x48, 0xbb, 0x20,
	};
	uint8_t tag[CCS_WIRE_TAG];

	tag_with(HEX, "abc", tag);
	assert_memory_equal(tag, golden, sizeof(tag));
}

TEST(a_key_has_several_forms)
{
	uint8_t tag[CCS_WIRE_TAG], other[CCS_WIRE_TAG];

	tag_with(HEX, "abc", tag);
	tag_with(" \n" HEX "\r\n", "abc", other);
	assert_memory_equal(tag, other, sizeof(tag));
	tag_with("000102030405060708090A0B0C0D0E0F", "abc", other);
	assert_memory_equal(tag, other, sizeof(tag));
	assert_int_equal(open_with("\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf", 16, 0400), 0);
	assert_true(is_right("abc", 3, tag));
	auth_close(&auth);
	tag_with("correct horse battery staple\n", "abc", tag);
	tag_with("correct horse battery staple", "abc", other);
	assert_memory_equal(tag, other, sizeof(tag));
}

TEST(wrong_files_are_refused)
{
	static const struct { const char *key; mode_t mode; const char *why; } wrong[] = {
		{ "", 0600, "at least 16 bytes" },
		{ "fifteen letters\n", 0600, "at least 16 bytes" },
		{ "000102030405060708090a0b0c0d0e", 0600, "at least 16 bytes" },
		{ HEX "0", 0600, "in pairs" },
		{ HEX HEX HEX HEX "00", 0600, "at most 64 bytes" },
		{ HEX HEX HEX HEX "0", 0600, "in pairs" },
		{ HEX, 0660, "chmod 600" },
		{ HEX, 0604, "chmod 600" },
		{ HEX, 0602, "chmod 600" },
	};
	char raw[65];

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(open_with(wrong[i].key, strlen(wrong[i].key), wrong[i].mode), -1);
		assert_non_null(strstr(err, wrong[i].why));
		assert_non_null(strstr(err, file));
		assert_null(auth.arg);
		auth_close(&auth);
	}
	memset(raw, 'x', sizeof(raw));
	assert_int_equal(open_with(raw, 65, 0600), -1);
	assert_int_equal(open_with(raw, 64, 0600), 0);
	auth_close(&auth);
	assert_int_equal(auth_open(&auth, "/nowhere/key", err, sizeof(err)), -1);
	assert_non_null(strstr(err, "No such file"));
	assert_int_equal(auth_open(&auth, "/tmp", err, sizeof(err)), -1);
	assert_int_equal(auth_open(&auth, "/dev/null", err, sizeof(err)), -1);
}

TEST(anybody_elses_file_is_refused)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(file, 12345, (gid_t)-1), 0);
	assert_int_equal(open_text(HEX), -1);
	assert_non_null(strstr(err, "chown"));
	assert_int_equal(chown(file, 0, 12345), 0);
	assert_int_equal(open_with(HEX, strlen(HEX), 0640), -1);
	assert_non_null(strstr(err, "chmod 600"));
	/* A credential of a systemd unit: root's, and an access list for the unit's user. */
	assert_int_equal(chown(file, 0, 0), 0);
	assert_int_equal(open_with(HEX, strlen(HEX), 0440), 0);
	auth_close(&auth);
}

TEST(what_was_altered_or_forged_is_refused)
{
	uint8_t message[CCS_WIRE_MAX], tag[CCS_WIRE_TAG];

	seed_start("what_was_altered_or_forged_is_refused");
	assert_int_equal(open_text(HEX), 0);
	for (unsigned round = 0; round < 2000; round++) {
		const size_t len = 1 + seed_below(sizeof(message));

		for (size_t i = 0; i < len; i++)
			message[i] = (uint8_t)seed_next();
		compute(message, len, tag);
		assert_true(is_right(message, len, tag));
		assert_false(is_right(message, len - 1, tag));
		message[seed_below(len)] ^= (uint8_t)(1 << seed_below(8));
		assert_false(is_right(message, len, tag));
		compute(message, len, tag);
		tag[seed_below(sizeof(tag))] ^= (uint8_t)(1 << seed_below(8));
		assert_false(is_right(message, len, tag));
	}
	compute(message, 1, tag);
	auth_close(&auth);
	assert_int_equal(open_text(HEX "00"), 0);
	assert_false(is_right(message, 1, tag));
	auth_close(&auth);
}

/* -- several keys ---------------------------------------------------------------------- */

#define HEX_2 "202122232425262728292a2b2c2d2e2f"
#define HEX_3 "303132333435363738393a3b3c3d3e3f"

/* The ID of the key for messages to that address; -1 if it has no key. */
static int id_for(const char *address)
{
	struct ccs_address a;

	assert_int_equal(ccs_address_parse(address, &a), 0);
	return auth.select(auth.arg, &a);
}

/* Whether a message from that address counts that has the id, and the tag by that key. */
static bool takes(const char *address, uint8_t id, const char *key)
{
	uint8_t tag[CCS_WIRE_TAG];
	struct ccs_agent_auth list = auth;
	struct ccs_address a;

	auth = (struct ccs_agent_auth){ 0 };
	tag_with(key, "abc", tag);
	auth = list;
	assert_int_equal(ccs_address_parse(address, &a), 0);
	return auth.check(auth.arg, &a, id, "abc", 3, tag);
}

TEST(every_key_of_a_list_is_accepted_and_the_marked_one_is_sent)
{
	assert_int_equal(open_text("[keys]\n# old\n1 " HEX "\n\n200 " HEX_2 " send\n"), 0);
	assert_int_equal(id_for("10.0.0.1"), 200);
	assert_true(takes("10.0.0.1", 1, HEX));
	assert_true(takes("fe80::1", 200, HEX_2));
	assert_false(takes("10.0.0.1", 1, HEX_2));
	assert_false(takes("10.0.0.1", 2, HEX));
	auth_close(&auth);
}

TEST(the_keys_of_the_longest_prefix_serve_a_peer)
{
	assert_int_equal(open_text("[keys]\n3 " HEX_3 " 10.9.0.0/16\n1 " HEX "\n"
				   "2 " HEX_2 " 10.0.0.0/8 send\n1 " HEX " 10.0.0.0/8\n"
				   "7 " HEX_2 " fd00:1::/32\n"), 0);
	assert_int_equal(id_for("10.9.1.1"), 3);
	assert_int_equal(id_for("10.8.1.1"), 2);
	assert_int_equal(id_for("192.168.1.1"), 1);
	assert_int_equal(id_for("fd00:1::5"), 7);
	assert_int_equal(id_for("fd00:2::5"), 1);
	assert_true(takes("10.8.1.1", 1, HEX));
	assert_false(takes("10.9.1.1", 1, HEX)); /* that key is not for this peer */
	assert_false(takes("10.9.1.1", 2, HEX_2));
	assert_false(takes("192.168.1.1", 3, HEX_3));
	auth_close(&auth);
	assert_int_equal(open_text("[keys]\n3 " HEX_3 " 10.9.0.0/16\n"), 0);
	assert_int_equal(id_for("10.8.1.1"), -1);
	auth_close(&auth);
}

TEST(wrong_lists_are_refused)
{
	static const struct { const char *text, *why; } wrong[] = {
		{ "[keys]\n", "no key" },
		{ "[keys] 1 x\n", "line 1: the key after the ID is not hexadecimal" },
		{ "[keys]\nkey " HEX "\n", "line 2: a line has the form ID KEY" },
		{ "[keys]\n256 " HEX "\n", "0 to 255" },
		{ "[keys]\n-1 " HEX "\n", "0 to 255" },
		{ "[keys]\n1\n", "not hexadecimal" },
		{ "[keys]\n1 " HEX "0\n", "in pairs" },
		{ "[keys]\n1 " HEX HEX HEX HEX "00\n", "at most 64 bytes" },
		{ "[keys]\n1 " HEX " 10.0.0.0/33\n", "prefix" },
		{ "[keys]\n1 " HEX " sends\n", "prefix" },
		{ "[keys]\n1 " HEX " 10.0.0.0/8 sends\n", "more than" },
		{ "[keys]\n1 " HEX " send 10.0.0.0/8\n", "more than" },
		{ "[keys]\n1 " HEX "\n1 " HEX_2 " send\n", "line 2: another key has the same ID" },
		{ "[keys]\n1 " HEX "\n2 " HEX_2 "\n", "line 2: several keys have the same prefix" },
		{ "[keys]\n1 " HEX " send\n2 " HEX_2 " send\n", "mark one" },
		{ "[keys]\n1 " HEX " 10.1.0.0/8\n2 " HEX_2 " 10.2.0.0/8\n", "mark one" },
	};
	static char many[32 + 16385 * 60] = "[keys]\n";
	char *end = many + strlen(many);

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(open_text(wrong[i].text), -1);
		if (!strstr(err, wrong[i].why))
			fail_msg("%u: %s", i, err);
		assert_null(auth.arg);
	}
	assert_int_equal(open_with("[keys]\n1 \0", 10, 0600), -1);
	assert_non_null(strstr(err, "zero byte"));
	for (unsigned i = 0; i < 16385; i++)
		end += sprintf(end, "1 " HEX " 10.%u.%u.0\n", i / 256, i % 256);
	assert_int_equal(open_text(many), -1);
	assert_non_null(strstr(err, "more than 16384 keys"));
}

/* As ccshimd --derive prints it for a large site, in any order. */
TEST(a_key_for_each_host_is_found)
{
	enum { HOSTS = 4000 };
	static char many[32 + HOSTS * 120] = "[keys]\n9 " HEX_3 "\n8 " HEX " 10.1.0.0/16\n";
	char *end = many + strlen(many), address[32];

	for (unsigned i = 0; i < HOSTS; i++) {
		const unsigned k = i * 7 % HOSTS;

		end += sprintf(end, "1 %s 10.0.%u.%u/32\n2 " HEX_3 " 10.0.%u.%u/32 send\n", k % 2 ? HEX : HEX_2,
			       k / 256, k % 256, k / 256, k % 256);
	}
	open_text(many);
	assert_string_equal(err, "");
	for (unsigned k = 0; k < HOSTS; k++) {
		snprintf(address, sizeof(address), "10.0.%u.%u", k / 256, k % 256);
		assert_int_equal(id_for(address), 2);
		assert_true(takes(address, 1, k % 2 ? HEX : HEX_2));
		assert_false(takes(address, 1, k % 2 ? HEX_2 : HEX));
		assert_false(takes(address, 9, HEX_3));
	}
	assert_int_equal(id_for("10.1.0.1"), 8);
	assert_int_equal(id_for("10.2.0.1"), 9);
	auth_close(&auth);
}

TEST(a_bad_file_leaves_the_keys_as_they_are)
{
	char text[256];

	assert_int_equal(open_text("[keys]\n5 " HEX " 10.0.0.0/8\n6 " HEX_2 "\n"), 0);
	assert_int_equal(open_text("[keys]\n7 " HEX "\n8 " HEX_2 "\n"), -1);
	assert_int_equal(id_for("10.0.0.1"), 5);
	auth_describe(&auth, text, sizeof(text));
	assert_string_equal(text, "5 10.0.0.0/8 send, 6 send");
	auth_close(&auth);
}

/* -- rotation -------------------------------------------------------------------------- */

enum { RP, NP, STEPS = 4 };

static uint64_t sum_refused(const struct rig *r)
{
	uint64_t sum = 0;

	for (int host = 0; host < RIG_HOSTS; host++)
		for (int why = 0; why < CCS_REFUSALS; why++)
			sum += r->agent[host]->totals.refused[why];
	return sum;
}

/* A mark arrives, and the CNP for it; leases are renewed. */
static void assert_works(struct rig *r, const struct rig_client *c)
{
	const uint64_t before = rig_cnps(c, 0);

	for (unsigned i = 0; i < 40; i++) {
		rig_pass(r, 100);
		rig_mark(r, NP, 1);
		rig_settle(r);
		assert_int_equal(rig_cnps(c, 0), before + i + 1);
		assert_in_range(r->now_ns - rig_path(c, 0)->last_seen_ns, 0, 1500000000);
	}
	assert_int_equal(sum_refused(r), 0);
}

static void load(struct ccs_agent_auth *of_host, const char *text)
{
	auth = *of_host;
	assert_int_equal(open_text(text), 0);
	*of_host = auth;
	auth = (struct ccs_agent_auth){ 0 };
}

/* The change from one key to another: at each step one agent has changed before the other. */
TEST_WITH(keys_rotate_without_losing_a_message_or_a_lease, rig_setup, rig_teardown)
{
	static const char *const step[STEPS] = {
		HEX,
		"[keys]\n0 " HEX " send\n1 " HEX_2 "\n",
		"[keys]\n0 " HEX "\n1 " HEX_2 " send\n",
		"[keys]\n1 " HEX_2 "\n",
	};
	struct ccs_agent_auth of[RIG_HOSTS] = { 0 };
	struct rig *r = *state;
	struct rig_client c;
	uint64_t incarnation;

	for (int host = 0; host < RIG_HOSTS; host++) {
		load(&of[host], step[0]);
		r->agent[host]->config.auth = &of[host];
	}
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_settle(r);
	incarnation = r->agent[RP]->peers.peer[0].proven;
	for (unsigned i = 1; i < STEPS; i++)
		for (int host = 0; host < RIG_HOSTS; host++) {
			load(&of[i % 2 ? host : !host], step[i]);
			assert_works(r, &c);
		}
	assert_int_equal(r->agent[RP]->peers.peer[0].proven, incarnation);
	load(&of[NP], HEX); /* the old key is of no use any more */
	r->now_ns += 60000;
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_AUTH], 1);
	rig_hang_up(&c);
	rig_stop(r, RP);
	rig_stop(r, NP);
	auth_close(&of[RP]);
	auth_close(&of[NP]);
}

/* NAT may change the port of a message; the tag proves more than the port. */
TEST_WITH(with_a_key_the_source_port_does_not_matter, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	const struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in to = from;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 1ull << 32, .sequence = 1 },
		.hello.lease_ms = 1000,
	};
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	const struct ccs_agent_totals *totals = &r->agent[NP]->totals;
	uint8_t data[CCS_WIRE_MAX + CCS_WIRE_TAG];
	size_t len;

	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(inet_pton(AF_INET, r->address[NP], &to.sin_addr), 1);
	to.sin_port = htons(r->port);
	len = ccs_wire_encode(&m, data);
	assert_int_equal(sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	rig_settle(r);
	assert_int_equal(totals->refused[CCS_REFUSED_PORT], 1);
	rig_stop(r, NP);
	assert_int_equal(open_text(HEX "\n"), 0);
	r->config[NP].auth = &auth;
	rig_start(r, NP);
	totals = &r->agent[NP]->totals;
	assert_int_equal(sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	auth.tag(auth.arg, &peer, 0, data, len, data + len);
	assert_int_equal(sendto(fd, data, len + CCS_WIRE_TAG, 0, (struct sockaddr *)&to, sizeof(to)),
			 len + CCS_WIRE_TAG);
	rig_settle(r);
	assert_int_equal(totals->refused[CCS_REFUSED_PORT], 0);
	assert_int_equal(totals->refused[CCS_REFUSED_AUTH], 1);
	assert_int_equal(totals->hellos_received, 1);
	close(fd);
	rig_stop(r, NP);
	auth_close(&auth);
}

TEST_WITH(nothing_is_sent_to_a_peer_without_a_key, rig_setup, rig_teardown)
{
	struct ccs_agent_auth of = { 0 };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	load(&of, "[keys]\n1 " HEX " 10.0.0.0/8\n");
	r->agent[RP]->config.auth = &of;
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.hellos_received, 0);
	assert_non_null(strstr(r->said, "127.0.0.2"));
	rig_hang_up(&c);
	rig_stop(r, RP);
	auth_close(&of);
}

#else

TEST(a_build_without_libsodium_reports_an_error)
{
	assert_int_equal(open_text(HEX), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(err, "without libsodium"));
	auth_close(&auth);
}

#endif

static int make_file(void **state)
{
	const int fd = mkstemp(file);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(file);
}

int main(void)
{
	return test_run(make_file, remove_file);
}
