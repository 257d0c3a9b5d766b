/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX_TLS, the transports that UCX may use: a list of names and of aliases for several; ^ before
 * it excludes them instead, and a backslash before a name disables the alias.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"

#define WITHOUT_DIRECT "^rc_x,ud_x,dc_x"

/* The transports of direct verbs, and all names that include them. */
static const struct transport {
	const char *name;
	const char *names[5];
} direct[] = {
	{ "rc_x", { "rc_x", "rc_mlx5", "rc", "ib" } },
	{ "ud_x", { "ud_x", "ud_mlx5", "ud", "ib" } },
	{ "dc_x", { "dc_x", "dc_mlx5", "dc", "ib" } },
};

enum { DIRECT = sizeof(direct) / sizeof(*direct) };

static bool is_named(const struct transport *t, const char *word, size_t len)
{
	if (len && *word == '\\')
		word++, len--;
	for (unsigned i = 0; t->names[i]; i++)
		if (strlen(t->names[i]) == len && strncmp(t->names[i], word, len) == 0)
			return true;
	return len == 3 && strncmp(word, "all", len) == 0;
}

static bool list_has(const char *list, const struct transport *t)
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (is_named(t, list, n))
			return true;
	}
	return false;
}

bool command_ucx_is_direct(const char *tls)
{
	const bool negated = tls && *tls == '^';

	if (!tls || !*tls)
		return true;
	for (unsigned i = 0; i < DIRECT; i++)
		if (list_has(tls + negated, &direct[i]) != negated)
			return true;
	return false;
}

static bool append(char *out, size_t len, const char *word, size_t n)
{
	const size_t at = strlen(out);

	return snprintf(out + at, len - at, "%s%.*s", at && out[at - 1] != '^' ? "," : "", (int)n, word) <
	       (int)(len - at);
}

/* Copy the exclusions and add the missing ones. */
static bool exclude(const char *tls, char *out, size_t len)
{
	if (snprintf(out, len, "%s", tls) >= (int)len)
		return false;
	for (unsigned i = 0; i < DIRECT; i++)
		if (!list_has(tls + 1, &direct[i]) &&
		    !append(out, len, direct[i].name, strlen(direct[i].name)))
			return false;
	return true;
}

bool command_ucx_without_direct(const char *tls, char *out, size_t len)
{
	bool all = false, rc = false, ud = false;

	if (tls && *tls == '^')
		return exclude(tls, out, len);
	*out = '\0';
	for (size_t n; tls && *tls; tls += n + (tls[n] == ',')) {
		n = strcspn(tls, ",");
		all |= n == 3 && strncmp(tls, "all", n) == 0;
		rc |= is_named(&direct[0], tls, n) || is_named(&direct[2], tls, n);
		ud |= is_named(&direct[1], tls, n);
		if (!is_named(&direct[0], tls, n) && !is_named(&direct[1], tls, n) &&
		    !is_named(&direct[2], tls, n) && !append(out, len, tls, n))
			return false;
	}
	if (all || !(rc || ud || *out))
		return snprintf(out, len, WITHOUT_DIRECT) < (int)len;
	return (!rc || append(out, len, "rc_v", 4)) && (!ud || append(out, len, "ud_v", 4));
}
