/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser of the option `impair`. */
#include "config/impair.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"

enum { ITEM_MAX = 128 };

#define NAME(id, text) text,
static const char *const names[] = { CCS_IMPAIR_KINDS(NAME) "delay", "jitter", "seed", "peer", "qp" };
#undef NAME

struct parser {
	struct ccs_impair *out;
	const struct ccs_address *peer;
	unsigned nth;                    /* of the connection */
	unsigned rules;                  /* read so far, for any connection */
	bool this_peer, this_qp;         /* the items that follow are for this connection */
	char *err;
	size_t errlen;
};

static int refuse_name(const struct parser *p, const char *name)
{
	struct ccs_suggestion near = ccs_suggest_for(name);
	char hint[96];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], name) == 0)
			return ccs_refuse(p->err, p->errlen, "the value of %s follows '%c'", name,
					  i < CCS_IMPAIR_COUNT ? ':' : '=');
		ccs_suggest_offer(&near, names[i]);
	}
	return ccs_refuse(p->err, p->errlen, "there is no condition or failure '%s'%s", name, near.best
			  ? ccs_suggest_hint(&near, hint, sizeof(hint)) : "; see ccshim-impair(1)");
}

static int refuse(const struct parser *p, const char *name, const char *value, const char *wanted)
{
	return ccs_refuse(p->err, p->errlen, "%s: '%s' is not %s", name, value, wanted);
}

static bool is_time(const char *text, double *us)
{
	return !ccs_parse_unit(text, CCS_UNIT_TIME, us) && *us <= 1e10;
}

static bool is_when(const char *text, struct ccs_impair_rule *r)
{
	const char *end;
	unsigned after;

	if (!ccs_parse_digits(text, UINT_MAX, &after)) {
		r->when = CCS_IMPAIR_AFTER;
		r->value = after;
		return true;
	}
	r->value = ccs_strtod(text, &end);
	r->when = *end ? CCS_IMPAIR_TIME : CCS_IMPAIR_CHANCE;
	return *end ? is_time(text, &r->value) : end != text && r->value > 0 && r->value <= 1;
}

static int parse_rule(struct parser *p, const char *name, const char *when)
{
	struct ccs_impair_rule r = { .value = 0 };

	while (r.kind < CCS_IMPAIR_COUNT && strcmp(names[r.kind], name) != 0)
		r.kind++;
	if (r.kind == CCS_IMPAIR_COUNT)
		return refuse_name(p, name);
	if (when && !is_when(when, &r))
		return refuse(p, name, when, "a number of requests (5), a probability of at most 1 "
			      "(1e-5) or a time (2s)");
	if (p->rules++ == CCS_IMPAIR_RULES)
		return ccs_refuse(p->err, p->errlen, "there are more than %d failures", CCS_IMPAIR_RULES);
	if (p->this_peer && p->this_qp)
		p->out->rule[p->out->rules++] = r;
	return 0;
}

static int parse_value(struct parser *p, const char *name, const char *value)
{
	const bool any = strcmp(value, "any") == 0;
	struct ccs_impair others, *const o = p->this_peer && p->this_qp ? p->out : &others;
	struct ccs_prefix prefix;
	unsigned n = 0;

	if (strcmp(name, "delay") == 0 || strcmp(name, "jitter") == 0)
		return is_time(value, *name == 'd' ? &o->delay_us : &o->jitter_us) ? 0
			: refuse(p, name, value, "a time such as 80us");
	if (strcmp(name, "seed") == 0)
		return ccs_parse_digits(value, UINT_MAX, &p->out->seed)
			? refuse(p, name, value, "a whole number") : 0;
	if (strcmp(name, "peer") == 0) {
		if (!any && ccs_prefix_parse(value, &prefix))
			return refuse(p, name, value, "any, an address or a prefix such as 10.0.0.0/24");
		p->this_peer = any || (p->peer && ccs_prefix_covers(&prefix, p->peer));
		return 0;
	}
	if (strcmp(name, "qp") != 0)
		return refuse_name(p, name);
	if (!any && (ccs_parse_digits(value, UINT_MAX, &n) || !n))
		return refuse(p, name, value, "any or a number from 1");
	p->this_qp = any || n == p->nth;
	return 0;
}

int ccs_impair_parse(const char *text, const struct ccs_address *peer, unsigned nth,
		     struct ccs_impair *out, char *err, size_t errlen)
{
	struct parser p = { .out = out, .peer = peer, .nth = nth, .this_peer = true,
			    .this_qp = true, .err = err, .errlen = errlen };
	char item[ITEM_MAX], *rest;

	*out = (struct ccs_impair){ .seed = 1 };
	for (bool more = *text; more; text++) {
		const size_t len = strcspn(text, ",");
		char separator;

		if (!len || len >= sizeof(item))
			return ccs_refuse(err, errlen, "'%.16s' is empty or longer than %d bytes; give "
					  "items such as delay=80us,retry:1e-5", text, ITEM_MAX - 1);
		memcpy(item, text, len);
		item[len] = '\0';
		rest = item + strcspn(item, "=:");
		separator = *rest;
		*rest = '\0';
		if (separator == '=' ? parse_value(&p, item, rest + 1)
				     : parse_rule(&p, item, separator ? rest + 1 : NULL))
			return -1;
		text += len;
		more = *text;
	}
	return 0;
}

int ccs_impair_check(const char *text, char *err, size_t errlen)
{
	struct ccs_impair out;

	return ccs_impair_parse(text, NULL, 0, &out, err, errlen);
}
