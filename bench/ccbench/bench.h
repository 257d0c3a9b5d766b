/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H
/* Running a scenario under every setting, and comparing the results. */
#include "bench/ccbench/scenario/opts.h"
#include "bench/ccbench/place/place.h"
#include "bench/ccbench/result/report.h"

/* `ccbench SCENARIO`: argv[0] is the scenario. The exit status. */
int bench_main(int argc, char **argv);

/* `ccbench matrix`: traffic models of `ccfabric matrix`; argv[0] is matrix. The exit status. */
int matrix_main(int argc, char **argv);

/* The parts of bench_main(), for ccbench-mpi. They report errors on stderr. */
/* The shim's path, if a setting needs it: 0, or an exit status. */
int bench_preload(const struct opts *o, char *preload, size_t len);
/* Also check that there is a device for each host. */
int bench_prepare(const struct opts *o, char *preload, size_t len);

/* Gets the reports of all runs, and the times through the empty network, or NULL. */
typedef void bench_reports(void *arg, const struct report *p, const struct unloaded *unloaded);

/* All of the runs; make() says where. The results go to `reports`; NULL: they are printed and
 * written to files. interrupt_setup() has been called. The exit status. */
int bench_run(const struct opts *o, struct place *(*make)(const char *preload, const char *dir),
	      const char *preload, bench_reports *reports, void *arg);
#endif
