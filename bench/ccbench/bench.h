/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H
/* Running a scenario under every setting, and comparing the results. */
#include "bench/ccbench/scenario/opts.h"
#include "bench/ccbench/place/place.h"

/* `ccbench SCENARIO`: argv[0] is the scenario. The exit status. */
int bench_main(int argc, char **argv);

/* The parts of bench_main(), for ccbench-mpi. They report errors on stderr. */
/* The shim's path, if a setting needs it: 0, or an exit status. */
int bench_preload(const struct opts *o, char *preload, size_t len);
/* All of the runs; make() says where. The exit status. */
int bench_run(const struct opts *o, struct place *(*make)(const char *preload, const char *dir),
	      const char *preload);
#endif
