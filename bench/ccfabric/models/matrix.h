/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_MATRIX_H
#define CCFABRIC_MATRIX_H
/* `ccfabric matrix`: all traffic models under several algorithms, with a verdict for each. */
#include "suite.h"

/* Returns the exit status. */
int matrix(int argc, char **argv, fab_run_model *run);

/* The results: verdict[c * models->n + m] is of algorithm c and model m. */
struct matrix_result {
	const struct fab_models *models;
	const struct fab_setting *setting;
	unsigned ccs;
	const struct fab_verdict *verdict;
	double wall_s;
};

void matrix_print(const void *result, FILE *f);
bool matrix_write_json(const void *result, FILE *f);

#endif
