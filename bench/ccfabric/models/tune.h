/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_TUNE_H
#define CCFABRIC_TUNE_H
/* `ccfabric tune`: switch settings under which an algorithm meets the goals in most models. */
#include "suite.h"

/* Returns the exit status. */
int tune(int argc, char **argv, fab_run_model *run);

struct tune_setting {
	const char *kmin, *kmax, *pmax, *alpha;
	char ecn[FAB_SUITE_ECN];
};

/* A setting on all models; or one of the algorithms beside, which have no setting. */
struct tune_row {
	const char *cc;
	const struct tune_setting *setting; /* NULL: beside */
	const struct fab_verdict *verdict;
	struct fab_totals totals;
	bool front;              /* no other setting is better in one goal and as good in the rest */
	bool recommended;
};

struct tune_result {
	const struct fab_models *models;
	unsigned coarse_models, coarse_settings;
	struct tune_row *row;    /* the best setting first, then those beside */
	unsigned rows, settings;
	double wall_s;
};

void tune_print(const void *result, FILE *f);
bool tune_write_json(const void *result, FILE *f);

#endif
