/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys and tags of host agents, or what a build without libsodium says. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "seed.h"
#include "tools/ccshimd/auth.h"

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

static void tag_with(const char *key, const char *message, uint8_t tag[CCS_WIRE_TAG])
{
	assert_int_equal(open_text(key), 0);
	auth.tag(auth.arg, message, strlen(message), tag);
	auth_close(&auth);
}

/* BLAKE2b-256 of "abc" with that key, by Python's hashlib.blake2b(digest_size=32, key=...). */
static void the_tag_is_keyed_blake2b(void **state)
{
	static const uint8_t golden[CCS_WIRE_TAG] = {
		0x3f, 0xd8, 0xfd, 0x31, 0x50, 0x1c, 0xdb, 0xe9,
		0x42, 0x60, 0x7b, 0x20, 0x43, 0x68, 0xe3, 0xdc,
		0x4e, 0xbc, 0xe5, 0x74, 0x4d, 0xe1, 0xa9, 0x55,
		0xa6, 0x02, 0x5f, 0x5c, 0x98, 0x48, 0xbb, 0x20,
	};
	uint8_t tag[CCS_WIRE_TAG];

	(void)state;
	tag_with(HEX, "abc", tag);
	assert_memory_equal(tag, golden, sizeof(tag));
}

static void a_key_has_several_forms(void **state)
{
	uint8_t tag[CCS_WIRE_TAG], other[CCS_WIRE_TAG];

	(void)state;
	tag_with(HEX, "abc", tag);
	tag_with(" \n" HEX "\r\n", "abc", other);
	assert_memory_equal(tag, other, sizeof(tag));
	tag_with("000102030405060708090A0B0C0D0E0F", "abc", other);
	assert_memory_equal(tag, other, sizeof(tag));
	assert_int_equal(open_with("\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf", 16, 0400), 0);
	assert_true(auth.check(auth.arg, "abc", 3, tag));
	auth_close(&auth);
	tag_with("correct horse battery staple\n", "abc", tag);
	tag_with("correct horse battery staple", "abc", other);
	assert_memory_equal(tag, other, sizeof(tag));
}

static void wrong_files_are_refused(void **state)
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

	(void)state;
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

static void anybody_elses_file_is_refused(void **state)
{
	(void)state;
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

static void what_was_altered_or_forged_is_refused(void **state)
{
	uint8_t message[CCS_WIRE_MAX], tag[CCS_WIRE_TAG];

	(void)state;
	seed_start("what_was_altered_or_forged_is_refused");
	assert_int_equal(open_text(HEX), 0);
	for (unsigned round = 0; round < 2000; round++) {
		const size_t len = 1 + seed_below(sizeof(message));

		for (size_t i = 0; i < len; i++)
			message[i] = (uint8_t)seed_next();
		auth.tag(auth.arg, message, len, tag);
		assert_true(auth.check(auth.arg, message, len, tag));
		assert_false(auth.check(auth.arg, message, len - 1, tag));
		message[seed_below(len)] ^= (uint8_t)(1 << seed_below(8));
		assert_false(auth.check(auth.arg, message, len, tag));
		auth.tag(auth.arg, message, len, tag);
		tag[seed_below(sizeof(tag))] ^= (uint8_t)(1 << seed_below(8));
		assert_false(auth.check(auth.arg, message, len, tag));
	}
	auth.tag(auth.arg, message, 1, tag);
	auth_close(&auth);
	assert_int_equal(open_text(HEX "00"), 0);
	assert_false(auth.check(auth.arg, message, 1, tag));
	auth_close(&auth);
}

#else

static void a_build_without_libsodium_says_so(void **state)
{
	(void)state;
	assert_int_equal(open_text(HEX), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(err, "without libsodium"));
	auth_close(&auth);
}

#endif

static int make_file(void **state)
{
	const int fd = mkstemp(file);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_LIBSODIUM
		cmocka_unit_test(the_tag_is_keyed_blake2b),
		cmocka_unit_test(a_key_has_several_forms),
		cmocka_unit_test(wrong_files_are_refused),
		cmocka_unit_test(anybody_elses_file_is_refused),
		cmocka_unit_test(what_was_altered_or_forged_is_refused),
#else
		cmocka_unit_test(a_build_without_libsodium_says_so),
#endif
	};

	return cmocka_run_group_tests_name("auth", tests, make_file, remove_file);
}
