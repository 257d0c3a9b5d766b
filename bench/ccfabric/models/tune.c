/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

#include "bench/ccfabric/shared/error.h"
#include "bench/common/clock.h"
#include "bench/sim/core/memory.h"

enum { VALUES_MAX = 16, BESIDE_MAX = 8, MOST = 1000000 };

struct values {
	const char *value[VALUES_MAX];
	unsigned n;
};

struct tune_options {
	struct fab_suite_options suite;
	const char *cc, *beside[BESIDE_MAX];
	unsigned besides;
	struct values kmin, kmax, pmax, alpha;
	unsigned every, keep;
};

/* -- options --------------------------------------------------------------------------------- */

static const char usage[] =
	"usage: ccfabric tune [--goals ucloud] [OPTION]...\n"
	"\n"
	"Searches the switch settings with which an algorithm meets the goals of\n"
	"'ccfabric matrix' in most models: all settings on a part of the models, then\n"
	"the best of them on all. Prints these with the Pareto front and a recommended\n"
	"one, algorithms without settings beside, and the models that none passes.\n"
	"\n"
	"  --kmin LIST, --kmax LIST  bytes at ports of 25 Gb/s, in proportion at others\n"
	"                  (10k,50k and 100k,400k)\n"
	"  --pmax LIST     (5%,20%,100%)\n"
	"  --alpha LIST    of a priority group's share of the buffer (1/8,1)\n"
	"  --cc CC         the algorithm (dcqcn:variant=mlx, which is that of NICs)\n"
	"  --beside CC     one with default settings; may be given several times (auto)\n"
	"  --every N       all settings are tried on every Nth model (7)\n"
	"  --keep N        so many are tried on all models (3)\n"
	"  --models FILE, --only PATTERN, --jobs N, --json, --out_json FILE, -q, --quiet,\n"
	"  --buffer BYTES, --poll TIME[:W], --cnp TIME, --hosts KIND, --pfc on|off,\n"
	"  --seed N        as of ccfabric matrix\n";

enum { GOALS = 256, CC, BESIDE, KMIN, KMAX, PMAX, ALPHA, EVERY, KEEP };

static const struct option known[] = {
	FAB_SUITE_OPTIONS, { "goals", 1, 0, GOALS }, { "cc", 1, 0, CC },
	{ "beside", 1, 0, BESIDE }, { "kmin", 1, 0, KMIN }, { "kmax", 1, 0, KMAX },
	{ "pmax", 1, 0, PMAX }, { "alpha", 1, 0, ALPHA }, { "every", 1, 0, EVERY },
	{ "keep", 1, 0, KEEP }, { "help", 0, 0, 'h' }, { 0 }
};

static void parse_values(struct values *v, const char *name, char *list)
{
	v->n = 0;
	for (char *value; (value = strsep(&list, ","));) {
		if (!*value || v->n == VALUES_MAX)
			die("--%s: a list has 1 to %d values, with commas", name, VALUES_MAX);
		v->value[v->n++] = value;
	}
}

static void add_beside(struct tune_options *o)
{
	if (o->besides == BESIDE_MAX)
		die("--beside: more than %d algorithms", BESIDE_MAX);
	o->beside[o->besides++] = fab_suite_cc();
}

static bool parse_option(void *owner, int option, const char *name)
{
	struct tune_options *o = owner;

	switch (option) {
	case GOALS:
		if (strcmp(optarg, "ucloud") != 0)
			die("--goals: '%s' are not known; ucloud are", optarg);
		break;
	case CC: o->cc = fab_suite_cc(); break;
	case BESIDE: add_beside(o); break;
	case KMIN: parse_values(&o->kmin, name, optarg); break;
	case KMAX: parse_values(&o->kmax, name, optarg); break;
	case PMAX: parse_values(&o->pmax, name, optarg); break;
	case ALPHA: parse_values(&o->alpha, name, optarg); break;
	case EVERY: o->every = fab_suite_number(name, MOST); break;
	case KEEP: o->keep = fab_suite_number(name, MOST); break;
	default: return false;
	}
	return true;
}

static void parse(struct tune_options *o, int argc, char **argv)
{
	static const struct fab_command command = { "tune", usage, known, parse_option };

	*o = (struct tune_options){
		.cc = "dcqcn:variant=mlx", .every = 7, .keep = 3,
		.kmin = { { "10k", "50k" }, 2 },
		.kmax = { { "100k", "400k" }, 2 },
		.pmax = { { "5%", "20%", "100%" }, 3 },
		.alpha = { { "1/8", "1" }, 2 },
	};
	fab_suite_parse(&o->suite, &command, argc, argv, o);
	if (!o->besides)
		o->beside[o->besides++] = "auto";
}

/* -- settings -------------------------------------------------------------------------------- */

struct grid {
	struct tune_setting *setting;
	unsigned n;
};

static void add_setting(struct grid *g, const struct tune_setting *s)
{
	g->setting = mem_resized(g->setting, g->n + 1u, sizeof(*g->setting));
	g->setting[g->n] = *s;
	fab_suite_marks(g->setting[g->n].ecn, s->kmin, s->kmax, s->pmax);
	options_fraction("alpha", s->alpha);
	g->n++;
}

/* All combinations in which Kmax is above Kmin. */
static struct grid make_grid(const struct tune_options *o)
{
	const unsigned n = o->kmin.n * o->kmax.n * o->pmax.n * o->alpha.n;
	struct grid g = { 0 };

	for (unsigned i = 0; i < n; i++) {
		const unsigned j = i / o->alpha.n, k = j / o->pmax.n;
		const struct tune_setting s = {
			.kmin = o->kmin.value[k / o->kmax.n], .kmax = o->kmax.value[k % o->kmax.n],
			.pmax = o->pmax.value[j % o->pmax.n], .alpha = o->alpha.value[i % o->alpha.n],
		};

		if (fab_suite_bytes("kmin", s.kmin) < fab_suite_bytes("kmax", s.kmax))
			add_setting(&g, &s);
	}
	if (!g.n)
		die("--kmax: no value is above one of --kmin");
	return g;
}

/* -- search ---------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct tune_row *x = a, *y = b;

	if (!x->setting != !y->setting)
		return x->setting ? -1 : 1;
	if (x->totals.passed != y->totals.passed)
		return x->totals.passed > y->totals.passed ? -1 : 1;
	if (x->totals.quick != y->totals.quick)
		return x->totals.quick > y->totals.quick ? -1 : 1;
	return (x->totals.p99_us > y->totals.p99_us) - (x->totals.p99_us < y->totals.p99_us);
}

/* False if a simulation failed, which has said why. */
static bool simulate(const struct tune_options *o, const struct fab_models *m, struct tune_row *row,
		     unsigned rows, fab_run_model *run)
{
	struct fab_setting *setting = mem_zeroed(rows, sizeof(*setting));
	struct fab_verdict *verdict;

	for (unsigned i = 0; i < rows; i++)
		setting[i] = (struct fab_setting){
			row[i].cc, row[i].setting ? row[i].setting->ecn : "100k:400k:20%@25g",
			row[i].setting ? row[i].setting->alpha : NULL,
		};
	verdict = fab_suite_run(&o->suite, m, setting, rows, run);
	for (unsigned i = 0; verdict && i < rows; i++) {
		row[i].verdict = &verdict[i * m->n];
		row[i].totals = fab_add_up(row[i].verdict, m->n);
	}
	free(setting);
	return verdict;
}

static struct fab_models every(const struct fab_models *all, unsigned step)
{
	struct fab_models m = { mem_zeroed(all->n, sizeof(*m.model)), 0 };

	for (unsigned i = 0; i < all->n; i += step)
		m.model[m.n++] = all->model[i];
	return m;
}

static bool dominates(const struct fab_totals *a, const struct fab_totals *b)
{
	return a->g1 >= b->g1 && a->g2 >= b->g2 && a->g3 >= b->g3 && a->quick >= b->quick &&
	       (a->g1 > b->g1 || a->g2 > b->g2 || a->g3 > b->g3 || a->quick > b->quick);
}

static void find_front(struct tune_result *r)
{
	for (unsigned i = 0; i < r->settings; i++) {
		r->row[i].front = true;
		for (unsigned k = 0; k < r->settings; k++)
			r->row[i].front &= !dominates(&r->row[k].totals, &r->row[i].totals);
	}
	r->row[0].recommended = true;
}

static bool search(const struct tune_options *o, const struct grid *g, struct tune_result *r,
		   fab_run_model *run)
{
	struct fab_models coarse = every(r->models, o->every);
	bool ok;

	r->row = mem_zeroed(g->n + o->besides, sizeof(*r->row));
	for (unsigned i = 0; i < g->n; i++)
		r->row[i] = (struct tune_row){ .cc = o->cc, .setting = &g->setting[i] };
	r->coarse_models = coarse.n;
	r->coarse_settings = g->n;
	ok = simulate(o, &coarse, r->row, g->n, run);
	free(coarse.model);
	if (!ok)
		return false;
	qsort(r->row, g->n, sizeof(*r->row), by_rank);
	r->settings = g->n < o->keep ? g->n : o->keep;
	r->rows = r->settings + o->besides;
	for (unsigned i = 0; i < o->besides; i++)
		r->row[r->settings + i] = (struct tune_row){ .cc = o->beside[i] };
	if (!simulate(o, r->models, r->row, r->rows, run))
		return false;
	qsort(r->row, r->rows, sizeof(*r->row), by_rank);
	find_front(r);
	return true;
}

int tune(int argc, char **argv, fab_run_model *run)
{
	const int64_t start = now_ns();
	struct tune_options o;
	struct fab_models models;
	struct tune_result r = { .models = &models };
	struct grid g;

	parse(&o, argc, argv);
	g = make_grid(&o);
	fab_suite_models(&o.suite, &models);
	if (!search(&o, &g, &r, run))
		return 2;
	r.wall_s = (double)(now_ns() - start) / 1e9;
	fab_suite_output(&o.suite, tune_print, tune_write_json, &r);
	return 0;
}
