/* SPDX-License-Identifier: BSD-2-Clause */
/* ccfabric: congestion control in a simulated fabric. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "bench/common/error.h"
#include "bench/common/progress.h"
#include "bench/ccfabric/models/matrix.h"
#include "bench/ccfabric/shared/options.h"
#include "bench/common/output.h"
#include "ccfabric.h"
#include "tools/common/next_option.h"

static void show_progress(uint64_t now, unsigned done, unsigned flows)
{
	(void)now;
	progress_bar(0, 1, "simulating", (double)done / flows);
}

static void print_all(const struct options *o, const struct fab_result *r, struct fab_cost cost)
{
	const struct fab_outcome outcome = { o, &o->conf, r, cost };

	if (!o->json || strcmp(o->json, "-") != 0)
		fab_print(&outcome, stdout);
	output_flush();
	output_write(o->json, fab_write_json, &outcome);
}

static int run(int argc, char **argv)
{
	struct fab_cost cost;
	struct fab_result r;
	struct fab_set_up s;
	struct options o;

	die_in_command("run");
	argv[0] = (char *)"ccfabric run"; /* the prefix of getopt's messages */
	options_parse(&o, argc, argv);
	output_check(o.json);
	fab_set_up(&s, &o);
	if (!o.quiet && progress_watched())
		o.conf.progress = show_progress;
	cost = fab_simulate(&o, &r);
	if (o.conf.progress)
		progress_clear();
	print_all(&o, &r, cost);
	fab_clean_up(&s, &r);
	return 0;
}

__attribute__((noreturn))
static void refuse_command(const char *word)
{
	static const char *const known[] = { "run", "scenario", "matrix", "--help", "--version" };
	struct ccs_suggestion near = ccs_suggest_for(word);
	char hint[96];

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		ccs_suggest_offer(&near, known[i]);
	die("'%s' is no command; run, scenario and matrix are%s", word,
	    ccs_suggest_hint(&near, hint, sizeof(hint)));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		return run(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "matrix") == 0)
		return matrix(argc - 1, argv + 1, fab_run_options);
	if (argc > 1 && strcmp(argv[1], "scenario") == 0)
		return scenario(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		output_help(options_usage);
	if (argc > 1 && (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)) {
		print_version("ccfabric");
		output_flush();
		return 0;
	}
	if (argc > 1)
		refuse_command(argv[1]);
	die("a command is missing: run, scenario or matrix");
}
