/*
 * opens.c - what an open archive takes: counts the bytes that are allocated, which do not depend on
 * the machine. c/bench/opens.c has the times and resident memory.
 *
 *	opens ARCHIVE
 *
 * It opens a small archive many times with libcdfz and with netCDF-C and nccdfz.c, and fails if
 * one takes more than 50 kB.
 */
#include <malloc.h>
#include <stdio.h>

#include <netcdf.h>

#include "../cdfz.h"

enum { OPENS = 200, MOST = 50000 };

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* Reports what each of them takes, and returns whether that is too much. */
static int report(const char *library, size_t before)
{
	size_t each = (allocated() - before) / OPENS;
	printf("%s: %zu bytes for an open archive\n", library, each);
	if (each > MOST)
		fprintf(stderr, "%s: expected at most %d bytes\n", library, MOST);
	return each > MOST;
}

int main(int argc, char **argv)
{
	static cdfz_archive *archives[OPENS];
	static int ids[OPENS];
	int id, failed = 0;
	if (argc != 2)
		return 2;
	/* What the first one leaves to those after it does not count. */
	for (int i = 0; i < 2; i++) {
		if (cdfz_open_path(&archives[0], argv[1], NULL, NULL) != CDFZ_OK || nc_open(argv[1], NC_NOWRITE, &id) != NC_NOERR)
			return 1;
		cdfz_close(archives[0]);
		nc_close(id);
	}
	size_t before = allocated();
	for (int i = 0; i < OPENS; i++)
		if (cdfz_open_path(&archives[i], argv[1], NULL, NULL) != CDFZ_OK)
			return 1;
	failed |= report("libcdfz", before);
	for (int i = 0; i < OPENS; i++)
		cdfz_close(archives[i]);
	if (allocated() > before + MOST)
		failed |= fprintf(stderr, "libcdfz keeps memory of closed archives\n") > 0;
	before = allocated();
	for (int i = 0; i < OPENS; i++)
		if (nc_open(argv[1], NC_NOWRITE, &ids[i]) != NC_NOERR)
			return 1;
	failed |= report("libnccdfz", before);
	for (int i = 0; i < OPENS; i++)
		nc_close(ids[i]);
	if (allocated() > before + MOST)
		failed |= fprintf(stderr, "libnccdfz keeps memory of closed archives\n") > 0;
	return failed;
}
