/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan deadlock. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/cbd.h"
#include "plan.h"
#include "plan_network.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/terminal.h"

static const struct plan_option options[] = {
	{ "clos", "TORSxAGGSxCORES", "4x4x2", "the network; cores may be left out", "!topology" },
	{ "topology", "FILE", NULL, "the network, in the HPCC simulator's format", NULL },
	{ "failures", "N", "1", "each set of N failures, 0 to 4", "!fail" },
	{ "fail", "LINK,...", NULL, "only this set, such as t0-a0,t1-a1", NULL },
	{ "nodes", NULL, NULL, "include failures of aggregates and cores", "!fail" },
	{ "summaries", NULL, NULL, "cores know only a summary of the routes", NULL },
	{ "transient", NULL, NULL, "each mixture of old and new tables", NULL },
	{ "examples", "N", "3", "cycles that the table shows", "!json" },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "link X depends on link Y if packets to a destination leave by Y where X ends; a cycle of "
	  "dependencies is necessary for a deadlock (Tarjan's strongly connected components)",
	  "UCloud's article, section Deadlock; Hu et al., HotNets 2016" },
	{ "routes: all shortest paths; sources: ToRs and cores; destinations: ToRs", "Clos with ECMP" },
	{ "transient: each changed switch has its old or its new table; a failed link carries nothing",
	  "UCloud's article, on micro-loops" },
	{ 0 }
};

enum { FAILURES_MAX = 4, CHANGES_MAX = 16, JSON_CYCLES_MAX = 1000 };

#define CASES_MAX 1000000.0
#define MIXTURES_MAX 10000000ul

struct deadlock {
	struct plan *p;
	struct plan_network n;
	struct ccs_cbd *cbd;
	bool summaries, transient;
	bool titled;                   /* the table's title is printed */
	unsigned elements;             /* that may fail: links, then switches above tier 0 */
	unsigned *element;             /* a link if below net.links, or a switch */
	bool *failed;                  /* per link */
	uint64_t *old, *new, *mixed;
	unsigned *cycle, cycle_len;    /* the current case's, or its first bad mixture's */
	bool loop, is_bad;
	unsigned changed[CHANGES_MAX], changes;
	unsigned examples, printed;
	unsigned long cases, bad, loops, mixtures, bad_mixtures;
};

static const char *name_of(const struct deadlock *d, unsigned s)
{
	return d->n.name[s];
}

static void name_element(const struct deadlock *d, unsigned element, char *buf, size_t len)
{
	const struct ccs_cbd_net *net = &d->n.net;

	if (element >= net->links)
		snprintf(buf, len, "%s", name_of(d, element - net->links));
	else
		snprintf(buf, len, "%s-%s", name_of(d, net->link[element].a),
			 name_of(d, net->link[element].b));
}

static void fail_element(struct deadlock *d, unsigned element)
{
	const struct ccs_cbd_net *net = &d->n.net;

	for (unsigned l = 0; l < net->links; l++)
		if (l == element || net->link[l].a + net->links == element ||
		    net->link[l].b + net->links == element)
			d->failed[l] = true;
}

static bool is_bad_table(struct deadlock *d, const uint64_t *table)
{
	const bool loop = ccs_cbd_depend(d->cbd, d->failed, table);
	unsigned *cycle = d->is_bad ? d->cycle + 2 * d->n.net.links : d->cycle; /* keep the first cycle */
	const unsigned len = ccs_cbd_cycle(d->cbd, cycle);

	if (!d->is_bad && (len || loop)) {
		d->is_bad = true;
		d->cycle_len = len;
	}
	d->loop |= loop;
	return len || loop;
}

static void find_changed(struct deadlock *d)
{
	const unsigned len = ccs_cbd_table_len(d->cbd), switches = d->n.net.switches;

	d->changes = 0;
	for (unsigned s = 0; s < switches && d->changes <= CHANGES_MAX; s++)
		for (unsigned i = s; i < len; i += switches)
			if (d->old[i] != d->new[i]) {
				if (d->changes < CHANGES_MAX)
					d->changed[d->changes] = s;
				d->changes++;
				break;
			}
}

static void mix_tables(struct deadlock *d, unsigned mixture)
{
	const unsigned len = ccs_cbd_table_len(d->cbd), switches = d->n.net.switches;

	memcpy(d->mixed, d->old, len * sizeof(*d->mixed));
	for (unsigned c = 0; c < d->changes; c++)
		for (unsigned i = d->changed[c]; mixture & 1u << c && i < len; i += switches)
			d->mixed[i] = d->new[i];
}

static bool try_mixtures(struct deadlock *d)
{
	find_changed(d);
	if (d->changes > CHANGES_MAX) {
		plan_refuse(d->p, "transient", "more than %d switches change their tables", CHANGES_MAX);
		return false;
	}
	if (d->mixtures > MIXTURES_MAX) {
		plan_refuse(d->p, "transient", "more than %lu mixtures: name a set with --fail", MIXTURES_MAX);
		return false;
	}
	for (unsigned m = 0; m < 1u << d->changes; m++) {
		mix_tables(d, m);
		d->bad_mixtures += is_bad_table(d, d->mixed);
		d->mixtures++;
	}
	return true;
}

static void name_failed(const struct deadlock *d, const unsigned *pick, unsigned picks, char *buf,
			size_t len)
{
	size_t used = 0;

	snprintf(buf, len, "%s", picks ? "" : "nothing");
	for (unsigned i = 0; i < picks && used + 2 * PLAN_NAME_LEN + 4 < len; i++) {
		used += (size_t)snprintf(buf + used, len - used, "%s", i ? ", " : "");
		name_element(d, pick[i], buf + used, len - used);
		used = strlen(buf);
	}
}

static void name_directed(const struct deadlock *d, unsigned id, char *buf, size_t len)
{
	const struct ccs_cbd_link *link = &d->n.net.link[id / 2];

	snprintf(buf, len, "%s>%s", name_of(d, id & 1 ? link->b : link->a),
		 name_of(d, id & 1 ? link->a : link->b));
}

static void json_case(struct deadlock *d, const char *failed)
{
	struct ccs_json *j = &d->p->j;
	char name[2 * PLAN_NAME_LEN + 2];

	if (d->printed++ >= JSON_CYCLES_MAX)
		return;
	ccs_json_object(j, NULL);
	ccs_json_str(j, "failed", failed);
	ccs_json_bool(j, "forwarding_loop", d->loop);
	ccs_json_array(j, "links");
	for (unsigned i = 0; i < d->cycle_len; i++) {
		name_directed(d, d->cycle[i], name, sizeof(name));
		ccs_json_str(j, NULL, name);
	}
	ccs_json_end(j);
	ccs_json_end(j);
}

/* Before the first case: until then the network or the failures may be refused. */
static void print_title(struct deadlock *d)
{
	if (!d->titled)
		printf("Cyclic buffer dependencies of %u switches, %u links between them\n\n",
		       d->n.net.switches, d->n.net.links);
	d->titled = true;
}

static void print_case(struct deadlock *d, const char *failed)
{
	char *text = NULL, name[2 * PLAN_NAME_LEN + 2];
	size_t len = 0;
	FILE *f;

	if (d->printed++ >= d->examples || !(f = open_memstream(&text, &len)))
		return;
	for (unsigned i = 0; i < d->cycle_len; i++) {
		name_directed(d, d->cycle[i], name, sizeof(name));
		fprintf(f, " %s", name);
	}
	fclose(f);
	print_title(d);
	printf("  failed: %s%s\n", failed, d->loop ? " (with a forwarding loop)" : "");
	terminal_print(stdout, "      ", "    cycle:%s", text);
	free(text);
}

static bool try_case(struct deadlock *d, const unsigned *pick, unsigned picks)
{
	char failed[128];

	memset(d->failed, 0, d->n.net.links * sizeof(*d->failed));
	for (unsigned i = 0; i < picks; i++)
		fail_element(d, pick[i]);
	d->is_bad = d->loop = false;
	d->cycle_len = d->changes = 0;
	ccs_cbd_routes(d->cbd, d->failed, d->summaries, d->new);
	if (d->transient ? !try_mixtures(d) : (is_bad_table(d, d->new), false))
		return false;
	d->cases++;
	d->loops += d->loop;
	if (!d->is_bad)
		return true;
	d->bad++;
	name_failed(d, pick, picks, failed, sizeof(failed));
	if (d->p->json)
		json_case(d, failed);
	else
		print_case(d, failed);
	return true;
}

/* All sets of `failures` elements. */
static bool try_all(struct deadlock *d, unsigned failures, unsigned first, unsigned *pick, unsigned n)
{
	if (n == failures)
		return try_case(d, pick, n);
	for (unsigned e = first; e < d->elements; e++) {
		pick[n] = d->element[e];
		if (!try_all(d, failures, e + 1, pick, n + 1))
			return false;
	}
	return true;
}

static bool find_element(struct deadlock *d, const char *name, unsigned *found)
{
	char known[2 * PLAN_NAME_LEN + 2];

	for (unsigned e = 0; e < d->n.net.links + d->n.net.switches; e++) {
		name_element(d, e, known, sizeof(known));
		*found = e;
		if (strcmp(known, name) == 0)
			return true;
	}
	name_element(d, 0, known, sizeof(known));
	plan_refuse(d->p, "fail", "there is no link or switch '%s'; the first link is %s", name, known);
	return false;
}

static bool try_given(struct deadlock *d)
{
	char *list = strdup(plan_text(d->p, "fail")), *at = list, *text;
	unsigned pick[FAILURES_MAX], n = 0;

	while (list && !d->p->failed && (text = strsep(&at, ","))) {
		if (n == FAILURES_MAX)
			plan_refuse(d->p, "fail", "more than %d failures", FAILURES_MAX);
		else
			find_element(d, text, &pick[n++]);
	}
	free(list);
	return !d->p->failed && try_case(d, pick, n);
}

static void list_elements(struct deadlock *d)
{
	const struct ccs_cbd_net *net = &d->n.net;

	for (unsigned l = 0; l < net->links; l++)
		d->element[d->elements++] = l;
	for (unsigned s = 0; plan_text(d->p, "nodes") && s < net->switches; s++)
		if (net->tier[s] > 0)
			d->element[d->elements++] = net->links + s;
}

static bool allocate(struct deadlock *d)
{
	const struct ccs_cbd_net *net = &d->n.net;
	size_t len;

	d->cbd = ccs_cbd_new(net);
	if (!d->cbd) {
		plan_refuse(d->p, plan_text(d->p, "topology") ? "topology" : "clos",
			    "a switch has more than %d links to others, or memory is too small",
			    CCS_CBD_PORTS);
		return false;
	}
	len = ccs_cbd_table_len(d->cbd) + 1u;
	d->element = calloc(net->links + net->switches + 1, sizeof(*d->element));
	d->failed = calloc(net->links + 1, sizeof(*d->failed));
	d->old = calloc(len, sizeof(*d->old));
	d->new = calloc(len, sizeof(*d->new));
	d->mixed = calloc(len, sizeof(*d->mixed));
	d->cycle = calloc(4 * (size_t)net->links + 1, sizeof(*d->cycle));
	if (!d->element || !d->failed || !d->old || !d->new || !d->mixed || !d->cycle)
		plan_refuse(d->p, "clos", "out of memory");
	return !d->p->failed;
}

static void release(struct deadlock *d)
{
	ccs_cbd_free(d->cbd);
	plan_free_network(&d->n);
	free(d->element);
	free(d->failed);
	free(d->old);
	free(d->new);
	free(d->mixed);
	free(d->cycle);
}

static double count_cases(unsigned elements, unsigned failures)
{
	double cases = 1;

	for (unsigned i = 0; i < failures; i++)
		cases *= (double)(elements > i ? elements - i : 0) / (i + 1);
	return cases;
}

static bool try_cases(struct deadlock *d)
{
	const unsigned failures = plan_count(d->p, "failures", 0, FAILURES_MAX);
	unsigned pick[FAILURES_MAX];

	list_elements(d);
	if (count_cases(d->elements, failures) > CASES_MAX)
		plan_refuse(d->p, "failures", "more than %.0f cases: name a set with --fail", CASES_MAX);
	else if (failures > d->elements && !plan_text(d->p, "fail"))
		plan_refuse(d->p, "failures", "the network has %u elements that can fail", d->elements);
	if (d->p->failed)
		return false;
	ccs_cbd_routes(d->cbd, d->failed, d->summaries, d->old); /* without failures */
	return plan_text(d->p, "fail") ? try_given(d) : try_all(d, failures, 0, pick, 0);
}

static void json_counts(const struct deadlock *d)
{
	struct ccs_json *j = &d->p->j;

	ccs_json_uint(j, "cases", d->cases);
	ccs_json_uint(j, "with_cycle", d->bad);
	ccs_json_uint(j, "with_loop", d->loops);
	if (d->transient) {
		ccs_json_uint(j, "mixtures", d->mixtures);
		ccs_json_uint(j, "bad_mixtures", d->bad_mixtures);
	}
}

static void print_counts(struct deadlock *d)
{
	print_title(d);
	if (d->printed > d->examples)
		printf("  ... and %u more\n", d->printed - d->examples);
	printf("\n  cases                         %7lu\n", d->cases);
	printf("  with a cyclic dependency      %7lu\n", d->bad);
	printf("  of these with a loop of routes%7lu\n", d->loops);
	if (d->transient)
		printf("  mixtures of tables            %7lu, %lu bad\n", d->mixtures, d->bad_mixtures);
	if (!d->bad)
		printf("\nNo deadlock can form%s.\n", d->transient ? "" : " once the routes have converged");
}

static int deadlock(struct plan *p)
{
	static struct deadlock d;
	bool ok;

	d.p = p;
	d.summaries = plan_text(p, "summaries") != NULL;
	d.transient = plan_text(p, "transient") != NULL;
	d.examples = plan_count(p, "examples", 0, 1000000);
	if (p->failed || !plan_read_network(p, &d.n))
		return EXIT_USAGE;
	if (p->json)
		ccs_json_array(&p->j, "cycles");
	ok = allocate(&d);
	ok = ok && try_cases(&d);
	if (p->json)
		ccs_json_end(&p->j);
	if (ok && p->json)
		json_counts(&d);
	else if (ok)
		print_counts(&d);
	release(&d);
	return EXIT_OK;
}

const struct plan_calc plan_deadlock = {
	.name = "deadlock", .doc = "cyclic buffer dependencies, with failures",
	.options = options, .formulas = formulas, .main = deadlock,
};
