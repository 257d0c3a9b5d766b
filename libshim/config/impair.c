/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser of the option `impair`. */
#include "config/impair.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"

enum { ITEM_MAX = 128 };

#define NAME(id, text) text,
static const char *const kinds[] = { CCS_IMPAIR_KINDS(NAME) };
#undef NAME
static const char *const keys[] = { "rate", "delay", "jitter", "seed", "peer", "qp", NULL };

struct parser {
	struct ccs_impair *out;
	const struct ccs_address *peer;
	unsigned nth;                    /* of the connection */
	unsigned links, rules;           /* read so far, for any connection */
	bool this_peer, this_qp;         /* the items that follow are for this connection */
	char *err;
	size_t errlen;
};

static int refuse_name(const char *name, const struct parser *p)
{
	struct ccs_suggestion near = ccs_suggest_for(name);
	char hint[96];

	for (unsigned i = 0; i < CCS_IMPAIR_COUNT; i++)
		ccs_suggest_offer(&near, kinds[i]);
	for (unsigned i = 0; keys[i]; i++)
		ccs_suggest_offer(&near, keys[i]);
	return ccs_refuse(p->err, p->errlen, "there is no condition or failure '%s'%s", name, near.best
			  ? ccs_suggest_hint(&near, hint, sizeof(hint)) : "; see ccshim-impair(1)");
}

static int parse_time(const char *name, const char *text, double *us, const struct parser *p)
{
	if (!ccs_parse_unit(text, CCS_UNIT_TIME, us) && *us <= 1e10)
		return 0;
	return ccs_refuse(p->err, p->errlen, "%s: '%s' is not a time up to 10000s, such as 80us",
			  name, text);
}

static int parse_when(const char *name, const char *text, struct ccs_impair_rule *r,
		      const struct parser *p)
{
	const char *end;
	unsigned after;

	if (!ccs_parse_digits(text, UINT_MAX, &after)) {
		r->when = CCS_IMPAIR_AFTER;
		r->value = after;
		return 0;
	}
	r->when = CCS_IMPAIR_CHANCE;
	r->value = ccs_strtod(text, &end);
	if (end != text && !*end && r->value > 0 && r->value <= 1)
		return 0;
	r->when = CCS_IMPAIR_TIME;
	if (*end && !ccs_parse_unit(text, CCS_UNIT_TIME, &r->value) && r->value <= 1e10)
		return 0;
	return ccs_refuse(p->err, p->errlen, "%s: '%s' is neither a number of requests (5), a "
			  "probability up to 1 (1e-5) nor a time (2s)", name, text);
}

/* KIND[:WHEN[:TIME]]; the rest is NULL, or follows the first colon. */
static int parse_rule(const char *name, char *when, struct parser *p)
{
	struct ccs_impair_rule r = { .duration_us = INFINITY };
	char *duration = when ? strchr(when, ':') : NULL;

	while (r.kind < CCS_IMPAIR_COUNT && strcmp(kinds[r.kind], name) != 0)
		r.kind++;
	if (r.kind == CCS_IMPAIR_COUNT)
		return refuse_name(name, p);
	if (duration)
		*duration++ = '\0';
	if (duration && r.kind != CCS_IMPAIR_PORT)
		return ccs_refuse(p->err, p->errlen, "%s: ':%s' is a duration, which only port has; "
				  "remove it", name, duration);
	if ((when && parse_when(name, when, &r, p)) ||
	    (duration && parse_time(name, duration, &r.duration_us, p)))
		return -1;
	if (p->rules++ == CCS_IMPAIR_RULES)
		return ccs_refuse(p->err, p->errlen, "there are more than %d failures",
				  CCS_IMPAIR_RULES);
	if (p->this_peer && p->this_qp)
		p->out->rule[p->out->rules++] = r;
	return 0;
}

static int parse_rate(const char *value, double *rate, struct parser *p)
{
	if (ccs_parse_unit(value, CCS_UNIT_RATE, rate) || !(*rate >= 1e3 && *rate <= 1e15))
		return ccs_refuse(p->err, p->errlen, "rate: '%s' is not a rate from 1k to 1e15, such "
				  "as 25g", value);
	if (p->links++ == CCS_IMPAIR_LINKS)
		return ccs_refuse(p->err, p->errlen, "there are more than %d rates", CCS_IMPAIR_LINKS);
	return 0;
}

static int parse_peer(const char *value, struct parser *p)
{
	struct ccs_prefix prefix;
	const bool any = strcmp(value, "any") == 0;

	if (!any && ccs_prefix_parse(value, &prefix))
		return ccs_refuse(p->err, p->errlen, "peer: '%s' is neither any, an address nor a "
				  "prefix such as 10.0.0.0/24", value);
	p->this_peer = any || (p->peer && ccs_prefix_covers(&prefix, p->peer));
	return 0;
}

static int parse_number(const char *name, const char *value, unsigned *n, const struct parser *p)
{
	if (!ccs_parse_digits(value, UINT_MAX, n))
		return 0;
	return ccs_refuse(p->err, p->errlen, "%s: '%s' is not a whole number", name, value);
}

static int parse_qp(const char *value, struct parser *p)
{
	unsigned n = 0;

	p->this_qp = strcmp(value, "any") == 0;
	if (p->this_qp)
		return 0;
	if (parse_number("qp", value, &n, p))
		return -1;
	p->this_qp = n == p->nth;
	return n ? 0 : ccs_refuse(p->err, p->errlen, "qp: connections are counted from 1");
}

static int parse_key(const char *name, const char *value, struct parser *p)
{
	const bool ours = p->this_peer && p->this_qp;
	struct ccs_impair others, *const o = ours ? p->out : &others;

	if (strcmp(name, "delay") == 0)
		return parse_time(name, value, &o->delay_us, p);
	if (strcmp(name, "jitter") == 0)
		return parse_time(name, value, &o->jitter_us, p);
	if (strcmp(name, "seed") == 0)
		return parse_number(name, value, &p->out->seed, p);
	if (strcmp(name, "peer") == 0)
		return parse_peer(value, p);
	if (strcmp(name, "qp") == 0)
		return parse_qp(value, p);
	if (strcmp(name, "rate") != 0)
		return refuse_name(name, p);
	if (ours)
		o->link = p->links;
	return parse_rate(value, &o->rate, p);
}

static int parse_item(char *item, struct parser *p)
{
	char *const rest = item + strcspn(item, "=:");
	const char separator = *rest;

	*rest = '\0';
	return separator == '=' ? parse_key(item, rest + 1, p)
				: parse_rule(item, separator ? rest + 1 : NULL, p);
}

int ccs_impair_parse(const char *text, const struct ccs_address *peer, unsigned nth,
		     struct ccs_impair *out, char *err, size_t errlen)
{
	struct parser p = { .out = out, .peer = peer, .nth = nth, .this_peer = true,
			    .this_qp = true, .err = err, .errlen = errlen };
	char item[ITEM_MAX];
	size_t len;

	*out = (struct ccs_impair){ .seed = 1 };
	for (bool more = *text; more; text += len + more) {
		len = strcspn(text, ",");
		more = text[len];
		if (!len || len >= sizeof(item))
			return ccs_refuse(err, errlen, "'%.16s' is empty or longer than %d bytes; give "
					  "items such as delay=80us,retry:1e-5", text, ITEM_MAX - 1);
		memcpy(item, text, len);
		item[len] = '\0';
		if (parse_item(item, &p))
			return -1;
	}
	return 0;
}

int ccs_impair_check(const char *text, char *err, size_t errlen)
{
	struct ccs_impair out;

	return ccs_impair_parse(text, NULL, 0, &out, err, errlen);
}
