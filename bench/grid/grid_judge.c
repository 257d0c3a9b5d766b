/* SPDX-License-Identifier: BSD-2-Clause */
/* The aims of control, and whether a run meets them. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cc/minmax.h"
#include "grid.h"

#define ACKS 0.98            /* part of a port that acknowledgements leave */
#define SETTLE_ROUNDS 40     /* 5 ms for 16 flows more at 10 Gb/s */
#define SLOWER 1.05          /* a collective operation, beside none's */
#define SLOWER_SHORT 1.15    /* with less data than SHORT */
#define SHORT 4e6
#define VICTIM_MARGIN 1.05   /* and a packet's time: two runs are never alike */

const struct criterion grid_criteria[MISSES] = {
	[UTIL_95] = { "util95", "utilisation .95 of none's" },
	[UTIL_96] = { "util96", "utilisation .96, of none's where none drops nothing" },
	[JAIN_90] = { "jain90", "Jain index .90" },
	[JAIN_95] = { "jain95", "Jain index .95" },
	[JAIN_98] = { "jain98", "Jain index .98" },
	[QUEUE_4] = { "queue4", "p99 of the queue 4 segments a flow" },
	[QUEUE_2] = { "queue2", "p99 of the queue 2 segments a flow and 2; 4 a flow at trunks" },
	[DROPS] = { "drops", "no drop after the start" },
	[VICTIM] = { "victim", "victim's p99 no worse than none's" },
	[SETTLE] = { "settle", "newcomers settled" },
	[OPERATION] = { "operation", "operations as fast as none's" },
};

unsigned grid_aims(const struct ccs_cc_spec *spec, const char *wanted)
{
	static const char *const named[] = { "timely", "dcqcn", "hpcc", "swift" };
	static const unsigned agents = 1 << UTIL_96 | 1 << JAIN_98 | 1 << QUEUE_2 | 1 << DROPS |
				       1 << VICTIM | 1 << SETTLE | 1 << OPERATION;
	static const unsigned rtt = 1 << UTIL_95 | 1 << JAIN_90 | 1 << QUEUE_4 | 1 << VICTIM |
				    1 << OPERATION;
	static const unsigned beside = 1 << UTIL_95 | 1 << VICTIM | 1 << OPERATION;

	if (wanted)
		return strcmp(wanted, "agents") == 0 ? agents : strcmp(wanted, "rtt") == 0 ? rtt
		     : strcmp(wanted, "named") == 0 ? beside : 0;
	for (unsigned i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (strcmp(spec->ops->name, named[i]) == 0)
			return beside;
	return grid_needs_records(spec) ? agents : rtt;
}

/* The value relative to its bound, 1 on the edge. An unknown value (NAN) meets it. */
static double at_most(double value, double wanted)
{
	return wanted > 0 ? value / wanted : value > 0 ? INFINITY : 0;
}

static double at_least(double value, double wanted)
{
	return value <= 0 ? INFINITY : wanted / value;
}

/* If the run without control dropped packets, compare with the line, less acknowledgements. */
static double reachable(const struct scenario *s, const struct outcome *none)
{
	const double line = s->pattern == SIM_INCAST ? 1 : ACKS;

	return none->late_drops ? ccs_max(none->util, line) : none->util;
}

/* No agent measures a trunk, so its queue is the queue of flows without agents. */
static bool is_measured(const struct scenario *s)
{
	return !s->preset || strcmp(s->preset, "trunk") != 0;
}

static double how_bad(const struct scenario *s, const struct outcome *o, const struct outcome *none,
		      enum miss miss)
{
	const double segment = grid_segment(s), n = grid_per_port(s);
	const double round_us = s->rtt + 8e6 * n * segment / s->rate;

	switch (miss) {
	case UTIL_95: return at_least(o->util, 0.95 * none->util);
	case UTIL_96: return at_least(o->util, 0.96 * reachable(s, none));
	case JAIN_90: return at_least(o->jain, 0.90);
	case JAIN_95: return at_least(o->jain, 0.95);
	case JAIN_98: return at_least(o->jain, 0.98);
	case QUEUE_4: return at_most(o->queue_p99, 4 * n * segment);
	case QUEUE_2: return at_most(o->queue_p99, is_measured(s) ? 2 * (n + 1) * segment : 4 * n * segment);
	case DROPS: return at_most((double)o->late_drops, 0);
	case VICTIM: return at_most(o->victim_p99, VICTIM_MARGIN * none->victim_p99 +
						   8e6 * GRID_MTU / s->rate);
	case OPERATION: return s->data > 0 ? at_most(o->operation_us, none->operation_us *
						     (s->data < SHORT ? SLOWER_SHORT : SLOWER)) : 0;
	default: return s->joins ? at_most(o->join_us, SETTLE_ROUNDS * round_us) : 0;
	}
}

/* The application's outstanding data are less than its share of the port in a far flow's RTT. */
static bool far_is_limited(const struct scenario *s)
{
	const double bytes = (double)grid_depth(s) * s->message;

	return s->far > 0 && 8e6 * bytes / s->far < s->rate / grid_per_port(s);
}

/*
 * Beside a rival the queue is the rival's, and so are drops and what they cost. Flows that their
 * applications limit cannot have the shares of others.
 */
static unsigned not_judged(const struct scenario *s)
{
	unsigned set = 0;

	if (s->rivals)
		set |= 1 << QUEUE_4 | 1 << QUEUE_2 | 1 << DROPS;
	if (s->rivals && s->queue > 0)
		set |= 1 << UTIL_95 | 1 << UTIL_96;
	if (s->data > 0) /* queues and their shares change with each step; only the time counts */
		set |= (1u << MISSES) - 1 - (1 << OPERATION | 1 << DROPS);
	if (far_is_limited(s))
		set |= 1 << JAIN_90 | 1 << JAIN_95 | 1 << JAIN_98;
	return set;
}

unsigned grid_judge(const struct scenario *s, const struct outcome *o, const struct outcome *none,
		    double *badness)
{
	unsigned missed = 0;

	for (enum miss m = 0; m < MISSES; m++) {
		badness[m] = not_judged(s) & 1 << m ? 0 : how_bad(s, o, none, m);
		if (badness[m] > 1)
			missed |= 1 << m;
	}
	return missed;
}

/* Of rows that can be held. */
void grid_count(const struct grid *g, unsigned contender, unsigned count[MISSES + 1])
{
	const unsigned aims = g->contender[contender].aims;
	double badness[MISSES];

	memset(count, 0, (MISSES + 1) * sizeof(*count));
	for (unsigned i = 0; i < g->scenarios; i++) {
		const struct outcome *o = &g->outcome[i * g->contenders];
		unsigned missed;

		if (grid_forbidden(g->scenario[i]) || !o->done || !o[contender].done)
			continue;
		missed = grid_judge(g->scenario[i], &o[contender], o, badness);
		for (enum miss m = 0; m < MISSES; m++)
			count[m] += missed >> m & 1;
		count[MISSES] += (missed & aims) != 0;
	}
}

/* One line of a file of bounds; whether it is exceeded, or -1. */
static int bound(const struct grid *g, const char *cc, const char *criterion, unsigned most)
{
	unsigned count[MISSES + 1], c, m;

	for (c = 1; c < g->contenders && strcmp(g->contender[c].cc, cc) != 0; c++)
		;
	for (m = 0; m < MISSES && strcmp(grid_criteria[m].name, criterion) != 0; m++)
		;
	if (m == MISSES && strcmp(criterion, "any") != 0)
		return -1;
	if (c == g->contenders)
		return 0; /* not run */
	grid_count(g, c, count);
	if (count[m] <= most)
		return 0;
	printf("%s misses %s in %u rows, %u are allowed\n", cc,
	       m < MISSES ? grid_criteria[m].aim : "any of its aims", count[m], most);
	return 1;
}

int grid_bounds(const struct grid *g, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256], cc[128], criterion[32];
	int exceeded = 0, one = 0;
	unsigned most, number = 0;

	if (!f) {
		fprintf(stderr, "grid: %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (one >= 0 && fgets(line, sizeof(line), f)) {
		number++;
		if (line[0] == '#' || line[strspn(line, " \t\n")] == '\0')
			continue;
		one = -1;
		if (sscanf(line, "%127s %31s %u", cc, criterion, &most) == 3)
			one = bound(g, cc, criterion, most);
		exceeded += one > 0;
	}
	if (one < 0)
		fprintf(stderr, "grid: %s:%u: 'CC CRITERION MOST' is wanted\n", path, number);
	fclose(f);
	return one < 0 ? -1 : exceeded;
}
