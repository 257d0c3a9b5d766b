/* SPDX-License-Identifier: BSD-2-Clause */
/* ccbench-mpi: ccbench with one rank of an MPI job for each host of a scenario. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "bench.h"
#include "bench/common/interrupt.h"
#include "bench/ccbench/place/place_mpi.h"
#include "bench/ccbench/scenario/scenario.h"
#include "bench/ccbench/traffic/worker.h"
#include "tools/common/next_option.h"

static int usage(int rank, int status)
{
	if (!rank)
		fputs("usage: mpirun [...] ccbench-mpi SCENARIO [OPTION]...\n"
		      "One rank for each host; see ccbench(1) for scenarios and options.\n",
		      status ? stderr : stdout);
	return status;
}

/* Run a rank other than the first, with a directory for the shim's reports. */
static int run_agent_rank(const char *preload)
{
	char dir[PATH_MAX];
	struct place *local;

	local = place_scratch(dir, sizeof(dir)) ? place_local(preload, dir) : NULL;
	if (!local) {
		fprintf(stderr, "ccbench: %s: %s\n", dir, strerror(errno));
		MPI_Abort(MPI_COMM_WORLD, 1);
		return 1;
	}
	interrupt_setup(); /* rank 0 gets the signal too, and ends all ranks */
	agent_mpi(local);
	local->release(local);
	rmdir(dir);
	return 0;
}

/* All ranks parse the same command line; only rank 0 reports its errors. */
static int run_rank(int rank, int ranks, int argc, char **argv)
{
	static struct opts o;
	char err[512], preload[PATH_MAX] = "";
	int status, worst;

	if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")))
		return rank ? 0 : print_version("ccbench-mpi");
	if (argc < 2 || !scenario_find(argv[1]))
		return usage(rank, argc > 1 && (!strcmp(argv[1], "--help") ||
						!strcmp(argv[1], "-h")) ? 0 : 2);
	switch (opts_parse(&o, (unsigned)ranks, argc - 1, argv + 1, err, sizeof(err))) {
	case OPTS_HELP:
		if (!rank)
			opts_usage();
		return 0;
	case OPTS_BAD:
		if (!rank)
			fprintf(stderr, "ccbench: %s (see ccbench %s --help)\n", err, argv[1]);
		return 2;
	case OPTS_OK:
		break;
	}
	status = bench_preload(&o, preload, sizeof(preload));
	MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (worst)
		return worst;
	if (rank)
		return run_agent_rank(preload);
	interrupt_setup();
	status = bench_run(&o, place_mpi, preload, NULL, NULL);
	place_mpi_end(ranks);
	return status;
}

int main(int argc, char **argv)
{
	int rank, ranks, status;

	if (argc > 1 && !strcmp(argv[1], "worker")) /* internal: see place/local.c */
		return worker_main(argc - 1, argv + 1);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	status = run_rank(rank, ranks, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		perror("ccbench: standard output");
		status = status ? status : 1;
	}
	/* mpirun returns the first status that is not 0, so all ranks return the same. */
	MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	return status;
}
