/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twice-allreduce MIN MAX ITERATIONS: all-reduce of floats over MPI at sizes MIN, 4 MIN, ... MAX
 * bytes,
 * printed as nccl-tests prints it. Inputs are small integers, so that every sum is exact in a
 * float and
 * every element of every rank is compared. busbw = algbw x 2(n-1)/n: nccl-tests,
 * doc/PERFORMANCE.md.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static float input(size_t i, int rank)
{
	return (float)((i + (size_t)rank * 7) % 13);
}

static long long wrong_in(const float *got, size_t n, int ranks)
{
	long long wrong = 0;

	for (size_t i = 0; i < n; i++) {
		float want = 0;

		for (int r = 0; r < ranks; r++)
			want += input(i, r);
		wrong += got[i] != want;
	}
	return wrong;
}

struct cell {
	double us;
	long long wrong;
};

static struct cell measure(size_t n, int iterations, int in_place, int rank, int ranks)
{
	float *a = malloc((n ? n : 1) * sizeof(*a)), *b = malloc((n ? n : 1) * sizeof(*b));
	struct cell c = { 0, 0 };
	double start, mine = 0, worst = 0;
	long long wrong;

	if (!a || !b) {
		(void)fprintf(stderr, "twice-allreduce: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 3);
		exit(3);
	}
	for (int k = -2; k < iterations; k++) { /* two to warm up */
		for (size_t i = 0; i < n; i++)
			(in_place ? b : a)[i] = input(i, rank);
		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		MPI_Allreduce(in_place ? MPI_IN_PLACE : a, b, (int)n, MPI_FLOAT, MPI_SUM,
			      MPI_COMM_WORLD);
		if (k >= 0)
			mine += MPI_Wtime() - start;
	}
	wrong = wrong_in(b, n, ranks);
	MPI_Allreduce(&wrong, &c.wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	c.us = worst / iterations * 1e6;
	free(a);
	free(b);
	return c;
}

static double number(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	return *end ? 0 : v;
}

int main(int argc, char **argv)
{
	double sum = 0, min, max;
	long long bad = 0;
	int rank, ranks, iterations, cells = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	min = argc == 4 ? number(argv[1]) : 0;
	max = argc == 4 ? number(argv[2]) : 0;
	iterations = argc == 4 ? (int)number(argv[3]) : 0;
	if (min < 4 || max < min || max > 1073741824. || iterations < 1) {
		if (rank == 0)
			(void)fprintf(stderr,
				      "usage: twice-allreduce MIN MAX ITERATIONS (bytes)\n");
		MPI_Finalize();
		return 64;
	}
	if (rank == 0) {
		printf("# nThread 1 nGpus 1 minBytes %.0f maxBytes %.0f step: 4(factor) warmup "
		       "iters: 2 iters: %d "
		       "agg iters: 1 validation: 1 graph: 0\n",
		       min, max, iterations);
		printf("#\n# Using devices\n");
		for (int r = 0; r < ranks; r++)
			printf("#  Rank %2d Group  0 Pid %6d on  localhost device  0 [0x00] cpu\n",
			       r, r);
		printf("#\n#%55s%32s\n", "out-of-place", "in-place");
		printf("#%11s %12s %8s %6s %6s %7s %6s %6s %6s %7s %6s %6s %6s\n", "size", "count",
		       "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
		       "busbw", "#wrong");
		printf("#%11s %12s %8s %6s %6s %7s %6s %6s %6s %7s %6s %6s %6s\n", "(B)",
		       "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
		       "(GB/s)", "");
	}
	for (double bytes = min; bytes <= max; bytes *= 4) {
		size_t n = (size_t)bytes / sizeof(float);
		struct cell c[2];
		double factor = 2.0 * (ranks - 1) / ranks;

		c[0] = measure(n, iterations, 0, rank, ranks);
		c[1] = measure(n, iterations, 1, rank, ranks);
		if (rank != 0)
			continue;
		printf("%12zu %12zu %8s %6s %6d", n * sizeof(float), n, "float", "sum", -1);
		for (int k = 0; k < 2; k++) {
			double algbw = (double)n * sizeof(float) / c[k].us / 1e3;

			printf("  %7.1f %6.3f %6.3f %6lld", c[k].us, algbw, algbw * factor,
			       c[k].wrong);
			sum += algbw * factor;
			cells++;
			bad += c[k].wrong;
		}
		printf("\n");
	}
	if (rank == 0) {
		printf("# Out of bounds values : %lld %s\n", bad, bad ? "FAILED" : "OK");
		printf("# Avg bus bandwidth    : %g \n#\n", cells ? sum / cells : 0);
	}
	MPI_Finalize();
	return 0;
}
