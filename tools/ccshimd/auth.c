/* SPDX-License-Identifier: BSD-2-Clause */
#include "auth.h"

#include <errno.h>
#include <stdio.h>

#ifndef HAVE_LIBSODIUM

int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len)
{
	(void)auth;
	snprintf(err, len, "%s: this ccshimd was built without libsodium, and cannot "
		 "authenticate; build it with libsodium-dev", file);
	errno = ENOTSUP;
	return -1;
}

void auth_close(struct ccs_agent_auth *auth)
{
	(void)auth;
}

#else

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a file: a key in hexadecimal, with some white space. */
enum { FILE_MAX = 2 * AUTH_KEY_MAX + 64 };

/* The key is in memory that is neither swapped nor included in core dumps. */
struct key {
	size_t len;
	unsigned char bytes[AUTH_KEY_MAX];
};

_Static_assert(AUTH_KEY_MIN >= crypto_generichash_KEYBYTES_MIN, "BLAKE2b takes it");
_Static_assert(AUTH_KEY_MAX <= crypto_generichash_KEYBYTES_MAX, "BLAKE2b takes it");
_Static_assert(CCS_WIRE_TAG >= crypto_generichash_BYTES_MIN &&
	       CCS_WIRE_TAG <= crypto_generichash_BYTES_MAX, "BLAKE2b makes it");

static void tag(void *arg, const void *message, size_t len, uint8_t out[CCS_WIRE_TAG])
{
	const struct key *k = arg;

	crypto_generichash(out, CCS_WIRE_TAG, message, len, k->bytes, k->len);
}

/* The comparison takes constant time. */
static bool check(void *arg, const void *message, size_t len, const uint8_t given[CCS_WIRE_TAG])
{
	uint8_t right[CCS_WIRE_TAG];

	tag(arg, message, len, right);
	return sodium_memcmp(right, given, CCS_WIRE_TAG) == 0;
}

static int complain(char *err, size_t len, const char *file, const char *what)
{
	snprintf(err, len, "%s: %s", file, what);
	return -1;
}

static int open_private(const char *file, char *err, size_t len)
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why = NULL;
	struct stat s;

	if (fd < 0)
		return complain(err, len, file, strerror(errno));
	if (fstat(fd, &s) != 0)
		why = strerror(errno);
	else if (!S_ISREG(s.st_mode))
		why = "it is not a regular file";
	else if (s.st_uid != 0 && s.st_uid != geteuid())
		why = "its owner is neither root nor you: chown it";
	else if (s.st_mode & (s.st_gid ? 077 : 037)) /* an access list shows as root's group */
		why = "others may read or write it: chmod 600 it";
	if (!why)
		return fd;
	close(fd);
	return complain(err, len, file, why);
}

/* Length of the text without trailing white space. */
static size_t trimmed(const char *text, size_t len, const char *space)
{
	while (len && memchr(space, text[len - 1], strlen(space)))
		len--;
	return len;
}

/* Decode a text of hexadecimal digits with optional white space around them. */
static bool from_hex(struct key *k, const char *text, size_t len)
{
	static const char space[] = " \t\r\n", digits[] = "0123456789abcdefABCDEF";
	const size_t before = strspn(text, space);
	const size_t n = strspn(text + before, digits);

	if (!n || before + n != trimmed(text, len, space))
		return false;
	/* What does not fit is too long, and half a byte no part of a key. */
	if (sodium_hex2bin(k->bytes, sizeof(k->bytes), text + before, n, NULL, &k->len, NULL))
		k->len = n % 2 ? 0 : n / 2;
	return true;
}

/* Use the text without the line break that editors append. */
static void as_it_is(struct key *k, const char *text, size_t len)
{
	k->len = trimmed(text, len, "\r\n");
	memcpy(k->bytes, text, k->len < sizeof(k->bytes) ? k->len : sizeof(k->bytes));
}

static int read_key(struct key *k, int fd, const char *file, char *err, size_t errlen)
{
	char text[FILE_MAX + 1] = "";
	const ssize_t n = read(fd, text, FILE_MAX); /* of a file that small, all there is */

	if (n < 0)
		return complain(err, errlen, file, strerror(errno));
	if (!from_hex(k, text, (size_t)n))
		as_it_is(k, text, (size_t)n);
	sodium_memzero(text, sizeof(text));
	if (k->len < AUTH_KEY_MIN)
		return complain(err, errlen, file, "a key has at least 16 bytes, or 32 hexadecimal "
				"digits in pairs: create one with openssl rand -hex 32");
	if (k->len > AUTH_KEY_MAX)
		return complain(err, errlen, file, "a key has at most 64 bytes, or 128 hexadecimal "
				"digits");
	return 0;
}

int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len)
{
	struct key *k;
	int fd, bad;

	*auth = (struct ccs_agent_auth){ 0 };
	if (sodium_init() < 0)
		return complain(err, len, file, "libsodium cannot be initialised");
	fd = open_private(file, err, len);
	if (fd < 0)
		return -1;
	k = sodium_malloc(sizeof(*k));
	bad = k ? read_key(k, fd, file, err, len) : complain(err, len, file, strerror(ENOMEM));
	close(fd);
	*auth = (struct ccs_agent_auth){ .arg = k, .tag = tag, .check = check };
	if (bad)
		auth_close(auth);
	return bad;
}

void auth_close(struct ccs_agent_auth *auth)
{
	sodium_free(auth->arg);
	*auth = (struct ccs_agent_auth){ 0 };
}

#endif
