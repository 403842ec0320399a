/*
 * opens.c - processor time and resident memory of open files: libcdfz and netCDF-C with nccdfz.c for an
 * archive, netCDF-C for its classic file
 *
 *	opens FILE ARCHIVE [N]
 *
 * Each opens N files (2000) that remain open, in a process of its own, five times: the least seconds,
 * and the resident bytes of one. docs/netcdf.md has the command.
 */
#define _DEFAULT_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <netcdf.h>

#include "../cdfz.h"

typedef struct {
	double seconds, bytes;
} cost;

static double resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1)
		exit(1);
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void open_one(int with_cdfz, const char *path)
{
	cdfz_archive *a;
	cdfz_error e;
	int id;
	if (with_cdfz && cdfz_open_path(&a, path, NULL, &e) != CDFZ_OK) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	int status = with_cdfz ? NC_NOERR : nc_open(path, NC_NOWRITE, &id);
	if (status != NC_NOERR) {
		fprintf(stderr, "%s: %s\n", path, nc_strerror(status));
		exit(1);
	}
}

static cost measure(int with_cdfz, const char *path, int n)
{
	cost least = {0, 0};
	for (int round = 0; round < 5; round++) {
		int ends[2];
		cost found;
		if (pipe(ends) != 0)
			exit(1);
		if (fork() == 0) {
			struct timespec from, to;
			open_one(with_cdfz, path); /* what the first one prepares does not count */
			found.bytes = resident();
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
			for (int i = 0; i < n; i++)
				open_one(with_cdfz, path);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
			found.seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
			found.bytes = (resident() - found.bytes) / n;
			_exit(write(ends[1], &found, sizeof found) != sizeof found);
		}
		close(ends[1]);
		if (read(ends[0], &found, sizeof found) != sizeof found)
			exit(1);
		close(ends[0]);
		wait(NULL);
		if (round == 0 || found.seconds < least.seconds)
			least = found;
	}
	return least;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int n = argc > 3 ? atoi(argv[3]) : 2000;
	struct rlimit files = {(rlim_t)n + 100, (rlim_t)n + 100};
	if (setrlimit(RLIMIT_NOFILE, &files) != 0)
		perror("setrlimit");
	const char *what[] = {"netCDF-C, file", "netCDF-C, archive", "libcdfz, archive"};
	for (int i = 0; i < 3; i++) {
		cost c = measure(i == 2, argv[i == 0 ? 1 : 2], n);
		printf("%-18s %d opens %.3f s, %.1f kB each\n", what[i], n, c.seconds, c.bytes / 1000);
	}
	return 0;
}
