/* SPDX-License-Identifier: BSD-2-Clause */
#include "matrix.h"

#include <string.h>

#include "bench/ccfabric/shared/error.h"
#include "bench/common/clock.h"

enum { CCS_MAX = 16 };

struct matrix_options {
	struct fab_suite_options suite;
	struct fab_setting setting[CCS_MAX];
	unsigned ccs;
	const char *kmin, *kmax, *pmax;
	char ecn[FAB_SUITE_ECN]; /* of algorithms that need marks */
};

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
	"  --kmin BYTES, --kmax BYTES, --pmax P  marks at ports of 25 Gb/s, in proportion\n"
	"                  at others (100k, 400k, 20%)\n"
	"  --alpha A, --buffer BYTES, --poll TIME[:W], --cnp TIME, --hosts KIND,\n"
	"  --pfc on|off, --agents, --seed N  as of ccfabric run, for all models\n"
	"  --jobs N        models side by side (one per CPU)\n"
	"  --json          JSON instead of the table\n"
	"  --out_json FILE  besides the table; - is standard output, without the table\n"
	"  -q, --quiet     no progress\n";

enum { CC = 256, KMIN, KMAX, PMAX };

static const struct option known[] = {
	FAB_SUITE_OPTIONS, { "cc", 1, 0, CC },
	{ "kmin", 1, 0, KMIN }, { "kmax", 1, 0, KMAX }, { "pmax", 1, 0, PMAX },
	{ "alpha", 1, 0, FAB_SUITE_GIVEN }, { "agents", 0, 0, FAB_SUITE_GIVEN },
	{ "help", 0, 0, 'h' }, { 0 }
};

static void add_cc(struct matrix_options *o, const char *cc)
{
	if (o->ccs == CCS_MAX)
		die("--cc: more than %d algorithms", CCS_MAX);
	for (unsigned i = 0; i < o->ccs; i++)
		if (strcmp(o->setting[i].cc, cc) == 0)
			die("--cc: '%s' is given twice", cc);
	o->setting[o->ccs++] = (struct fab_setting){ .cc = cc, .ecn = o->ecn };
}

static bool parse_option(void *owner, int option, const char *name)
{
	struct matrix_options *o = owner;

	(void)name;
	switch (option) {
	case CC: add_cc(o, fab_suite_cc()); break;
	case KMIN: o->kmin = optarg; break;
	case KMAX: o->kmax = optarg; break;
	case PMAX: o->pmax = optarg; break;
	default: return false;
	}
	return true;
}

static void parse(struct matrix_options *o, int argc, char **argv)
{
	static const struct fab_command command = { "matrix", usage, known, parse_option };

	*o = (struct matrix_options){ .kmin = "100k", .kmax = "400k", .pmax = "20%" };
	fab_suite_parse(&o->suite, &command, argc, argv, o);
	if (!o->ccs)
		add_cc(o, "auto");
	fab_suite_marks(o->ecn, o->kmin, o->kmax, o->pmax);
}

int matrix(int argc, char **argv, fab_run_model *run)
{
	const int64_t start = now_ns();
	struct matrix_options o;
	struct fab_models models;
	struct matrix_result r;

	parse(&o, argc, argv);
	fab_suite_models(&o.suite, &models);
	r = (struct matrix_result){
		.models = &models, .setting = o.setting, .ccs = o.ccs,
		.verdict = fab_suite_run(&o.suite, &models, o.setting, o.ccs, run),
	};
	if (!r.verdict)
		return 2;
	r.wall_s = (double)(now_ns() - start) / 1e9;
	fab_suite_output(&o.suite, matrix_print, matrix_write_json, &r);
	return 0;
}
