/* SPDX-License-Identifier: BSD-2-Clause */
#include "jsoncopy.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 512 /* length of a string or a key */
#define DEEPEST 16

/* Reads a value and writes it again; without a writer it only checks. */
struct copy {
	const char *p;
	struct ccs_json *to;
	int depth;
};

static bool value(struct copy *c, const char *key);

static bool skip(struct copy *c, char expected)
{
	while (isspace((unsigned char)*c->p))
		c->p++;
	if (*c->p != expected)
		return false;
	c->p++;
	return true;
}

/* Escapes of more than one character become a question mark: the shim does not write them. */
static bool string(struct copy *c, char *buf)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *escape;
	size_t n = 0;

	if (!skip(c, '"'))
		return false;
	for (; *c->p != '"'; c->p++) {
		char ch = *c->p;

		if ((unsigned char)ch < 0x20 || n == LONGEST - 1)
			return false;
		if (ch == '\\') {
			c->p++;
			escape = *c->p ? strchr(from, *c->p) : NULL;
			if (!escape && *c->p != 'u')
				return false;
			ch = escape ? to[escape - from] : '?';
			for (int i = 0; !escape && i < 4; i++)
				if (!isxdigit((unsigned char)*++c->p))
					return false;
		}
		buf[n++] = ch;
	}
	buf[n] = '\0';
	c->p++;
	return true;
}

static bool members(struct copy *c, bool object)
{
	char close = object ? '}' : ']', key[LONGEST];

	if (skip(c, close))
		return true;
	do {
		if (object && (!string(c, key) || !skip(c, ':')))
			return false;
		if (!value(c, object ? key : NULL))
			return false;
	} while (skip(c, ','));
	return skip(c, close);
}

static bool nested(struct copy *c, const char *key, bool object)
{
	bool ok;

	if (++c->depth > DEEPEST)
		return false;
	if (c->to)
		(object ? ccs_json_object : ccs_json_array)(c->to, key);
	ok = members(c, object);
	if (c->to)
		ccs_json_end(c->to);
	c->depth--;
	return ok;
}

static bool word(struct copy *c, const char *text)
{
	if (strncmp(c->p, text, strlen(text)))
		return false;
	c->p += strlen(text);
	return true;
}

static bool number(struct copy *c, const char *key)
{
	const char *start = c->p;
	char *end;
	double v;

	if (*c->p != '-' && !isdigit((unsigned char)*c->p))
		return false;
	v = strtod(c->p, &end);
	c->p = end;
	/* Counters beyond 2^53 keep all their digits. */
	if (c->to && strspn(start, "0123456789") == (size_t)(end - start))
		ccs_json_uint(c->to, key, strtoull(start, NULL, 10));
	else if (c->to)
		ccs_json_num(c->to, key, v);
	return true;
}

static bool value(struct copy *c, const char *key)
{
	char buf[LONGEST];

	if (skip(c, '{'))
		return nested(c, key, true);
	if (skip(c, '['))
		return nested(c, key, false);
	if (*c->p == '"') {
		if (!string(c, buf))
			return false;
		if (c->to)
			ccs_json_str(c->to, key, buf);
		return true;
	}
	if (word(c, "true") || word(c, "false")) {
		if (c->to)
			ccs_json_bool(c->to, key, c->p[-2] == 'u');
		return true;
	}
	if (word(c, "null")) {
		if (c->to)
			ccs_json_str(c->to, key, NULL);
		return true;
	}
	return number(c, key);
}

bool json_copy(struct ccs_json *j, const char *key, const char *text)
{
	struct copy check = { .p = text }, copy = { .p = text, .to = j };

	if (!text || !value(&check, key) || !skip(&check, '\0')) {
		ccs_json_str(j, key, NULL);
		return false;
	}
	return value(&copy, key);
}
