/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccfabric.h"

#include <string.h>

#include "base/json.h"
#include "bench/common/error.h"
#include "bench/common/output.h"
#include "bench/sim/core/memory.h"
#include "tools/common/human.h"

enum { SETTINGS_MAX = 32 };

static const char usage[] =
	"usage: ccfabric scenario NAME [--cc CC]... [OPTION of ccfabric run]...\n"
	"\n"
	"Simulates a scenario under each algorithm and without control, and compares them:\n"
	"utilisation, Jain's index, the time of operations, queue, PAUSE frames and drops.\n"
	"\n"
	"  collective  all-reduces, with pauses between them\n"
	"  trunk       seven flows over a link between two switches, and requests over it\n"
	"  claims      an incast into a port for which a further host announces 256 flows\n"
	"  kv          requests and their responses beside bulk transfers to one host\n"
	"\n"
	"  --cc CC          an algorithm, NAME[:PARAM=VALUE,...]; may be repeated (auto)\n"
	"  --out_json FILE  write the results as JSON; - is standard output\n"
	"\n"
	"Each NAME stands for options of ccfabric run, such as --topology and --flows, which\n"
	"are printed; given ones replace them. Algorithms run behind ccshim's flow layer.\n"
	"none runs without it, except with --verb read or send.\n";

struct comparison {
	const struct fab_preset *preset;
	char **arg;              /* options of ccfabric run */
	unsigned args, settings;
	const char *cc[SETTINGS_MAX]; /* [0] is "none" */
	const char *json;
	struct fab_figures *figures; /* of each setting */
};

/* The name may be before, among or after the options. */
static const struct fab_preset *find_preset(int argc, char **argv, int *at)
{
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		output_help(usage);
	for (*at = 1; *at < argc; ++*at)
		for (const struct fab_preset *p = fab_presets; p->name; p++)
			if (strcmp(p->name, argv[*at]) == 0)
				return p;
	die("'%s' is no scenario; collective, trunk, claims and kv are", argv[1]);
}

/* The value of an option of ours, or NULL. */
static const char *value_of(const char *option, int argc, char **argv, int *i)
{
	const size_t len = strlen(option);

	if (strncmp(argv[*i], option, len) != 0 || (argv[*i][len] && argv[*i][len] != '='))
		return NULL;
	if (argv[*i][len])
		return argv[*i] + len + 1;
	if (*i + 1 == argc)
		die("%s: a value is missing", option);
	return argv[++*i];
}

static void parse(struct comparison *c, int argc, char **argv)
{
	const char *value;
	int name;

	if (argc < 2)
		die("a scenario is missing: collective, trunk, claims or kv");
	c->preset = find_preset(argc, argv, &name);
	c->arg = mem_zeroed((size_t)argc, sizeof(*c->arg));
	c->cc[c->settings++] = "none";
	for (int i = 1; i < argc; i++) {
		if (i == name)
			continue;
		if (strcmp(argv[i], "--help") == 0)
			output_help(usage);
		if (c->settings == SETTINGS_MAX)
			die("--cc: more than %d algorithms", SETTINGS_MAX - 1);
		if ((value = value_of("--cc", argc, argv, &i)))
			c->cc[c->settings++] = value;
		else if ((value = value_of("--out_json", argc, argv, &i)))
			c->json = value;
		else
			c->arg[c->args++] = argv[i];
	}
	if (c->settings == 1)
		c->cc[c->settings++] = "auto";
}

static void print_setting(const struct comparison *c, unsigned i)
{
	const struct fab_figures *f = &c->figures[i];
	const struct spread *o = &f->operations, *none = &c->figures->operations;
	char p50[24], p99[24], queue[24];

	printf("%-12.12s %5.3f %6.4f %6zu %9s %9s %6.2f %6.2f %9s %7.0f %6.0f\n", c->cc[i],
	       f->utilisation, f->jain, o->n, human_us(o->p50, p50, sizeof(p50)),
	       human_us(o->p99, p99, sizeof(p99)), o->p50 / none->p50, o->p99 / none->p99,
	       human_bytes(f->queue_p99, queue, sizeof(queue)), f->pauses, f->drops);
}

static void print_table(const struct comparison *c)
{
	printf("%s: %s\n ", c->preset->name, c->preset->text);
	for (unsigned i = 0; i < FAB_PRESET_ARGS && c->preset->arg[i]; i++)
		printf(" %s", c->preset->arg[i]);
	for (unsigned i = 0; i < c->args; i++)
		printf(" %s", c->arg[i]);
	printf("\n\n%-12s %5s %6s %6s %9s %9s %6s %6s %9s %7s %6s\n", "", "util", "Jain", "ops",
	       "op p50", "op p99", "/none", "/none", "queue p99", "XOFFs", "drops");
	for (unsigned i = 0; i < c->settings; i++)
		print_setting(c, i);
}

static void write_setting(struct ccs_json *j, const struct comparison *c, unsigned i)
{
	const struct fab_figures *f = &c->figures[i];
	const struct spread *o = &f->operations, *none = &c->figures->operations;

	ccs_json_object(j, NULL);
	ccs_json_str(j, "cc", c->cc[i]);
	ccs_json_num(j, "utilisation", f->utilisation);
	ccs_json_num(j, "jain", f->jain);
	fab_write_operations(j, o);
	ccs_json_object(j, "slowdown");
	ccs_json_num(j, "p50", o->p50 / none->p50);
	ccs_json_num(j, "p99", o->p99 / none->p99);
	ccs_json_end(j);
	ccs_json_num(j, "queue_mean_bytes", f->queue_mean);
	ccs_json_num(j, "queue_p99_bytes", f->queue_p99);
	ccs_json_num(j, "pauses", f->pauses);
	ccs_json_num(j, "drops", f->drops);
	ccs_json_end(j);
}

static bool write_json(const void *owner, FILE *f)
{
	const struct comparison *c = owner;
	struct ccs_json j;

	ccs_document_start(&j, f, ccs_document_now());
	ccs_json_str(&j, "scenario", c->preset->name);
	ccs_json_array(&j, "options");
	for (unsigned i = 0; i < FAB_PRESET_ARGS && c->preset->arg[i]; i++)
		ccs_json_str(&j, NULL, c->preset->arg[i]);
	for (unsigned i = 0; i < c->args; i++)
		ccs_json_str(&j, NULL, c->arg[i]);
	ccs_json_end(&j);
	ccs_json_array(&j, "settings");
	for (unsigned i = 0; i < c->settings; i++)
		write_setting(&j, c, i);
	ccs_json_end(&j);
	ccs_json_end(&j);
	return ccs_json_finish(&j);
}

int scenario(int argc, char **argv)
{
	struct comparison c = { 0 };

	die_in_command("scenario");
	parse(&c, argc, argv);
	output_check(c.json);
	c.figures = mem_zeroed(c.settings, sizeof(*c.figures));
	for (unsigned i = 0; i < c.settings; i++)
		fab_preset_run(c.preset, c.arg, c.args, c.cc[i], &c.figures[i]);
	if (!c.json || strcmp(c.json, "-") != 0)
		print_table(&c);
	output_flush();
	output_write(c.json, write_json, &c);
	return 0;
}
