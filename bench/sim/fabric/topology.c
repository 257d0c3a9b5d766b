/* SPDX-License-Identifier: BSD-2-Clause */
/* Generates topologies. */
#include "topology.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

enum { TIERS = 3, STARS = 4 };

/* The generated topology: a three-tier Clos; the others are special cases of it. */
struct shape {
	unsigned pods, tors, aggregates, cores, hosts; /* TORS and AGGREGATES of a pod, HOSTS of a ToR */
	bool dual;                                     /* hosts have a second link */
	double rate[TIERS];
	double delay_us;
};

static bool parse_rates(struct shape *s, const char *text)
{
	char copy[128], *at = copy, *word;
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&at, ":"))) {
		if (n == TIERS || ccs_parse_unit(word, CCS_UNIT_RATE, &s->rate[n]) ||
		    !topology_rate_is_possible(s->rate[n]))
			return false;
		n++;
	}
	for (; n < TIERS; n++)
		s->rate[n] = s->rate[n - 1];
	return true;
}

static bool parse_counts(struct shape *s, const char *text)
{
	int end = 0;

	*s = (struct shape){ .pods = 1, .tors = 1, .delay_us = s->delay_us };
	if (sscanf(text, "leaf-spine:%5ux%5ux%5u@%n", &s->tors, &s->hosts, &s->aggregates, &end) == 3 &&
	    end && s->aggregates)
		return parse_rates(s, text + end);
	if (sscanf(text, "clos:%5ux%5ux%5ux%5u/%n", &s->pods, &s->tors, &s->aggregates, &s->cores,
		   &end) != 4 || !end)
		return false;
	text += end;
	s->dual = strncmp(text, "2x", 2) == 0;
	text += s->dual ? 2 : 0;
	end = 0;
	return sscanf(text, "%5u@%n", &s->hosts, &end) == 1 && end && s->aggregates &&
	       s->cores % s->aggregates == 0 && !(s->dual && s->tors < 2) &&
	       (s->cores || s->pods == 1) && parse_rates(s, text + end);
}

/* Switches in a row, or one switch, whose hosts' links have several rates. */
struct row {
	unsigned switches, kinds, hosts[STARS]; /* hosts: per switch */
	double rate[STARS], between;
};

static bool parse_star(struct row *r, const char *text)
{
	char copy[128], *at = copy, *word;

	*r = (struct row){ .switches = 1 };
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&at, ","))) {
		int end = 0;

		if (r->kinds == STARS || sscanf(word, "%5u@%n", &r->hosts[r->kinds], &end) != 1 || !end ||
		    ccs_parse_unit(word + end, CCS_UNIT_RATE, &r->rate[r->kinds]) ||
		    !topology_rate_is_possible(r->rate[r->kinds]) || !r->hosts[r->kinds])
			return false;
		r->kinds++;
	}
	return true;
}

static bool parse_chain(struct row *r, const char *text)
{
	struct shape s = { 0 };
	int end = 0;

	*r = (struct row){ .kinds = 1 };
	if (sscanf(text, "%5ux%5u@%n", &r->switches, r->hosts, &end) != 2 || !end ||
	    !parse_rates(&s, text + end) || !r->switches || !*r->hosts)
		return false;
	r->rate[0] = s.rate[0];
	r->between = s.rate[1];
	return true;
}

static void add(struct topology *t, const struct shape *s, unsigned from, unsigned to, unsigned tier)
{
	t->link[t->links++] = (struct topology_link){ from, to, s->rate[tier], s->delay_us };
}

static void build(struct topology *t, const struct shape *s)
{
	const unsigned tors = s->pods * s->tors, tor = tors * s->hosts, aggregate = tor + tors;
	const unsigned core = aggregate + s->pods * s->aggregates;

	for (unsigned i = 0; i < tors; i++) {
		const unsigned pod = i / s->tors;

		for (unsigned h = 0; h < s->hosts; h++) {
			add(t, s, i * s->hosts + h, tor + i, 0);
			if (s->dual)
				add(t, s, i * s->hosts + h, tor + pod * s->tors + (i + 1) % s->tors, 0);
		}
		for (unsigned a = 0; a < s->aggregates; a++)
			add(t, s, tor + i, aggregate + pod * s->aggregates + a, 1);
	}
	for (unsigned i = 0; i < s->pods * s->aggregates && s->cores; i++)
		for (unsigned c = i % s->aggregates; c < s->cores; c += s->aggregates)
			add(t, s, aggregate + i, core + c, 2);
	for (unsigned i = tor; i < t->nodes; i++)
		t->is_switch[i] = true;
}

static bool generate(struct topology *t, const struct shape *s)
{
	const double tors = (double)s->pods * s->tors;
	const double aggregates = (double)s->pods * s->aggregates;
	const double nodes = tors * s->hosts + tors + aggregates + s->cores;
	const double links = tors * s->hosts * (s->dual ? 2 : 1) + tors * s->aggregates +
			     (s->aggregates ? aggregates * s->cores / s->aggregates : 0);

	if (!(tors > 0) || !s->hosts || nodes >= TOPOLOGY_NODES_MAX || links >= TOPOLOGY_LINKS_MAX)
		return false;
	if (!topology_allocate(t, (unsigned)nodes, (unsigned)links))
		return false;
	t->links = 0;
	build(t, s);
	return true;
}

static bool generate_row(struct topology *t, const struct row *r, double delay_us)
{
	unsigned each = 0, host = 0;

	for (unsigned k = 0; k < r->kinds; k++)
		each += r->hosts[k];
	if ((double)r->switches * (each + 1.0) >= TOPOLOGY_NODES_MAX ||
	    !topology_allocate(t, r->switches * (each + 1), r->switches * (each + 1) - 1))
		return false;
	t->links = 0;
	for (unsigned i = 0; i < r->switches; i++) {
		const unsigned node = r->switches * each + i;

		t->is_switch[node] = true;
		for (unsigned k = 0; k < r->kinds; k++)
			for (unsigned h = 0; h < r->hosts[k]; h++)
				t->link[t->links++] = (struct topology_link){
					host++, node, r->rate[k], delay_us };
		if (i + 1 < r->switches)
			t->link[t->links++] = (struct topology_link){
				node, node + 1, r->between, delay_us };
	}
	return true;
}

bool fab_has_negative(const char *text)
{
	for (const char *p = text; (p = strchr(p, '-')); p++)
		if (p == text || !isalnum((unsigned char)p[-1]))
			return true;
	return false;
}

bool fab_topology(struct topology *t, const char *text, double delay_us, char *err, size_t len)
{
	struct shape s = { .delay_us = delay_us };
	struct row row;

	*t = (struct topology){ 0 };
	if (strncmp(text, "star:", 5) && strncmp(text, "chain:", 6) && strncmp(text, "leaf-spine:", 11) && strncmp(text, "clos:", 5))
		return topology_read(t, text, err, len);
	if ((strncmp(text, "star:", 5) == 0 && parse_star(&row, text + 5)) ||
	    (strncmp(text, "chain:", 6) == 0 && parse_chain(&row, text + 6))) {
		if (!fab_has_negative(text) && generate_row(t, &row, delay_us))
			return true;
	} else if (!fab_has_negative(text) && parse_counts(&s, text) && generate(t, &s)) {
		return true;
	}
	topology_free(t);
	snprintf(err, len, "'%s' is no topology: star:16@100g, leaf-spine:4x8x2@100g:400g and "
		 "clos:4x4x4x8/20@100g:400g are, with rates of " TOPOLOGY_RATES " bit/s", text);
	return false;
}
