/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PLACE_MPI_H
#define BENCH_PLACE_MPI_H
/*
 * Workers on the ranks of an MPI job: host i is rank i. Rank 0 runs the bench and its own
 * host's worker; each other rank is an agent, which starts a worker on request and passes its
 * messages on. Thus the worker, and with it the shim, is a process without MPI.
 */
#include "place.h"

/* As place_local(), on rank 0 of an initialised MPI. One at a time. */
struct place *place_mpi(const char *preload, const char *dir);

/* Run another rank until rank 0 calls place_mpi_end(). local: the place of this host's worker,
 * which is its host 0. */
void agent_mpi(struct place *local);
void place_mpi_end(int ranks);

#endif
