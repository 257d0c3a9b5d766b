/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan: computes switch settings from properties of the network. */
#include "plan.h"

#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/options.h"
#include "tools/common/next_option.h"
#include "tools/common/terminal.h"

static const struct plan_calc *const calcs[] = {
	&plan_headroom, &plan_buffer,
	&plan_thresholds,
	&plan_ecn,
	&plan_deadlock,
	&plan_qos,
};

#define CALCS (sizeof(calcs) / sizeof(*calcs))

static int print_help(void)
{
	printf("usage: ccshim plan CALCULATION [OPTION...]\n\n"
	       "Computes switch settings from the properties of a network.\n\n");
	for (unsigned i = 0; i < CALCS; i++)
		printf("  %-10s  %s\n", calcs[i]->name, calcs[i]->doc);
	printf("\n  --json      JSON instead of a table\n"
	       "  --explain   also print the formulas and where each comes from\n"
	       "  -h, --help  this text; 'ccshim plan CALCULATION -h' for more\n\n"
	       "Sizes are binary (64k, 32m), rates decimal (100g), times in us (1.5us).\n");
	return EXIT_OK;
}

static const struct plan_calc *calc;

static int print_calc_help(void)
{
	printf("usage: ccshim plan %s [OPTION...]\n\nComputes %s.\n\n", calc->name, calc->doc);
	FOR_EACH_OPTION(o, calc) {
		char option[64];

		snprintf(option, sizeof(option), "--%s %s", o->name, o->arg ? o->arg : "");
		printf("  %-22s  %s", option, o->doc);
		printf(o->preset ? " [%s]\n" : "\n", o->preset);
	}
	printf("  %-22s  JSON instead of a table\n"
	       "  %-22s  also print the formulas and where each comes from\n"
	       "  %-22s  this text\n", "--json", "--explain", "-h, --help");
	return EXIT_OK;
}

/* A given option without a value has an empty text. */
static int set_given(const char *cmd, void *value, const struct option_row *row)
{
	(void)cmd, (void)row;
	*(const char **)value = "";
	return 0;
}

/* An exit status, or -1 if the calculation should run. */
static int parse_options(struct plan *p, int argc, char **argv)
{
	struct option_row rows[PLAN_OPTIONS_MAX + 3] = { 0 };
	unsigned n = 0;
	int status;

	FOR_EACH_OPTION(o, calc) {
		p->value[n] = o->preset;
		rows[n] = (struct option_row){
			.name = o->name, .kind = o->arg ? OPTION_TEXT : OPTION_CALL, .call = set_given,
			.at = offsetof(struct plan, value) + n * sizeof(*p->value), .with = o->with,
		};
		n++;
	}
	rows[n++] = (struct option_row){ .name = "json", .at = offsetof(struct plan, json) };
	rows[n] = (struct option_row){ .name = "explain", .at = offsetof(struct plan, explain) };
	status = tool_options("plan", print_calc_help, rows, p, argc, argv);
	return status < 0 && optind < argc ? tool_refuse_operand("plan", argv[optind]) : status;
}

static void explain_json(struct plan *p)
{
	ccs_json_array(&p->j, "explain");
	for (const struct plan_formula *f = p->calc->formulas; f->text; f++) {
		ccs_json_object(&p->j, NULL);
		ccs_json_str(&p->j, "formula", f->text);
		ccs_json_str(&p->j, "source", f->source);
		ccs_json_end(&p->j);
	}
	ccs_json_end(&p->j);
}

static void explain(const struct plan *p)
{
	printf("\nFormulas:\n");
	for (const struct plan_formula *f = p->calc->formulas; f->text; f++) {
		terminal_print(stdout, "      ", "  %s", f->text);
		terminal_print(stdout, "      ", "      (%s)", f->source);
	}
}

/* JSON goes to a buffer first: a mistake must not leave half an object on stdout. */
static int calculate(struct plan *p)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = p->json ? open_memstream(&text, &len) : NULL;
	int status;

	if (f) {
		ccs_document_start(&p->j, f, ccs_document_now());
		ccs_json_str(&p->j, "calculation", p->calc->name);
	}
	status = p->calc->main(p);
	if (!p->failed && p->explain && !p->json)
		explain(p);
	if (f) {
		if (p->explain)
			explain_json(p);
		ccs_json_finish(&p->j);
		fclose(f);
		if (!p->failed)
			fputs(text, stdout);
		free(text);
	}
	return p->failed ? EXIT_USAGE : status;
}

static int refuse_calc(const char *word)
{
	struct ccs_suggestion near = ccs_suggest_for(word);
	char hint[96];

	for (unsigned i = 0; i < CALCS; i++)
		ccs_suggest_offer(&near, calcs[i]->name);
	ccs_suggest_offer(&near, "--help");
	ccs_suggest_offer(&near, "--version");
	return tool_refuse_usage("plan", "there is no calculation '%s'%s", word,
				 ccs_suggest_hint(&near, hint, sizeof(hint)));
}

int cmd_plan(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	static struct plan p;
	int status;

	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return print_help();
	if (strcmp(word, "--version") == 0)
		return print_version("ccshim");
	for (unsigned i = 0; i < CALCS; i++)
		if (strcmp(word, calcs[i]->name) == 0)
			calc = calcs[i];
	if (!*word)
		return tool_refuse_usage("plan", "a calculation is missing");
	if (!calc)
		return refuse_calc(word);
	p.calc = calc;
	status = parse_options(&p, argc - 1, argv + 1);
	return status >= 0 ? status : calculate(&p);
}
