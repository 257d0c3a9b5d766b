/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/rules.h"

#include <stdlib.h>
#include <string.h>

int ccs_rules_add(struct ccs_rules *r, const struct ccs_setting *s, bool front)
{
	const size_t value = strlen(s->value) + 1, where = strlen(s->where) + 1;
	struct ccs_setting *copy = malloc(sizeof(*copy) + value + where), **at = &r->first;

	if (!copy)
		return -1;
	while (!front && *at)
		at = &(*at)->next;
	*copy = *s;
	copy->value = memcpy((char *)(copy + 1), s->value, value);
	copy->where = memcpy((char *)(copy + 1) + value, s->where, where);
	copy->next = *at;
	*at = copy;
	return 0;
}

static void remove_at(struct ccs_setting **at)
{
	struct ccs_setting *s = *at;

	*at = s->next;
	free(s);
}

void ccs_rules_free(struct ccs_rules *r)
{
	while (r->first)
		remove_at(&r->first);
}

void ccs_rules_drop(struct ccs_rules *r, unsigned n)
{
	while (n--)
		remove_at(&r->first);
}

static bool replaces(const struct ccs_setting *s, const struct ccs_setting *old)
{
	return old->source == CCS_FROM_REQUEST && old->opt == s->opt &&
	       (!s->match.keys || (old->match.keys == s->match.keys &&
				   memcmp(&old->match.peer, &s->match.peer, sizeof(s->match.peer)) == 0));
}

void ccs_rules_prune(struct ccs_rules *r, unsigned n)
{
	const struct ccs_setting *s = r->first;

	for (; n--; s = s->next)
		for (struct ccs_setting **at = &((struct ccs_setting *)s)->next; *at;)
			if (replaces(s, *at))
				remove_at(at);
			else
				at = &(*at)->next;
}

/* Whether s, which was read later, takes precedence over best. */
static bool is_better(const struct ccs_setting *s, const struct ccs_setting *best)
{
	return !best || s->source > best->source ||
	       (s->source == best->source && s->section && !best->section);
}

const struct ccs_setting *ccs_rules_find(const struct ccs_rules *r, const struct ccs_opt *opt,
					 const struct ccs_match_subject *subject)
{
	const struct ccs_setting *best = NULL;

	for (const struct ccs_setting *s = r->first; s; s = s->next)
		if (s->opt == opt && is_better(s, best) && ccs_match_matches(&s->match, subject))
			best = s;
	return best;
}

/* Not inlined: its buffers would be in a thread's stack while values are parsed. */
static __attribute__((noinline)) int resolve_conflicts(struct ccs_options *o,
						       const struct ccs_setting **from,
						       ccs_opt_complain *complain, void *arg)
{
	const struct ccs_opt *opt;
	char err[512], sentence[640];
	int n = 0;

	for (; (opt = ccs_options_conflict(o, err, sizeof(err))); n++) {
		snprintf(sentence, sizeof(sentence), "%s: %s; the default %s is used", opt->name,
			 err, *opt->def ? opt->def : "\"\"");
		if (complain)
			complain(arg, sentence);
		ccs_opt_set(o, opt, opt->def, err, sizeof(err));
		if (from)
			from[opt - ccs_opt_table] = NULL;
	}
	return n;
}

int ccs_rules_resolve(const struct ccs_rules *r, const struct ccs_match_subject *subject,
		      struct ccs_options *o, const struct ccs_setting **from,
		      ccs_opt_complain *complain, void *arg)
{
	char err[8]; /* values were checked when they were read */

	ccs_options_default(o);
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_setting *s = ccs_rules_find(r, &ccs_opt_table[i], subject);

		if (s)
			ccs_opt_set(o, s->opt, s->value, err, sizeof(err));
		if (from)
			from[i] = s;
	}
	return resolve_conflicts(o, from, complain, arg);
}

bool ccs_rules_by_qp(const struct ccs_rules *r)
{
	for (const struct ccs_setting *s = r->first; s; s = s->next)
		if (s->match.keys & CCS_MATCH_QP)
			return true;
	return false;
}
