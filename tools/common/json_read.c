/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads JSON value by value. */
#include "json_read.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

#define DEPTH_MAX 64
#define KEY_MAX 64 /* no caller reads longer keys */

static char peek(struct json_read *j)
{
	j->at += strspn(j->at, " \t\r\n");
	return *j->at;
}

static bool skip_char(struct json_read *j, char c)
{
	if (peek(j) != c)
		return false;
	j->at++;
	return true;
}

static bool skip_word(struct json_read *j, const char *word)
{
	const size_t len = strlen(word);

	if (strncmp(j->at, word, len) != 0)
		return false;
	j->at += len;
	return true;
}

bool json_string(struct json_read *j, char *buf, size_t len)
{
	size_t n = 0;

	if (!skip_char(j, '"'))
		return false;
	for (; *j->at && *j->at != '"'; j->at++) {
		if (*j->at == '\\' && j->at[1] && n + 1 < len)
			buf[n++] = *j->at;
		j->at += *j->at == '\\' && j->at[1];
		if (n + 1 < len)
			buf[n++] = *j->at;
	}
	buf[n] = '\0';
	return skip_char(j, '"');
}

bool json_number(struct json_read *j, double *value)
{
	const char *end, *digits;
	bool negative;

	*value = NAN;
	negative = peek(j) == '-';
	if (skip_word(j, "null"))
		return true;
	digits = j->at + negative;
	if (*digits < '0' || *digits > '9')
		return false;
	*value = ccs_strtod(digits, &end);
	if (negative)
		*value = -*value;
	j->at = end;
	return true;
}

/* Read the items between the brackets, each with one(). */
static bool read_list(struct json_read *j, const char *brackets, bool (*one)(struct json_read *, void *),
		 void *arg)
{
	if (!skip_char(j, brackets[0]) || ++j->depth > DEPTH_MAX)
		return false;
	if (peek(j) != brackets[1])
		do {
			if (!one(j, arg))
				return false;
		} while (skip_char(j, ','));
	j->depth--;
	return skip_char(j, brackets[1]);
}

bool json_array(struct json_read *j, json_item *item, void *arg)
{
	return read_list(j, "[]", item, arg);
}

struct members {
	json_member *member;
	void *arg;
};

static bool one_member(struct json_read *j, void *arg)
{
	const struct members *m = arg;
	char key[KEY_MAX];

	return json_string(j, key, sizeof(key)) && skip_char(j, ':') && m->member(j, key, m->arg);
}

bool json_object(struct json_read *j, json_member *member, void *arg)
{
	struct members m = { .member = member, .arg = arg };

	return read_list(j, "{}", one_member, &m);
}

static bool skip_member(struct json_read *j, const char *key, void *arg)
{
	(void)key;
	(void)arg;
	return json_skip(j);
}

static bool skip_item(struct json_read *j, void *arg)
{
	(void)arg;
	return json_skip(j);
}

bool json_skip(struct json_read *j)
{
	double number;
	char text[2];

	switch (peek(j)) {
	case '{': return json_object(j, skip_member, NULL);
	case '[': return json_array(j, skip_item, NULL);
	case '"': return json_string(j, text, sizeof(text));
	case 't': return skip_word(j, "true");
	case 'f': return skip_word(j, "false");
	default: return json_number(j, &number);
	}
}

bool json_end(struct json_read *j)
{
	return peek(j) == '\0';
}
