/* SPDX-License-Identifier: BSD-2-Clause */
/* The verdicts as a table and as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "matrix.h"
#include "tools/common/human.h"

/* The verdicts of one algorithm together. */
struct totals {
	unsigned run, passed;
	unsigned quick;          /* p99 <= FAB_DELAY_MOST_US */
	uint64_t lost;
};

static struct totals add_up(const struct matrix *x, unsigned cc)
{
	struct totals t = { 0 };

	for (unsigned m = 0; m < x->models.n; m++) {
		const struct fab_verdict *v = &x->verdict[cc * x->models.n + m];

		t.run += v->run;
		t.passed += v->pass;
		t.quick += v->run && v->p99_us <= FAB_DELAY_MOST_US;
		t.lost += v->lost;
	}
	return t;
}

static bool most_are_quick(const struct totals *t)
{
	return t->run && t->quick >= FAB_DELAY_MOST_SHARE * t->run;
}

static void print_verdict(const struct fab_verdict *v, FILE *f)
{
	if (v->pass) {
		fputs("pass\n", f);
		return;
	}
	fprintf(f, "fail%s%s%s%s%s\n", v->g1 ? "" : " G1", v->g2 ? "" : " G2", v->g3 ? "" : " G3",
		v->lost ? " LOST" : "", v->deadlock ? " DEADLOCK" : "");
}

static void print_model(const struct fab_model *m, const struct fab_verdict *v, FILE *f)
{
	char p99[24], mean[24];

	if (!v->run) {
		fprintf(f, "%-24s not run: %s\n", m->name, m->reason);
		return;
	}
	fprintf(f, "%-24s %6.1f%% %8.0f %9s %9s %6llu  ", m->name, 100 * v->g1_value, v->pauses_per_s,
		human_us(v->p99_us, p99, sizeof(p99)), human_us(v->mean_us, mean, sizeof(mean)),
		(unsigned long long)v->lost);
	print_verdict(v, f);
}

void matrix_print(const struct matrix *x, FILE *f)
{
	const unsigned n = x->models.n;

	for (unsigned c = 0; c < x->ccs; c++) {
		const struct totals t = add_up(x, c);

		fprintf(f, "%s%s\n%-24s %7s %8s %9s %9s %6s  verdict\n", c ? "\n" : "", x->cc[c],
			"model", "G1", "G2: /s", "G3: p99", "mean", "lost");
		for (unsigned m = 0; m < n; m++)
			print_model(&x->models.model[m], &x->verdict[c * n + m], f);
		fprintf(f, "%u of %u models pass, %u were not run. p99 is at most %.0f us in %u of %u, %s\n"
			"of the %.0f %% that are wanted. %llu lossless packets were lost.\n",
			t.passed, n, n - t.run, FAB_DELAY_MOST_US, t.quick, t.run,
			most_are_quick(&t) ? "not less" : "less", 100 * FAB_DELAY_MOST_SHARE,
			(unsigned long long)t.lost);
	}
	fprintf(f, "\nThis took %.0f s.\n", x->wall_s);
}

static void write_model(struct ccs_json *j, const struct fab_model *m, const char *cc,
			const struct fab_verdict *v)
{
	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", m->name);
	ccs_json_str(j, "cc", cc);
	ccs_json_bool(j, "run", v->run);
	ccs_json_bool(j, "pass", v->pass);
	if (v->run) {
		ccs_json_bool(j, "g1", v->g1);
		ccs_json_bool(j, "g2", v->g2);
		ccs_json_bool(j, "g3", v->g3);
		ccs_json_num(j, m->goal == FAB_GOAL_FULL ? "utilisation" : "delivered", v->g1_value);
		ccs_json_num(j, "pauses_per_s", v->pauses_per_s);
		ccs_json_num(j, "p50_us", v->p50_us);
		ccs_json_num(j, "p99_us", v->p99_us);
		ccs_json_num(j, "mean_us", v->mean_us);
		ccs_json_num(j, "max_us", v->max_us);
		ccs_json_uint(j, "lossless_lost", v->lost);
		ccs_json_uint(j, "packets", v->packets);
		ccs_json_bool(j, "deadlock", v->deadlock);
		ccs_json_num(j, "simulated_us", v->simulated_us);
		ccs_json_num(j, "wall_s", v->wall_s);
	} else {
		ccs_json_str(j, "reason", m->reason);
	}
	ccs_json_end(j);
}

bool matrix_write_json(const void *matrix, FILE *f)
{
	const struct matrix *x = matrix;
	struct ccs_json j;

	ccs_document_start(&j, f, ccs_document_now());
	ccs_json_array(&j, "models");
	for (unsigned c = 0; c < x->ccs; c++)
		for (unsigned m = 0; m < x->models.n; m++)
			write_model(&j, &x->models.model[m], x->cc[c], &x->verdict[c * x->models.n + m]);
	ccs_json_end(&j);
	ccs_json_object(&j, "passed");
	for (unsigned c = 0; c < x->ccs; c++)
		ccs_json_uint(&j, x->cc[c], add_up(x, c).passed);
	ccs_json_end(&j);
	ccs_json_object(&j, "most_within_40us");
	for (unsigned c = 0; c < x->ccs; c++) {
		const struct totals t = add_up(x, c);

		ccs_json_bool(&j, x->cc[c], most_are_quick(&t));
	}
	ccs_json_end(&j);
	ccs_json_num(&j, "wall_s", x->wall_s);
	ccs_json_end(&j);
	return ccs_json_finish(&j);
}
