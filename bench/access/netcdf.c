//go:build ignore

/* Reads parts of netCDF files with netCDF-C and prints the time taken.
 *
 *   netcdf serve FILE            answers measurement requests, see children.go
 *   netcdf point FILE VAR I J …  one value, printed; for whole processes
 *   netcdf swap BYTES            ns to copy BYTES bytes, swapping the bytes of each 4-byte word
 */
#include <netcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAXDIMS 16

static void check(int status) {
	if (status != NC_NOERR) {
		fprintf(stderr, "netcdf: %s\n", nc_strerror(status));
		exit(1);
	}
}

static int64_t now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *must(void *p) {
	if (!p) {
		fprintf(stderr, "netcdf: out of memory\n");
		exit(1);
	}
	return p;
}

struct selection {
	char var[256];
	int rank;
	size_t start[MAXDIMS], count[MAXDIMS], bytes;
};

static void scan_selection(struct selection *s) {
	long long x;
	if (scanf("%255s %d", s->var, &s->rank) != 2 || s->rank > MAXDIMS)
		exit(1);
	for (int i = 0; i < 2 * s->rank; i++) {
		if (scanf("%lld", &x) != 1)
			exit(1);
		*(i < s->rank ? &s->start[i] : &s->count[i - s->rank]) = x;
	}
	if (scanf("%lld", &x) != 1)
		exit(1);
	s->bytes = x;
}

static int serve(const char *file) {
	long n;
	while (scanf("%ld", &n) == 1) {
		struct selection *sel = must(calloc(n, sizeof *sel));
		size_t most = 1;
		for (long i = 0; i < n; i++) {
			scan_selection(&sel[i]);
			if (sel[i].bytes > most)
				most = sel[i].bytes;
		}
		unsigned char *buf = must(malloc(most));
		memset(buf, 1, most); /* touch its pages */
		int id;
		int64_t t0 = now(CLOCK_MONOTONIC), c0 = now(CLOCK_PROCESS_CPUTIME_ID);
		check(nc_open(file, NC_NOWRITE, &id));
		int64_t open = now(CLOCK_MONOTONIC) - t0, read = 0;
		int64_t open_cpu = now(CLOCK_PROCESS_CPUTIME_ID) - c0, read_cpu = 0;
		uint64_t sum = 0;
		for (long i = 0; i < n; i++) {
			int var;
			c0 = now(CLOCK_PROCESS_CPUTIME_ID);
			t0 = now(CLOCK_MONOTONIC);
			check(nc_inq_varid(id, sel[i].var, &var));
			check(nc_get_vara(id, var, sel[i].start, sel[i].count, buf));
			read += now(CLOCK_MONOTONIC) - t0;
			read_cpu += now(CLOCK_PROCESS_CPUTIME_ID) - c0;
			for (size_t k = 0; k < sel[i].bytes; k++)
				sum += (k + 1) * buf[k];
		}
		check(nc_close(id));
		printf("%lld %lld %lld %lld %llu\n", (long long)open, (long long)read, (long long)open_cpu, (long long)read_cpu, (unsigned long long)sum);
		fflush(stdout);
		free(buf);
		free(sel);
	}
	return 0;
}

static int point(int argc, char **argv) {
	int id, var;
	size_t at[MAXDIMS];
	double x;
	for (int i = 4; i < argc && i < 4 + MAXDIMS; i++)
		at[i - 4] = strtoull(argv[i], NULL, 10);
	check(nc_open(argv[2], NC_NOWRITE, &id));
	check(nc_inq_varid(id, argv[3], &var));
	check(nc_get_var1_double(id, var, at, &x));
	printf("%.9g\n", x);
	return 0;
}

__attribute__((noinline)) static void swap(uint32_t *restrict dst, const uint32_t *restrict src, size_t n) {
	for (size_t i = 0; i < n; i++)
		dst[i] = __builtin_bswap32(src[i]);
}

static int swaps(size_t bytes) {
	uint32_t *src = must(malloc(bytes)), *dst = must(malloc(bytes));
	memset(src, 1, bytes);
	memset(dst, 1, bytes);
	double best = 0;
	for (int round = 0; round < 40; round++) {
		int64_t t0 = now(CLOCK_MONOTONIC);
		for (int i = 0; i < 100; i++)
			swap(dst, src, bytes / 4);
		double ns = (now(CLOCK_MONOTONIC) - t0) / 100.0;
		if (round == 0 || ns < best)
			best = ns;
	}
	printf("%.1f\n", best);
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc > 4 && !strcmp(argv[1], "point"))
		return point(argc, argv);
	if (argc == 3 && !strcmp(argv[1], "swap"))
		return swaps(strtoull(argv[2], NULL, 10));
	fprintf(stderr, "usage: netcdf serve|point|swap …\n");
	return 2;
}
