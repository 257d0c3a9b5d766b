/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_loops [-s BYTES] [-n ITERATIONS]: the loops of MPI benchmarks between two ranks: latency,
 * bandwidth of 16 messages in flight, and all-reduce. All that is received is verified.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INFLIGHT = 16 };

static int rank, other, size = 4096, iterations = 100;
static char *out, *in;

static void verify(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: wrong data: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void print(const char *what, double seconds)
{
	if (!rank)
		printf("%s: %d bytes, %.3f us\n", what, size, seconds / iterations * 1e6);
}

static void latency(void)
{
	double began = MPI_Wtime();

	for (int i = 0; i < iterations; i++) {
		memset(out, i, size);
		if (!rank)
			MPI_Send(out, size, MPI_CHAR, other, 1, MPI_COMM_WORLD);
		MPI_Recv(in, size, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(out, size, MPI_CHAR, other, 1, MPI_COMM_WORLD);
		verify(!memcmp(in, out, size), "latency");
	}
	print("round trip", MPI_Wtime() - began);
}

static void bandwidth(void)
{
	MPI_Request requests[INFLIGHT];
	double began = MPI_Wtime();

	for (int i = 0; i < iterations; i++) {
		for (int k = 0; k < INFLIGHT; k++) {
			if (rank)
				MPI_Irecv(in + (size_t)k * size, size, MPI_CHAR, other, 2, MPI_COMM_WORLD,
					  &requests[k]);
			else
				MPI_Isend(out, size, MPI_CHAR, other, 2, MPI_COMM_WORLD, &requests[k]);
		}
		MPI_Waitall(INFLIGHT, requests, MPI_STATUSES_IGNORE);
		for (int k = 0; rank && k < INFLIGHT; k++)
			verify(!memcmp(in + (size_t)k * size, out, size), "bandwidth");
		MPI_Barrier(MPI_COMM_WORLD);
	}
	print("16 messages", MPI_Wtime() - began);
}

static void all_reduce(void)
{
	const int n = size / (int)sizeof(int);
	int *mine = (int *)out, *sum = (int *)in;
	double began = MPI_Wtime();

	for (int i = 0; i < iterations; i++) {
		for (int k = 0; k < n; k++)
			mine[k] = i + k + rank;
		MPI_Allreduce(mine, sum, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (int k = 0; k < n; k++)
			verify(sum[k] == 2 * (i + k) + 1, "all-reduce");
	}
	print("all-reduce", MPI_Wtime() - began);
}

int main(int argc, char **argv)
{
	int opt;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	other = 1 - rank;
	while ((opt = getopt(argc, argv, "s:n:")) != -1) {
		if (opt == 's')
			size = atoi(optarg);
		else if (opt == 'n')
			iterations = atoi(optarg);
		else
			MPI_Abort(MPI_COMM_WORLD, 2);
	}
	out = malloc(size);
	in = malloc((size_t)INFLIGHT * size);
	verify(out && in, "no memory");
	latency();
	bandwidth();
	all_reduce();
	free(in);
	free(out);
	return MPI_Finalize();
}
