/* SPDX-License-Identifier: BSD-2-Clause */
/* The grid for people, 80 columns wide, and for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "grid.h"
#include "tools/common/human.h"

static void print_counts(const struct grid *g, unsigned contender)
{
	const struct contender *c = &g->contender[contender];
	unsigned count[MISSES + 1], run = 0;

	for (unsigned i = 0; i < g->scenarios; i++)
		run += g->outcome[i * g->contenders + contender].done && !grid_forbidden(g->scenario[i]);
	grid_count(g, contender, count);
	printf("%-18.18s %4u %4u", c->cc, run, count[MISSES]);
	for (enum miss m = 0; m < MISSES; m++)
		printf(" %*u%c", m == QUEUE_2 ? 5 : 3, count[m], c->aims >> m & 1 ? '*' : ' ');
	putchar('\n');
}

static void print_summary(const struct grid *g)
{
	printf("Rows that miss what is wanted; * of them by what is judged.\n\n"
	       "                             utilisat.  Jain's index   queue      late vic- set- oper-\n"
	       "cc                 rows miss  .95  .96  .90  .95  .98   4N  2N+2 drops tim  tle  ation\n");
	for (unsigned c = 1; c < g->contenders; c++)
		print_counts(g, c);
}

/* -- the worst rows --------------------------------------------------------------------- */

struct worst {
	unsigned scenario, contender;
	enum miss miss;
	double badness;
};

static int worse_first(const void *a, const void *b)
{
	const struct worst *x = a, *y = b;

	return x->badness < y->badness ? 1 : x->badness > y->badness ? -1
	     : (int)x->scenario - (int)y->scenario;
}

/* Find the worst missed aim. False: all aims are met. */
static bool weigh(const struct grid *g, struct worst *w)
{
	const struct outcome *o = &g->outcome[w->scenario * g->contenders];
	const struct scenario *s = g->scenario[w->scenario];
	const unsigned aims = g->contender[w->contender].aims;
	double badness[MISSES];
	unsigned missed;

	if (grid_forbidden(s) || !o->done || !o[w->contender].done)
		return false;
	missed = aims & grid_judge(s, &o[w->contender], o, badness);
	for (enum miss m = 0; m < MISSES; m++)
		if (missed >> m & 1 && badness[m] > w->badness) {
			w->miss = m;
			w->badness = badness[m];
		}
	return missed;
}

static void print_row(const struct grid *g, const struct worst *w)
{
	const struct scenario *s = g->scenario[w->scenario];
	const struct outcome *none = &g->outcome[w->scenario * g->contenders];
	const struct outcome *o = none + w->contender;
	char victim[32], bare[32];

	printf("%-36.36s %-8.8s %5.3f %5.3f %5.1f %8s %8s\n", s->name, g->contender[w->contender].cc,
	       o->util, o->jain, o->queue_p99 / (grid_segment(s) * grid_per_port(s)),
	       human_us(o->victim_p99, victim, sizeof(victim)),
	       human_us(none->victim_p99, bare, sizeof(bare)));
}

static void print_worst(const struct grid *g, unsigned most)
{
	struct worst *w = calloc((size_t)g->scenarios * g->contenders, sizeof(*w));
	unsigned n = 0;

	for (unsigned i = 0; w && i < g->scenarios; i++)
		for (unsigned c = 1; c < g->contenders; c++) {
			w[n] = (struct worst){ .scenario = i, .contender = c };
			n += weigh(g, &w[n]);
		}
	if (n)
		qsort(w, n, sizeof(*w), worse_first);
	if (n && most)
		printf("\nThe worst rows%38s queue victim's  none's\n%-36s %-8s  util  Jain /flow"
		       "      p99      p99\n", "", "", "cc");
	for (unsigned i = 0; i < n && i < most; i++)
		print_row(g, &w[i]);
	free(w);
}

static void print_forbidden(const struct grid *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->scenarios; i++) {
		const char *why = grid_forbidden(g->scenario[i]);

		if (why && !n++)
			printf("\nNot judged\n");
		if (why)
			printf("%-36.36s %s\n", g->scenario[i]->name, why);
	}
}

void grid_print(const struct grid *g, unsigned worst)
{
	print_summary(g);
	print_worst(g, worst);
	print_forbidden(g);
}

/* -- JSON ------------------------------------------------------------------------------- */

static void write_scenario(struct ccs_json *j, const struct scenario *s)
{
	static const char *const pattern[] = { "incast", "ring", "permutation", "alltoall" };
	static const char *const op[] = { "write", "read", "send" };

	ccs_json_object(j, "scenario");
	ccs_json_str(j, "name", s->name);
	ccs_json_str(j, "pattern", s->preset ? s->preset : pattern[s->pattern]);
	ccs_json_str(j, "op", op[s->op]);
	ccs_json_uint(j, "message_bytes", s->message);
	ccs_json_num(j, "rate_bps", s->rate);
	ccs_json_num(j, "nic_bps", s->nic);
	ccs_json_uint(j, "hosts", s->hosts);
	ccs_json_uint(j, "qps_per_host", s->qps);
	ccs_json_uint(j, "flows_per_port", grid_per_port(s));
	ccs_json_num(j, "segment_bytes", grid_segment(s));
	ccs_json_num(j, "rtt_us", s->rtt);
	ccs_json_num(j, "far_rtt_us", s->far > 0 ? s->far : NAN);
	ccs_json_num(j, "send_queue_entries", s->entries ? s->entries : NAN);
	ccs_json_num(j, "queue_bytes", s->queue > 0 ? s->queue : NAN);
	ccs_json_num(j, "jitter_us", s->jitter);
	ccs_json_num(j, "loss", s->loss);
	ccs_json_num(j, "slow_bps", s->slow > 0 ? s->slow : NAN);
	ccs_json_uint(j, "joins", s->joins);
	ccs_json_uint(j, "rivals", s->rivals);
	ccs_json_str(j, "topology", s->topology);
	ccs_json_str(j, "flows", s->flows);
	ccs_json_str(j, "forbidden", grid_forbidden(s));
	ccs_json_end(j);
}

static void write_outcome(struct ccs_json *j, const struct scenario *s, const struct outcome *o)
{
	ccs_json_num(j, "utilisation", o->util);
	ccs_json_num(j, "own_utilisation", o->own_util);
	ccs_json_num(j, "jain", o->jain);
	ccs_json_uint(j, "drops", o->drops);
	ccs_json_uint(j, "late_drops", o->late_drops);
	ccs_json_uint(j, "lost", o->lost);
	ccs_json_num(j, "queue_p99_bytes", o->queue_p99);
	ccs_json_num(j, "queue_p99_segments_per_flow",
		     o->queue_p99 / (grid_segment(s) * grid_per_port(s)));
	ccs_json_num(j, "rtt_p99_us", o->rtt_p99);
	ccs_json_uint(j, "victims", o->victims);
	ccs_json_num(j, "victim_p50_us", o->victim_p50);
	ccs_json_num(j, "victim_p99_us", o->victim_p99);
	ccs_json_num(j, "operation_us", s->preset ? o->operation_us : NAN);
	ccs_json_num(j, "join_us", s->joins ? o->join_us : NAN);
	ccs_json_num(j, "leave_us", s->joins ? o->leave_us : NAN);
}

static void write_row(struct ccs_json *j, const struct grid *g, unsigned scenario,
		      unsigned contender)
{
	const struct scenario *s = g->scenario[scenario];
	const struct outcome *none = &g->outcome[scenario * g->contenders], *o = none + contender;
	double badness[MISSES];
	const unsigned missed = grid_judge(s, o, none, badness);

	ccs_json_object(j, NULL);
	write_scenario(j, s);
	ccs_json_str(j, "cc", g->contender[contender].cc);
	write_outcome(j, s, o);
	ccs_json_array(j, "misses");
	for (enum miss m = 0; m < MISSES; m++)
		if (missed & g->contender[contender].aims & 1 << m && !grid_forbidden(s))
			ccs_json_str(j, NULL, grid_criteria[m].name);
	ccs_json_end(j);
	ccs_json_object(j, "none");
	write_outcome(j, s, none);
	ccs_json_end(j);
	ccs_json_end(j);
}

bool grid_json(const void *grid, FILE *f)
{
	const struct grid *g = grid;
	struct ccs_json j;

	ccs_json_start(&j, f);
	ccs_json_object(&j, NULL);
	ccs_json_uint(&j, "seed", g->seed);
	ccs_json_uint(&j, "length", g->length);
	ccs_json_array(&j, "rows");
	for (unsigned i = 0; i < g->scenarios; i++)
		for (unsigned c = 1; c < g->contenders; c++)
			if (g->outcome[i * g->contenders].done &&
			    g->outcome[i * g->contenders + c].done)
				write_row(&j, g, i, c);
	return ccs_json_finish(&j);
}
