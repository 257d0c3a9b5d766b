/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "bench.h"
#include "bench/ccbench/scenario/scenario.h"
#include "bench/ccbench/traffic/worker.h"
#include "tools/common/next_option.h"

/* Report an unknown scenario, and suggest a similar name. */
static void report_unknown_scenario(const char *what)
{
	struct ccs_suggestion near = ccs_suggest_for(what);
	const struct scenario *s;
	char hint[80];

	for (s = scenarios; s->name; s++)
		ccs_suggest_offer(&near, s->name);
	ccs_suggest_offer(&near, "matrix");
	ccs_suggest_offer(&near, "--help");
	ccs_suggest_offer(&near, "--version");
	fprintf(stderr, "ccbench: there is no scenario '%s'%s\n", what,
		ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static void usage(FILE *to)
{
	const struct scenario *s;

	fputs("usage: ccbench SCENARIO [OPTION]...\n", to);
	for (s = scenarios; s->name; s++)
		fprintf(to, "  %-12s  %s\n", s->name, s->what);
	fprintf(to, "  %-12s  %s\n", "matrix", "traffic models of `ccfabric matrix`, with verdicts");
	fputs("Run ccbench SCENARIO --help for the options.\n", to);
}

static int dispatch(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (scenario_find(what))
		return bench_main(argc - 1, argv + 1);
	if (!strcmp(what, "matrix"))
		return matrix_main(argc - 1, argv + 1);
	if (!strcmp(what, "worker")) /* for ccbench's own use */
		return worker_main(argc - 1, argv + 1);
	if (!strcmp(what, "-h") || !strcmp(what, "--help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(what, "-V") || !strcmp(what, "--version"))
		return print_version("ccbench");
	if (*what)
		report_unknown_scenario(what);
	usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const int status = dispatch(argc, argv);

	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("ccbench: standard output");
	return status ? status : 1;
}
