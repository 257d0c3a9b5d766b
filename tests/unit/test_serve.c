/* SPDX-License-Identifier: BSD-2-Clause */
/* Which requests ccshim serve answers. */
#include "tools/ccshim/serve/serve.h"

#include <stdint.h>
#include <string.h>

#include "test.h"

TEST(hosts_are_localhost_or_addresses)
{
	static const char *const accepted[] = { "localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8470",
						"10.7.0.1:80", "[::1]", "[::1]:8470", "[fe80::1]" };
	static const char *const refused[] = { "", "example.com", "example.com:8470", "localhost.example.com",
					       "127.0.0.1.example.com", "127.0.0.1:", "127.0.0.1:80x", "127.1",
					       "::1", "[::1", "[::1]x", "[localhost]", "[127.0.0.1]", "localhost ",
					       "user@localhost", "2130706433", "0x7f.0.0.1" };

	for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++)
		assert_true(serve_accepts_host(accepted[i]));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_false(serve_accepts_host(refused[i]));
	assert_false(serve_accepts_host(NULL));
}

TEST(very_long_host_is_refused)
{
	char host[300];

	memset(host, '1', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	assert_false(serve_accepts_host(host));
}

TEST(origin_is_absent_or_that_of_the_page)
{
	assert_true(serve_accepts_origin(NULL, "localhost:1"));
	assert_true(serve_accepts_origin("http://localhost:1", "localhost:1"));
	assert_true(serve_accepts_origin("http://[::1]:1", "[::1]:1"));
	assert_false(serve_accepts_origin("http://localhost:2", "localhost:1"));
	assert_false(serve_accepts_origin("https://localhost:1", "localhost:1"));
	assert_false(serve_accepts_origin("http://localhost:1.example.com", "localhost:1"));
	assert_false(serve_accepts_origin("http://localhost", "localhost:1"));
	assert_false(serve_accepts_origin("null", "localhost:1"));
	assert_false(serve_accepts_origin("", "localhost:1"));
	assert_false(serve_accepts_origin("http://", NULL));
}

TEST(token_must_be_equal)
{
	assert_true(serve_accepts_token("Bearer abc", "abc"));
	assert_true(serve_accepts_token("bearer abc", "abc"));
	assert_false(serve_accepts_token("Bearer abd", "abc"));
	assert_false(serve_accepts_token("Bearer ab", "abc"));
	assert_false(serve_accepts_token("Bearer abcd", "abc"));
	assert_false(serve_accepts_token("Bearer", "abc"));
	assert_false(serve_accepts_token("Basic abc", "abc"));
	assert_false(serve_accepts_token("abc", "abc"));
	assert_false(serve_accepts_token("Bearer ", "")); /* there is none yet */
	assert_false(serve_accepts_token(NULL, "abc"));
}

TEST(tokens_are_hexadecimal_and_differ)
{
	char a[SERVE_TOKEN_LEN], b[SERVE_TOKEN_LEN];

	assert_int_equal(serve_make_token(a), 0);
	assert_int_equal(serve_make_token(b), 0);
	assert_int_equal(strlen(a), SERVE_TOKEN_LEN - 1);
	assert_int_equal(strspn(a, "0123456789abcdef"), SERVE_TOKEN_LEN - 1);
	assert_string_not_equal(a, b);
}

TEST(addresses_are_of_this_host_only_or_not)
{
	assert_int_equal(serve_is_loopback("127.0.0.1"), 1);
	assert_int_equal(serve_is_loopback("127.9.9.9"), 1);
	assert_int_equal(serve_is_loopback("::1"), 1);
	assert_int_equal(serve_is_loopback("0.0.0.0"), 0);
	assert_int_equal(serve_is_loopback("::"), 0);
	assert_int_equal(serve_is_loopback("10.0.0.1"), 0);
	assert_int_equal(serve_is_loopback("localhost"), -1);
	assert_int_equal(serve_is_loopback(""), -1);
}
