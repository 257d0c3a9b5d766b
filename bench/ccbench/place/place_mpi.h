/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PLACE_MPI_H
#define BENCH_PLACE_MPI_H
/*
 * Workers on the ranks of an MPI job: host i is rank i. Rank 0 runs the bench and the worker of its
 * host; each other rank is a proxy that starts a worker on request and forwards its messages. The
 * worker, and with it the shim, is thus a process without MPI.
 */
#include "place.h"

/* As place_local(), on rank 0 of an initialised MPI. One at a time. */
struct place *place_mpi(const char *preload, const char *dir);

/* Run another rank until rank 0 calls place_mpi_end(). local: the place of this host's worker,
 * which is its host 0. */
void agent_mpi(struct place *local);
void place_mpi_end(int ranks);

#endif
