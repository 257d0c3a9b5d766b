/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_RUN_H
#define CCFABRIC_RUN_H
/* One simulation, from the options of `ccfabric run` to its result. A mistake ends the program. */
#include "bench/ccfabric/shared/options.h"
#include "summary.h"

/* The memory to which the options' configuration points. */
struct fab_set_up {
	struct topology topology;
	struct fab_routes routes;
	struct fab_flows flows;
	struct ccs_cc_spec spec[1 + FAB_PRIORITIES];
	struct fab_change change[MAX_CHANGES];
};

void fab_set_up(struct fab_set_up *s, struct options *o);
struct fab_cost fab_simulate(const struct options *o, struct fab_result *r);
void fab_clean_up(struct fab_set_up *s, struct fab_result *r);

/* All three; judge is called with the result. */
void fab_run_options(struct options *o, fab_judge *judge, void *owner);

#endif
