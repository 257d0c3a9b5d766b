/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_MATRIX_H
#define CCFABRIC_MATRIX_H
/* `ccfabric matrix`: all traffic models under several algorithms, with a verdict for each. */
#include <stdio.h>

#include "bench/ccfabric/shared/options.h"
#include "judge.h"

/* Simulates what the options say and calls judge with the result. */
typedef void fab_run_model(struct options *o, fab_judge *judge, void *owner);

/* Returns the exit status. */
int matrix(int argc, char **argv, fab_run_model *run);

enum { MATRIX_CCS = 16 };

struct matrix {
	const char *file, *only, *json;
	const char *cc[MATRIX_CCS];
	unsigned ccs, jobs;
	bool quiet;
	const char *ecn;         /* --ecn of algorithms that need marks */
	char **given;            /* options of `ccfabric run`, for all models */
	unsigned givens;
	struct fab_models models;
	/* In shared memory, when all have run: of algorithm c and model m at [c * models.n + m]. */
	struct fab_verdict *verdict;
	double wall_s;
};

/* False if a simulation failed, which has said why. A wrong option of a model ends the program. */
bool matrix_simulate(struct matrix *m, fab_run_model *run);

void matrix_print(const struct matrix *m, FILE *f);
bool matrix_write_json(const void *matrix, FILE *f);

#endif
