/*
 * bench.c - measures how fast lorenz decodes the blocks of a file that bench/lorenz wrote
 *
 *	bench FILE
 *
 * prints a line for each block: type, mode, bytes, encoded bytes, 10^9 bytes a second. The
 * fastest of several runs counts.
 */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lorenz.h"

static void *allocate(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);
	if (p == NULL) {
		fprintf(stderr, "bench: out of memory\n");
		exit(1);
	}
	return p;
}

static void get(FILE *f, void *p, size_t n)
{
	if (n > 0 && fread(p, 1, n, f) != n) {
		fprintf(stderr, "bench: the file ends within a block\n");
		exit(1);
	}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	if (f == NULL) {
		fprintf(stderr, "usage: bench FILE\n");
		return 2;
	}
	uint32_t count;
	while (fread(&count, sizeof count, 1, f) == 1) {
		uint32_t *list = allocate(count * sizeof *list), length;
		uint64_t range[2];
		get(f, list, count * sizeof *list);
		get(f, range, sizeof range);
		get(f, &length, sizeof length);
		unsigned char *block = allocate(length);
		get(f, block, length);
		lorenz_params p;
		lorenz_status status = lorenz_parse(&p, list, count);
		size_t size = lorenz_size(&p), need = lorenz_scratch_size(&p);
		void *out = allocate(size), *scratch = allocate(need);
		memset(out, 0, size);
		double best = 1e30;
		for (int i = 0; i < 7 && status == LORENZ_OK; i++) {
			double start = now();
			status = lorenz_decode(&p, block, length, out, size, scratch, need);
			double took = now() - start;
			best = took < best ? took : best;
		}
		if (status != LORENZ_OK) {
			fprintf(stderr, "bench: %s\n", lorenz_strerror(status));
			return 1;
		}
		printf("%u %u %zu %u %.4f\n", p.type, block[0], size, length, (double)size / best);
		free(out);
		free(scratch);
		free(block);
		free(list);
	}
	return 0;
}
