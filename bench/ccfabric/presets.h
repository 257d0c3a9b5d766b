/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_PRESETS_H
#define CCFABRIC_PRESETS_H
/* Scenarios by name: options of `ccfabric run`, which the user's options replace. */
#include "figures.h"
#include "bench/ccfabric/shared/options.h"

enum { FAB_PRESET_ARGS = 12 };

struct fab_preset {
	const char *name, *text;
	const char *arg[FAB_PRESET_ARGS]; /* up to the first NULL */
};

/* An entry without a name ends the list. */
extern const struct fab_preset fab_presets[];

/*
 * Run a scenario under an algorithm, or "none": without the flow layer, except for READs and SENDs,
 * which need it. arg: further options of `ccfabric run`, n of them. Returns the options of the run. A
 * mistake ends the program.
 */
struct options fab_preset_run(const struct fab_preset *p, char *const *arg, unsigned n, const char *cc,
			      struct fab_figures *figures);

#endif
