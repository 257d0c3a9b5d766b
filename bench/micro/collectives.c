/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective operations of MPI, timed, with the data checked. bench/scripts/collectives runs it. */
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: mpirun ... collectives [-s BYTES] [-n ITERATIONS] [-w WARMUP] [COLLECTIVE]...\n"
	"Time allreduce, allgather, reduce_scatter, alltoall and broadcast, or the given ones, and check\n"
	"the data. A line for each: name, bytes, microseconds, algorithm and bus bandwidth in Mb/s.\n"
	"\n"
	"  -s BYTES       what a rank has in the end, or for reduce_scatter and alltoall at first: 1048576\n"
	"  -n ITERATIONS  10\n"
	"  -w WARMUP      iterations before these: 2\n";

static struct {
	size_t bytes;
	int iterations, warmup;
} opt = { 1 << 20, 10, 2 };

static int rank, ranks;
static int whole, part;         /* elements of all ranks, and of one */
static float *in, *out;

/* The element i that rank r contributes; small, so that sums are exact. */
static float value(int r, int i)
{
	return (float)(r + i % 8);
}

static float sum(int i)
{
	return (float)(ranks * (ranks - 1) / 2 + ranks * (i % 8));
}

static void allreduce(void)
{
	MPI_Allreduce(in, out, whole, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(void)
{
	MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
	MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(void)
{
	MPI_Alltoall(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
}

static void broadcast(void)
{
	MPI_Bcast(rank ? out : in, whole, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

/* The expected element i of the result. */
static float of_allreduce(int i)
{
	return sum(i);
}

static float of_allgather(int i)
{
	return value(i / part, i % part);
}

static float of_reduce_scatter(int i)
{
	return sum(rank * part + i);
}

static float of_alltoall(int i)
{
	return value(i / part, rank * part + i % part);
}

static float of_broadcast(int i)
{
	return value(0, i);
}

/*
 * The bus bandwidth is the minimum rate on the link of each rank with any algorithm: the algorithm's
 * bandwidth times this factor, as nccl-tests defines it.
 */
static double all_but_own(void)
{
	return (double)(ranks - 1) / ranks;
}

static double there_and_back(void)
{
	return 2 * all_but_own();
}

static double once(void)
{
	return 1;
}

static const struct collective {
	const char *name;
	void (*perform)(void);
	float (*expected)(int i);
	double (*bus_factor)(void);
} collectives[] = {
	{ "allreduce", allreduce, of_allreduce, there_and_back },
	{ "allgather", allgather, of_allgather, all_but_own },
	{ "reduce_scatter", reduce_scatter, of_reduce_scatter, all_but_own },
	{ "alltoall", alltoall, of_alltoall, all_but_own },
	{ "broadcast", broadcast, of_broadcast, once },
};

/* The number of wrong elements in all ranks. The root of a broadcast does not receive. */
static int wrong_elements(const struct collective *c)
{
	int n = c->perform == reduce_scatter ? part : whole;
	int wrong = 0, all;

	if (c->perform == broadcast && !rank)
		n = 0;
	for (int i = 0; i < n; i++)
		wrong += out[i] != c->expected(i);
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static bool measure(const struct collective *c)
{
	double begun, took, longest, mbps;
	int wrong;

	memset(out, 0xff, (size_t)whole * sizeof(*out));
	for (int i = 0; i < opt.warmup; i++)
		c->perform();
	MPI_Barrier(MPI_COMM_WORLD);
	begun = MPI_Wtime();
	for (int i = 0; i < opt.iterations; i++)
		c->perform();
	took = (MPI_Wtime() - begun) / opt.iterations;
	MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	wrong = wrong_elements(c);
	if (rank)
		return !wrong;
	mbps = (double)whole * sizeof(*in) * 8 / longest / 1e6;
	printf("%s\t%zu\t%.1f\t%.2f\t%.2f\n", c->name, (size_t)whole * sizeof(*in), longest * 1e6,
	       mbps, mbps * c->bus_factor());
	fflush(stdout);
	if (wrong)
		fprintf(stderr, "collectives: %s: %d wrong elements\n", c->name, wrong);
	return !wrong;
}

static bool is_wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	while (*names && strcmp(*names, name))
		names++;
	return *names;
}

static bool measure_all(char **names)
{
	bool right = true;

	part = (int)(opt.bytes / sizeof(*in) / (size_t)ranks);
	part = part ? part : 1;
	whole = part * ranks;
	in = malloc((size_t)whole * sizeof(*in));
	out = malloc((size_t)whole * sizeof(*out));
	if (!in || !out) {
		fprintf(stderr, "collectives: not enough memory for -s %zu\n", opt.bytes);
		return false;
	}
	for (int i = 0; i < whole; i++)
		in[i] = value(rank, i);
	for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
		if (is_wanted(collectives[i].name, names))
			right &= measure(&collectives[i]);
	free(in);
	free(out);
	return right;
}

static bool parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:n:w:")) != -1) {
		switch (c) {
		case 's': opt.bytes = strtoul(optarg, NULL, 0); break;
		case 'n': opt.iterations = atoi(optarg); break;
		case 'w': opt.warmup = atoi(optarg); break;
		default: return false;
		}
	}
	return opt.bytes && opt.bytes < 1ul << 30 && opt.iterations > 0 && opt.warmup >= 0;
}

int main(int argc, char **argv)
{
	int status = 2;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (parse(argc, argv))
		status = !measure_all(argv + optind);
	else if (!rank)
		fputs(usage, stderr);
	MPI_Finalize();
	return status;
}
