/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of `ccfabric tune` as a table and as JSON. */
#include <stdio.h>

#include "base/document.h"
#include "base/json.h"
#include "tools/common/human.h"
#include "tune.h"

/* Which goals of a model are met by a setting at least. */
struct reach {
	bool run, pass, g1, g2, g3;
};

static struct reach reach_of(const struct tune_result *r, unsigned model)
{
	struct reach reach = { 0 };

	for (unsigned i = 0; i < r->settings; i++) {
		const struct fab_verdict *v = &r->row[i].verdict[model];

		reach.run |= v->run;
		reach.pass |= v->pass;
		reach.g1 |= v->g1;
		reach.g2 |= v->g2;
		reach.g3 |= v->g3;
	}
	return reach;
}

static void print_row(const struct tune_row *row, FILE *f)
{
	const struct fab_totals *t = &row->totals;
	char p99[24];

	if (row->setting)
		fprintf(f, "%c%c %6.10s %6.10s %5.8s %5.8s", row->recommended ? '>' : ' ',
			row->front ? '*' : ' ', row->setting->kmin, row->setting->kmax,
			row->setting->pmax, row->setting->alpha);
	else
		fprintf(f, "   %-25.25s", row->cc);
	fprintf(f, " %6u %6u %6u %6u %7u %8s\n", t->passed, t->g1, t->g2, t->g3, t->quick,
		human_us(t->p99_us, p99, sizeof(p99)));
}

static void print_unreached(const struct tune_result *r, FILE *f)
{
	bool any = false;

	for (unsigned m = 0; m < r->models->n; m++) {
		const struct reach reach = reach_of(r, m);

		if (!reach.run || reach.pass)
			continue;
		if (!any)
			fputs("\nNone of these settings passes, with the goals that none meets:\n", f);
		fprintf(f, "  %-24s%s%s%s%s\n", r->models->model[m].name, reach.g1 ? "" : " G1",
			reach.g2 ? "" : " G2", reach.g3 ? "" : " G3",
			reach.g1 && reach.g2 && reach.g3 ? " not all at once" : "");
		any = true;
	}
	if (!any)
		fputs("\nEach model passes under one of the settings.\n", f);
}

void tune_print(const void *result, FILE *f)
{
	const struct tune_result *r = result;

	fprintf(f, "%s: %u settings on %u models, the best %u on %u\n",
		r->row[0].cc, r->coarse_settings, r->coarse_models, r->settings, r->row[0].totals.run);
	fprintf(f, "   %6s %6s %5s %5s %6s %6s %6s %6s %7s %8s\n", "Kmin", "Kmax", "Pmax", "alpha",
		"pass", "G1", "G2", "G3", "<=40us", "p99 mean");
	for (unsigned i = 0; i < r->rows; i++)
		print_row(&r->row[i], f);
	fputs("> is recommended; * are on the front: none is better in a goal without being\n"
	      "worse in another. The mean of the p99s is geometric.\n", f);
	print_unreached(r, f);
	fprintf(f, "\nThis took %.0f s.\n", r->wall_s);
}

static void write_row(struct ccs_json *j, const struct tune_row *row)
{
	const struct fab_totals *t = &row->totals;

	ccs_json_object(j, NULL);
	ccs_json_str(j, "cc", row->cc);
	if (row->setting) {
		ccs_json_str(j, "kmin", row->setting->kmin);
		ccs_json_str(j, "kmax", row->setting->kmax);
		ccs_json_str(j, "pmax", row->setting->pmax);
		ccs_json_str(j, "alpha", row->setting->alpha);
		ccs_json_bool(j, "front", row->front);
		ccs_json_bool(j, "recommended", row->recommended);
	}
	ccs_json_uint(j, "run", t->run);
	ccs_json_uint(j, "passed", t->passed);
	ccs_json_uint(j, "g1", t->g1);
	ccs_json_uint(j, "g2", t->g2);
	ccs_json_uint(j, "g3", t->g3);
	ccs_json_uint(j, "within_40us", t->quick);
	ccs_json_num(j, "p99_us", t->p99_us);
	ccs_json_uint(j, "lossless_lost", t->lost);
	ccs_json_end(j);
}

static void write_unreached(struct ccs_json *j, const struct tune_result *r)
{
	ccs_json_array(j, "unreached");
	for (unsigned m = 0; m < r->models->n; m++) {
		const struct reach reach = reach_of(r, m);

		if (!reach.run || reach.pass)
			continue;
		ccs_json_object(j, NULL);
		ccs_json_str(j, "name", r->models->model[m].name);
		ccs_json_bool(j, "g1", reach.g1);
		ccs_json_bool(j, "g2", reach.g2);
		ccs_json_bool(j, "g3", reach.g3);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

bool tune_write_json(const void *result, FILE *f)
{
	const struct tune_result *r = result;
	struct ccs_json j;

	ccs_json_start(&j, f);
	ccs_json_object(&j, NULL);
	ccs_document_head(&j, ccs_document_now());
	ccs_json_array(&j, "settings");
	for (unsigned i = 0; i < r->settings; i++)
		write_row(&j, &r->row[i]);
	ccs_json_end(&j);
	ccs_json_array(&j, "beside");
	for (unsigned i = r->settings; i < r->rows; i++)
		write_row(&j, &r->row[i]);
	ccs_json_end(&j);
	write_unreached(&j, r);
	ccs_json_uint(&j, "coarse_settings", r->coarse_settings);
	ccs_json_uint(&j, "coarse_models", r->coarse_models);
	ccs_json_num(&j, "wall_s", r->wall_s);
	ccs_json_end(&j);
	return ccs_json_finish(&j);
}
