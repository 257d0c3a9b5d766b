/* SPDX-License-Identifier: BSD-2-Clause */
#include "matrix.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "bench/common/error.h"
#include "bench/common/output.h"
#include "bench/common/clock.h"
#include "bench/sim/core/memory.h"
#include "bench/sim/fabric/baselines.h"
#include "tools/common/installed.h"
#include "tools/common/next_option.h"

static const char usage[] =
	"usage: ccfabric matrix [OPTION]...\n"
	"\n"
	"Simulates traffic models and states for each whether the goals of the UCloud\n"
	"article hold: G1 saturated ports are used to 95 %, else 99 % of the offered\n"
	"bytes are delivered; G2 at most 5 PAUSE frames per port and second; G3 99 % of\n"
	"the packets take at most 80 us, and 40 us in 90 % of the models.\n"
	"\n"
	"  --models FILE   a model per line, see ccfabric(1) (those that are installed)\n"
	"  --only PATTERN  models with such a name, such as 'A-*'\n"
	"  --cc CC         NAME[:PARAM=VALUE,...]; may be given several times (auto)\n"
	"  --ecn MIN:MAX:P[@RATE]  of algorithms that need marks (100k:400k:20%@25g)\n"
	"  --alpha A, --buffer BYTES, --poll TIME[:W], --cnp TIME, --hosts KIND,\n"
	"  --pfc on|off, --agents, --seed N  as of ccfabric run, for all models\n"
	"  --jobs N        models side by side (one per CPU)\n"
	"  --json          JSON instead of the table\n"
	"  --out_json FILE  besides the table; - is standard output, without the table\n"
	"  -q, --quiet     no progress\n";

enum { MODELS = 256, ONLY, CC, ECN, JOBS, JSON, OUT_JSON, GIVEN };

static const struct option known[] = {
	{ "models", 1, 0, MODELS }, { "only", 1, 0, ONLY }, { "cc", 1, 0, CC },
	{ "ecn", 1, 0, ECN }, { "jobs", 1, 0, JOBS }, { "json", 0, 0, JSON }, { "out_json", 1, 0, OUT_JSON },
	{ "alpha", 1, 0, GIVEN }, { "buffer", 1, 0, GIVEN }, { "poll", 1, 0, GIVEN },
	{ "cnp", 1, 0, GIVEN }, { "hosts", 1, 0, GIVEN }, { "pfc", 1, 0, GIVEN },
	{ "agents", 0, 0, GIVEN }, { "seed", 1, 0, GIVEN },
	{ "quiet", 0, 0, 'q' }, { "help", 0, 0, 'h' }, { 0 }
};

static void add_cc(struct matrix *m, const char *cc)
{
	struct ccs_cc_spec spec;
	char err[320];

	if (!fab_cc_parse(&spec, cc, err, sizeof(err)))
		die("%s", err);
	if (m->ccs == MATRIX_CCS)
		die("--cc: more than %d algorithms", MATRIX_CCS);
	for (unsigned i = 0; i < m->ccs; i++)
		if (strcmp(m->cc[i], cc) == 0)
			die("--cc: '%s' is given twice", cc);
	m->cc[m->ccs++] = cc;
}

static void add_given(struct matrix *m, const char *name)
{
	char *option = mem_zeroed(strlen(name) + 3, 1);

	sprintf(option, "--%s", name);
	m->given = mem_resized(m->given, m->givens + 2u, sizeof(*m->given));
	m->given[m->givens++] = option;
	if (optarg)
		m->given[m->givens++] = optarg;
}

static unsigned parse_jobs(void)
{
	enum { MOST = 1024 };
	unsigned n;

	if (ccs_parse_digits(optarg, MOST, &n) || !n)
		die("--jobs: '%s' is no number from 1 to %u", optarg, MOST);
	return n;
}

static void parse_option(struct matrix *m, int option, const char *name)
{
	switch (option) {
	case MODELS: m->file = optarg; break;
	case ONLY: m->only = optarg; break;
	case CC: add_cc(m, optarg); break;
	case ECN: m->ecn = optarg; break;
	case JOBS: m->jobs = parse_jobs(); break;
	case JSON: m->json = "-"; break;
	case OUT_JSON: m->json = optarg; break;
	case GIVEN: add_given(m, name); break;
	case 'q': m->quiet = true; break;
	case 'h': output_help(usage);
	default: fputs("Try 'ccfabric matrix --help'.\n", stderr); exit(2);
	}
}

/* Also if no algorithm needs them. */
static void check_marks(const char *ecn)
{
	char *argv[] = { (char *)"ccfabric matrix", (char *)"--ecn", (char *)(uintptr_t)ecn, NULL };
	struct options unused;

	options_parse(&unused, 3, argv);
}

static void parse(struct matrix *m, int argc, char **argv)
{
	static char moved[PATH_MAX];
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int index = 0;

	*m = (struct matrix){
		.file = installed_path(FAB_MODELS, moved, sizeof(moved)),
		.jobs = cpus > 0 ? (unsigned)cpus : 1, .ecn = "100k:400k:20%@25g",
	};
	die_in_command("matrix");
	argv[0] = (char *)"ccfabric matrix"; /* the prefix of getopt's messages */
	optind = 0;
	for (int option; (option = next_option(argc, argv, "qh", known, &index)) != -1;)
		parse_option(m, option, known[index].name);
	if (optind < argc)
		die("'%s' is no option", argv[optind]);
	output_check(m->json);
	if (!m->ccs)
		add_cc(m, "auto");
	check_marks(m->ecn);
}

/* The file's models whose names match --only. */
static void read_models(struct matrix *x)
{
	struct fab_models *m = &x->models;
	char err[512];
	unsigned n = 0;

	if (!fab_models_read(m, x->file, err, sizeof(err)))
		die("%s%s", err, access(x->file, F_OK) ? "; name a file with --models" : "");
	for (unsigned i = 0; i < m->n; i++)
		if (!x->only || fnmatch(x->only, m->model[i].name, 0) == 0)
			m->model[n++] = m->model[i];
	if (!n)
		die("--only: no model has a name like '%s'", x->only);
	m->n = n;
}

int matrix(int argc, char **argv, fab_run_model *run)
{
	const int64_t start = now_ns();
	static struct matrix m;

	parse(&m, argc, argv);
	read_models(&m);
	if (!matrix_simulate(&m, run))
		return 2;
	m.wall_s = (double)(now_ns() - start) / 1e9;
	if (!m.json || strcmp(m.json, "-") != 0)
		matrix_print(&m, stdout);
	output_flush();
	output_write(m.json, matrix_write_json, &m);
	return 0;
}
