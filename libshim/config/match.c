/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/match.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"

#define SYNTAX "expected [app \"GLOB\"], [peer ADDRESS/BITS], [device GLOB], [port N], " \
	       "[dscp N], [sl N], [share N%], or several of these in one section"

static int parse_glob(char glob[64], const char *value)
{
	if (!*value || strlen(value) >= 64)
		return -1;
	strcpy(glob, value);
	return 0;
}

static int parse_share(double *share, const char *value)
{
	const char *end;
	const double percent = ccs_strtod(value, &end);

	if (end == value || strcmp(end, "%") || !(percent > 0 && percent <= 100))
		return -1;
	*share = percent;
	return 0;
}

static const struct key {
	const char *name;
	enum ccs_match_key key;
	const char *what;
} keys[] = {
	{ "app", CCS_MATCH_APP, "a pattern of up to 63 bytes for a program's name" },
	{ "peer", CCS_MATCH_PEER, "an address such as 10.0.0.0/24 or fe80::/10" },
	{ "device", CCS_MATCH_DEVICE, "a pattern of up to 63 bytes for a device's name" },
	{ "port", CCS_MATCH_PORT, "a port, 1 to 255" },
	{ "dscp", CCS_MATCH_DSCP, "a DSCP, 0 to 63" },
	{ "sl", CCS_MATCH_SL, "a service level, 0 to 15" },
	{ "share", CCS_MATCH_SHARE, "a percentage such as 10% or 0.5%, above 0% and up to 100%" },
};
enum { KEYS = sizeof(keys) / sizeof(*keys) };

static const struct key *find_key(const char *name, char *err, size_t errlen)
{
	struct ccs_suggestion near = ccs_suggest_for(name);
	char hint[96];

	for (unsigned i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
		ccs_suggest_offer(&near, keys[i].name);
	}
	ccs_suggest_offer(&near, "tenant");
	snprintf(err, errlen, "unknown section key '%s'%s%s", name,
		 ccs_suggest_hint(&near, hint, sizeof(hint)), near.best ? "" : "; " SYNTAX);
	return NULL;
}

static int parse_value(struct ccs_match *m, enum ccs_match_key key, const char *value)
{
	switch (key) {
	case CCS_MATCH_APP: return parse_glob(m->app, value);
	case CCS_MATCH_PEER: return ccs_prefix_parse(value, &m->peer);
	case CCS_MATCH_DEVICE: return parse_glob(m->device, value);
	case CCS_MATCH_PORT: return ccs_parse_digits(value, 255, &m->port) || !m->port ? -1 : 0;
	case CCS_MATCH_DSCP: return ccs_parse_digits(value, 63, &m->dscp);
	case CCS_MATCH_SHARE: return parse_share(&m->share, value);
	default: return ccs_parse_digits(value, 15, &m->sl);
	}
}

int ccs_match_add_key(struct ccs_match *m, const char *name, const char *value, char *err,
		   size_t errlen)
{
	const struct key *key = find_key(name, err, errlen);

	if (!key)
		return -1;
	if (m->keys & key->key)
		return ccs_refuse(err, errlen,
				  "'%s' is given twice; a section may have each key only once",
				  name);
	if (parse_value(m, key->key, value))
		return ccs_refuse(err, errlen, "%s: '%.64s' is not %s", name, value, key->what);
	m->keys |= key->key;
	return 0;
}

static const char *skip_blanks(const char *p)
{
	while (ccs_is_blank(*p))
		p++;
	return p;
}

/* Copy the word at *p, perhaps in quotes, and advance *p. False: no word, no closing quote, or
 * too long. */
static bool read_word(const char **p, char *word, size_t len)
{
	const bool quoted = **p == '"';
	const char *from = *p + quoted;
	const size_t n = quoted ? strcspn(from, "\"") : strcspn(from, " \t\r]\"#");

	*p = from + n + quoted;
	if ((quoted && !from[n]) || (!quoted && !n) || n >= len)
		return false;
	memcpy(word, from, n);
	word[n] = '\0';
	return true;
}

/* Parse the pairs of words up to the ]; *end points after it. */
static int parse_words(struct ccs_match *m, const char *line, const char **end, char *err,
		       size_t errlen)
{
	char name[32], value[128];
	const char *p = skip_blanks(line + 1);

	snprintf(err, errlen, "%s", SYNTAX);
	while (*p != ']') {
		if (*p == '"' || !read_word(&p, name, sizeof(name)) || !ccs_is_blank(*p))
			return -1;
		p = skip_blanks(p);
		if (!read_word(&p, value, sizeof(value)))
			return -1;
		if (ccs_match_add_key(m, name, value, err, errlen))
			return -1;
		if (!ccs_is_blank(*p) && *p != ']')
			return ccs_refuse(err, errlen, "%s", SYNTAX);
		p = skip_blanks(p);
		snprintf(err, errlen, "%s", SYNTAX);
	}
	*end = p + 1;
	return m->keys ? 0 : -1;
}

int ccs_match_parse(struct ccs_match *m, const char *line, char *err, size_t errlen)
{
	const char *end = line;

	*m = (struct ccs_match){ 0 };
	if (parse_words(m, line, &end, err, errlen))
		return -1;
	if (snprintf(m->text, sizeof(m->text), "%.*s", (int)(end - line), line) >=
	    (int)sizeof(m->text))
		return ccs_refuse(err, errlen, "the section's header is longer than %zu bytes",
				  sizeof(m->text) - 1);
	end = skip_blanks(end);
	if (*end && *end != '#')
		return ccs_refuse(err, errlen, "nothing may follow the ] of a section");
	return 0;
}

bool ccs_match_matches(const struct ccs_match *m, const struct ccs_match_subject *subject)
{
	const struct ccs_address peer = ccs_address_of(subject->peer);

	if (m->keys & ~subject->known)
		return false;
	return (!(m->keys & CCS_MATCH_APP) || fnmatch(m->app, subject->app, 0) == 0) &&
	       (!(m->keys & CCS_MATCH_PEER) || ccs_prefix_covers(&m->peer, &peer)) &&
	       (!(m->keys & CCS_MATCH_DEVICE) || fnmatch(m->device, subject->device, 0) == 0) &&
	       (!(m->keys & CCS_MATCH_PORT) || m->port == subject->port) &&
	       (!(m->keys & CCS_MATCH_DSCP) || m->dscp == subject->dscp) &&
	       (!(m->keys & CCS_MATCH_SL) || m->sl == subject->sl) &&
	       (!(m->keys & CCS_MATCH_SHARE) || subject->place <= m->share);
}
