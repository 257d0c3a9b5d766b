/* SPDX-License-Identifier: BSD-2-Clause */
/* The verdicts as a table and as JSON. */
#include <stdio.h>

#include "base/json.h"
#include "matrix.h"
#include "tools/common/human.h"

struct totals {
	unsigned run, passed, quick; /* quick: p99 within 14.5 base RTTs */
};

void matrix_print_head(const struct matrix *m)
{
	char base[32], most[32];

	printf("base RTT %s: p99 at most %s\n",
	       human_us(m->base_us, base, sizeof(base)),
	       human_us(DELAY_MAX_RTTS * m->base_us, most, sizeof(most)));
	printf("%-20s %-14s %6s %7s %9s %9s  verdict\n", "model", "cc", "G1", "G2", "G3: p99",
	       "victim");
}

static void print_verdict(const struct verdict *v)
{
	if (v->pass)
		printf("pass\n");
	else
		printf("fail%s%s%s%s\n", v->g1 ? "" : " G1", v->g2 ? "" : " G2", v->g3 ? "" : " G3",
		       v->errors ? " ERRORS" : "");
}

void matrix_print_row(const struct matrix_row *r)
{
	char used[32], drops[32], p99[32], victim[32];

	if (*r->reason)
		printf("%-20s %s\n", r->model->name, r->reason);
	for (unsigned i = 0; i < r->n; i++) {
		const struct verdict *v = &r->v[i];

		printf("%-20s %-14s %6s %7s %9s %9s  ", i ? "" : r->model->name, v->cc,
		       human_percent(v->utilisation, used, sizeof(used)),
		       human_count(v->drops, drops, sizeof(drops)),
		       human_us(v->p99_us, p99, sizeof(p99)),
		       human_us(v->victim_p99_us, victim, sizeof(victim)));
		print_verdict(v);
	}
}

/* A row that ran; all such rows have the same settings. */
static const struct matrix_row *any_row(const struct matrix *m)
{
	const struct matrix_row *r;

	for (r = m->row; r < m->row + m->rows; r++)
		if (r->n)
			return r;
	return NULL;
}

static struct totals add_up(const struct matrix *m, unsigned setting)
{
	struct totals t = { 0 };

	for (unsigned i = 0; i < m->rows; i++) {
		const struct verdict *v = &m->row[i].v[setting];

		t.run += v->run;
		t.passed += v->pass;
		t.quick += v->run && v->p99_us <= DELAY_MOST_RTTS * m->base_us;
	}
	return t;
}

static bool most_are_quick(const struct totals *t)
{
	return t->run && t->quick >= DELAY_MOST_SHARE * t->run;
}

void matrix_print_totals(const struct matrix *m)
{
	const struct matrix_row *any = any_row(m);

	for (unsigned i = 0; any && i < any->n; i++) {
		const struct totals t = add_up(m, i);

		printf("%s: %u of %u models pass; p99 is at most %g base RTTs in %u, %s\n"
		       "than the %.0f %% that are wanted\n", any->v[i].cc, t.passed, t.run,
		       DELAY_MOST_RTTS, t.quick, most_are_quick(&t) ? "not less" : "less",
		       100 * DELAY_MOST_SHARE);
	}
}

static void write_verdict(struct ccs_json *j, const struct model *m, const struct verdict *v)
{
	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", m->name);
	ccs_json_str(j, "cc", v->cc);
	ccs_json_bool(j, "run", true);
	ccs_json_bool(j, "pass", v->pass);
	ccs_json_bool(j, "g1", v->g1);
	ccs_json_bool(j, "g2", v->g2);
	ccs_json_bool(j, "g3", v->g3);
	ccs_json_num(j, "utilisation", v->utilisation);
	ccs_json_num(j, "drops", v->drops);
	ccs_json_num(j, "p99_us", v->p99_us);
	ccs_json_num(j, "victim_p99_us", v->victim_p99_us);
	ccs_json_uint(j, "errors", v->errors);
	ccs_json_end(j);
}

static void write_row(struct ccs_json *j, const struct matrix_row *r)
{
	for (unsigned i = 0; i < r->n; i++)
		write_verdict(j, r->model, &r->v[i]);
	if (!*r->reason)
		return;
	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", r->model->name);
	ccs_json_bool(j, "run", false);
	ccs_json_str(j, "reason", r->reason);
	ccs_json_end(j);
}

bool matrix_write(const void *matrix, FILE *f)
{
	const struct matrix *m = matrix;
	const struct matrix_row *any = any_row(m);
	struct ccs_json j;

	ccs_document_start(&j, f, ccs_document_now());
	ccs_json_num(&j, "base_us", m->base_us);
	ccs_json_array(&j, "models");
	for (unsigned i = 0; i < m->rows; i++)
		write_row(&j, &m->row[i]);
	ccs_json_end(&j);
	ccs_json_object(&j, "passed");
	for (unsigned i = 0; any && i < any->n; i++)
		ccs_json_uint(&j, any->v[i].cc, add_up(m, i).passed);
	ccs_json_end(&j);
	return ccs_json_finish(&j);
}
