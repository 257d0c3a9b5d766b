/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MATRIX_H
#define BENCH_MATRIX_H
/* The results of `ccbench matrix`: traffic models on real devices, each with a verdict. */
#include <stdbool.h>
#include <stdio.h>

#include "models.h"
#include "verdict.h"

#define MATRIX_MODELS 27

/* A model that was chosen, and its verdict under each setting. */
struct matrix_row {
	const struct model *model;
	char reason[80];         /* why it was not run; "": it was */
	unsigned n;
	struct verdict v[MAX_SETTINGS];
};

struct matrix {
	struct matrix_row row[MATRIX_MODELS];
	unsigned rows;
	double base_us;          /* of this network */
};

void matrix_print_head(const struct matrix *m);
void matrix_print_row(const struct matrix_row *r);
void matrix_print_totals(const struct matrix *m);
/* For output_write(). */
bool matrix_write(const void *matrix, FILE *f);

#endif
