/* SPDX-License-Identifier: BSD-2-Clause */
#include "key_file.h"

#ifdef HAVE_LIBSODIUM

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 21, PROBLEM = 128 };

static const char digits[] = "0123456789abcdefABCDEF";

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

/* -- one key ----------------------------------------------------------------------- */

/* Length of the text without trailing white space. */
static size_t trimmed(const char *text, size_t len, const char *space)
{
	while (len && memchr(space, text[len - 1], strlen(space)))
		len--;
	return len;
}

/* A key that does not fit is too long; half a byte is not part of a key. */
static void decode_hex(struct key *k, const char *text, size_t n)
{
	if (sodium_hex2bin(k->bytes, sizeof(k->bytes), text, n, NULL, &k->len, NULL))
		k->len = n % 2 ? 0 : n / 2;
}

static bool parse_hex(struct key *k, const char *text, size_t len)
{
	static const char space[] = " \t\r\n";
	const size_t before = strspn(text, space);
	const size_t n = strspn(text + before, digits);

	if (!n || before + n != trimmed(text, len, space))
		return false;
	decode_hex(k, text + before, n);
	return true;
}

/* Use the text without the line break that editors append. */
static void copy_raw(struct key *k, const char *text, size_t len)
{
	k->len = trimmed(text, len, "\r\n");
	memcpy(k->bytes, text, k->len < sizeof(k->bytes) ? k->len : sizeof(k->bytes));
}

static const char *check_length(const struct key *k)
{
	if (k->len < KEY_MIN)
		return "a key has at least 16 bytes, or 32 hexadecimal digits in pairs: create one "
		       "with openssl rand -hex 32";
	if (k->len > KEY_MAX)
		return "a key has at most 64 bytes, or 128 hexadecimal digits; a list of keys "
		       "begins with a line [keys]";
	return NULL;
}

static const char *parse_single(struct keys *ks, const char *text, size_t len)
{
	struct key *k = &ks->key[ks->n++];

	*k = (struct key){ .sends = true, .line = 1 };
	if (!parse_hex(k, text, len))
		copy_raw(k, text, len);
	return check_length(k);
}

/* -- a list of keys ---------------------------------------------------------------- */

static const char list[] = "[keys]";

static bool is_list(const char *text)
{
	return strncmp(text, list, sizeof(list) - 1) == 0;
}

/* "ID HEX [PREFIX] [send]". Returns what is wrong, or NULL. */
static const char *parse_line(struct key *k, char *line)
{
	static const char space[] = " \t\r";
	char *rest, *id = strtok_r(line, space, &rest), *hex = strtok_r(NULL, space, &rest);
	char *word = strtok_r(NULL, space, &rest);
	const char *why;

	if (strspn(id, "0123456789") != strlen(id) || strtoul(id, NULL, 10) > UINT8_MAX)
		return "a line has the form ID KEY [PREFIX] [send], with an ID from 0 to 255";
	k->id = (uint8_t)strtoul(id, NULL, 10);
	if (!hex || strspn(hex, digits) != strlen(hex))
		return "the key after the ID is not hexadecimal: create one with openssl rand "
		       "-hex 32";
	decode_hex(k, hex, strlen(hex));
	why = check_length(k);
	if (why)
		return why;
	if (word && strcmp(word, "send") != 0) {
		if (ccs_prefix_parse(word, &k->prefix))
			return "expected 'send', or a prefix of peers' addresses like 10.9.0.0/16";
		word = strtok_r(NULL, space, &rest);
	}
	k->sends = word && strcmp(word, "send") == 0;
	if (word && (!k->sends || strtok_r(NULL, space, &rest)))
		return "there is more than ID KEY [PREFIX] [send]";
	return NULL;
}

/* The bits of the address beyond the prefix become 0. */
static void mask(struct ccs_prefix *p)
{
	for (unsigned bit = p->bits; bit < 8 * sizeof(p->address.b); bit++)
		p->address.b[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
}

/* Longer prefixes first, so that the first prefix that covers an address is the longest. */
static int compare_keys(const void *x, const void *y)
{
	const struct key *a = x, *b = y;
	const int order = memcmp(a->prefix.address.b, b->prefix.address.b, sizeof(a->prefix.address.b));

	if (a->prefix.bits != b->prefix.bits)
		return a->prefix.bits > b->prefix.bits ? -1 : 1;
	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

/* Check the keys from `first` to `end`, which have one prefix. Returns what is wrong, or NULL. */
static const char *check_group(struct key *first, const struct key *end)
{
	bool used[UINT8_MAX + 1] = { false };
	unsigned sending = 0;

	for (const struct key *k = first; k < end; k++) {
		if (used[k->id])
			return "another key has the same ID and prefix: give it another ID";
		used[k->id] = true;
		sending += k->sends;
	}
	if (end == first + 1)
		first->sends = true;
	else if (sending != 1)
		return "several keys have the same prefix: mark one of them with send";
	return NULL;
}

/* Sort the keys, and check those for the same peers. Returns what is wrong first in the file, or NULL. */
static const char *check_keys(struct keys *ks, unsigned *line)
{
	const char *why = NULL, *wrong;
	struct key *next;

	qsort(ks->key, ks->n, sizeof(*ks->key), compare_keys);
	for (struct key *k = ks->key; k < ks->key + ks->n; k = next) {
		for (next = k; next < ks->key + ks->n && next->prefix.bits == k->prefix.bits &&
		     ccs_address_equal(&next->prefix.address, &k->prefix.address); next++)
			ks->hosts += k->prefix.bits == 128;
		wrong = check_group(k, next);
		if (wrong && (!why || k->line < *line)) {
			why = wrong;
			*line = k->line;
		}
	}
	return why;
}

/* Returns the mistake and its line, or NULL. Each line has place for a key. */
static const char *parse_list(struct keys *ks, char *text, unsigned *line)
{
	const char *why = NULL;
	char *next = text;

	for (*line = 0; !why && (text = strsep(&next, "\n"));) {
		text += (*line)++ ? 0 : sizeof(list) - 1;
		text += strspn(text, " \t\r");
		if (*text == '\0' || *text == '#')
			continue;
		if (ks->n == KEYS_MAX)
			return "there are more than 16384 keys";
		ks->key[ks->n] = (struct key){ .line = *line };
		why = parse_line(&ks->key[ks->n], text);
		mask(&ks->key[ks->n++].prefix);
	}
	if (!why)
		why = check_keys(ks, line);
	return !why && !ks->n ? "it contains no key" : why;
}

/* -- the file ---------------------------------------------------------------------- */

static int parse(struct keys *ks, char *text, size_t len, const char *file, char *err,
		 size_t errlen)
{
	char problem[PROBLEM];
	unsigned line = 0;
	const char *why;

	if (!is_list(text)) {
		why = parse_single(ks, text, len);
		return why ? complain(err, errlen, file, why) : 0;
	}
	why = strlen(text) < len ? "it contains a zero byte" : parse_list(ks, text, &line);
	if (!why)
		return 0;
	snprintf(problem, sizeof(problem), "line %u: %s", line, why);
	return complain(err, errlen, file, problem);
}

/* In memory for secrets; NULL with an error text. */
static char *read_text(int fd, size_t *len, const char *file, char *err, size_t errlen)
{
	struct stat s;
	char *text = NULL;
	ssize_t n;

	if (fstat(fd, &s) || s.st_size > FILE_MAX) {
		complain(err, errlen, file, "it is longer than 2097152 bytes");
		return NULL;
	}
	text = sodium_malloc((size_t)s.st_size + 1);
	n = text ? read(fd, text, (size_t)s.st_size) : -1; /* reads a regular file as a whole */
	if (n < 0) {
		complain(err, errlen, file, strerror(errno));
		sodium_free(text);
		return NULL;
	}
	text[n] = '\0';
	*len = (size_t)n;
	return text;
}

static struct keys *allocate(const char *text)
{
	size_t lines = 1;
	struct keys *ks;

	for (const char *p = text; (p = strchr(p, '\n')) && lines < KEYS_MAX; p++)
		lines++;
	ks = sodium_malloc(sizeof(*ks) + lines * sizeof(*ks->key));
	if (ks)
		ks->n = ks->hosts = 0;
	return ks;
}

struct keys *key_file_read(const char *file, char *err, size_t len)
{
	const int fd = open_private(file, err, len);
	struct keys *ks = NULL;
	char *text;
	size_t n;

	if (fd < 0)
		return NULL;
	text = read_text(fd, &n, file, err, len);
	close(fd);
	if (text && !(ks = allocate(text)))
		complain(err, len, file, strerror(ENOMEM));
	if (ks && parse(ks, text, n, file, err, len)) {
		sodium_free(ks);
		ks = NULL;
	}
	sodium_free(text);
	return ks;
}

#endif
