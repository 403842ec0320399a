/*
 * netcdf.c - compares an archive, as netCDF-C sees it with nccdfz.c, with its netCDF file
 *
 *	netcdf FILE ARCHIVE [FILE ARCHIVE]...
 *
 * Files whose number of records is left open cannot be compared: netCDF-C takes it for 2^32-1.
 * Each call is made for both, and must have the same result and write the same bytes: all
 * inquiries, attributes as all types, and selections of all variables as all types, also such
 * as do not fit. It prints how many calls it made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netcdf.h>

enum { MOST = 1 << 16 }; /* bytes that a call may write */

static const char *name; /* of the file that is compared */
static unsigned long calls, failed;
static unsigned char out[2][MOST];

static unsigned next(unsigned below)
{
	static unsigned long long state = 1;
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return below == 0 ? 0 : (unsigned)((state >> 33) % below);
}

/* Compares the results of a call for the file and for the archive, and what they wrote. */
static void same(const char *call, int varid, int type, int a, int b)
{
	calls++;
	if (a == b && memcmp(out[0], out[1], MOST) == 0)
		return;
	if (failed++ < 20)
		fprintf(stderr, "%s: %s, variable %d, type %d: %d (%s), the archive %d (%s)%s\n", name, call, varid, type, a, nc_strerror(a), b,
			nc_strerror(b), a == b ? ", other bytes" : "");
}

/* Makes a call for both. The macro's argument uses id and o: the ncid and the buffer. */
#define BOTH(call, varid, type, expression) \
	do { \
		int result[2]; \
		for (int k = 0; k < 2; k++) { \
			int id = ids[k]; \
			void *o = memset(out[k], 0x5a, MOST); \
			(void)o; \
			result[k] = (expression); \
		} \
		same(call, varid, type, result[0], result[1]); \
	} while (0)

/* The same call for values of a type in memory. */
#define TYPES(what, varid, ...) \
	do { \
		BOTH(#what, varid, NC_CHAR, nc_get_##what##_text(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_BYTE, nc_get_##what##_schar(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_UBYTE, nc_get_##what##_uchar(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_SHORT, nc_get_##what##_short(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_USHORT, nc_get_##what##_ushort(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_INT, nc_get_##what##_int(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_UINT, nc_get_##what##_uint(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_INT64, nc_get_##what##_longlong(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_UINT64, nc_get_##what##_ulonglong(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_FLOAT, nc_get_##what##_float(id, varid, __VA_ARGS__, o)); \
		BOTH(#what, varid, NC_DOUBLE, nc_get_##what##_double(id, varid, __VA_ARGS__, o)); \
	} while (0)

static void attributes(const int *ids, int varid, int count)
{
	char of[NC_MAX_NAME + 1];
	size_t n;
	for (int i = 0; i <= count; i++) {
		BOTH("inq_attname", varid, 0, nc_inq_attname(id, varid, i, o));
		if (nc_inq_attname(ids[0], varid, i, of) != NC_NOERR)
			continue;
		BOTH("inq_att", varid, 0, nc_inq_att(id, varid, of, o, (void *)((char *)o + 8)));
		BOTH("inq_attid", varid, 0, nc_inq_attid(id, varid, of, o));
		if (nc_inq_attlen(ids[0], varid, of, &n) == NC_NOERR && n <= MOST / 8) {
			BOTH("get_att", varid, 0, nc_get_att(id, varid, of, o));
			TYPES(att, varid, of);
		}
	}
	BOTH("inq_attid", varid, 0, nc_inq_attid(id, varid, "no such name", o));
}

/* Selections of a variable. One in four does not fit. */
static void selections(const int *ids, int varid, int rank, const int *dims)
{
	size_t length[NC_MAX_VAR_DIMS], start[NC_MAX_VAR_DIMS], count[NC_MAX_VAR_DIMS];
	ptrdiff_t stride[NC_MAX_VAR_DIMS], map[NC_MAX_VAR_DIMS];
	for (int i = 0; i < rank; i++)
		nc_inq_dimlen(ids[0], dims[i], &length[i]);
	for (int round = 0; round < 6; round++) {
		size_t all = 1;
		for (int i = rank; i-- > 0;) {
			size_t most = MOST / 8 / all;
			unsigned of = length[i] < 1000000 ? (unsigned)length[i] : 1000000;
			start[i] = round == 0 ? 0 : next(of + (next(8) == 0));
			stride[i] = round == 0 ? 1 : 1 + (int)next(3);
			if (next(40) == 0)
				stride[i] = -(int)next(2);
			count[i] = start[i] < of ? (of - start[i] + 2) / (stride[i] > 1 ? (size_t)stride[i] : 1) : 0;
			if (round > 0)
				count[i] = next((unsigned)count[i] + 1);
			else if (count[i] > of)
				count[i] = of;
			if (next(32) == 0)
				count[i] += 2;
			if (count[i] > most)
				count[i] = most;
			if (count[i] > 0)
				all *= count[i];
		}
		ptrdiff_t step = 1;
		for (int i = 0; i < rank; i++) { /* transposed */
			map[i] = step;
			step *= count[i] > 0 ? (ptrdiff_t)count[i] : 1;
		}
		BOTH("get_vara", varid, 0, nc_get_vara(id, varid, start, count, o));
		TYPES(vara, varid, start, count);
		TYPES(vars, varid, start, count, stride);
		if (round < 2)
			TYPES(varm, varid, start, count, stride, map);
		TYPES(var1, varid, start);
	}
}

static void compare(const int *ids)
{
	int dims = 0, vars = 0, atts = 0, rank, list[NC_MAX_VAR_DIMS], count;
	nc_type type;
	size_t length, bytes;
	nc_inq(ids[0], &dims, &vars, &atts, NULL);
	BOTH("inq", -1, 0, nc_inq(id, o, (int *)o + 1, (int *)o + 2, (int *)o + 3));
	BOTH("inq_format", -1, 0, nc_inq_format(id, o));
	BOTH("inq_unlimdims", -1, 0, nc_inq_unlimdims(id, o, (int *)o + 1));
	BOTH("inq_grps", -1, 0, nc_inq_grps(id, o, NULL));
	BOTH("inq_grpname_full", -1, 0, nc_inq_grpname_full(id, o, (char *)o + 8));
	BOTH("inq_grp_parent", -1, 0, nc_inq_grp_parent(id, o));
	BOTH("inq_varids", -1, 0, vars < MOST / 8 ? nc_inq_varids(id, o, (int *)o + 1) : 0);
	BOTH("inq_dimids", -1, 0, dims < MOST / 8 ? nc_inq_dimids(id, o, (int *)o + 1, 1) : 0);
	BOTH("inq_typeids", -1, 0, nc_inq_typeids(id, o, NULL));
	BOTH("inq_typeid", -1, 0, nc_inq_typeid(id, "float", o));
	BOTH("sync", -1, 0, nc_sync(id));
	BOTH("redef", -1, 0, nc_redef(id));
	BOTH("enddef", -1, 0, nc_enddef(id));
	BOTH("put_att", -1, 0, nc_put_att_text(id, NC_GLOBAL, "a", 1, "b"));
	for (int t = 0; t < 14; t++)
		BOTH("inq_type", -1, t, nc_inq_type(id, t, (char *)o + 8, o));
	for (int i = -1; i <= dims; i++)
		BOTH("inq_dim", i, 0, nc_inq_dim(id, i, (char *)o + 8, o));
	BOTH("inq_dimid", -1, 0, nc_inq_dimid(id, "no such name", o));
	attributes(ids, NC_GLOBAL, atts);
	for (int v = -1; v <= vars; v++) {
		BOTH("inq_var", v, 0, nc_inq_var(id, v, (char *)o + 5000, o, (int *)o + 1, (int *)o + 3, (int *)o + 2));
		BOTH("inq_var_fill", v, 0, nc_inq_var_fill(id, v, o, (char *)o + 8));
		BOTH("inq_var_deflate", v, 0, nc_inq_var_deflate(id, v, o, (int *)o + 1, (int *)o + 2));
		BOTH("inq_var_chunking", v, 0, nc_inq_var_chunking(id, v, o, NULL));
		BOTH("inq_var_endian", v, 0, nc_inq_var_endian(id, v, o));
		if (nc_inq_var(ids[0], v, NULL, &type, &rank, list, &count) != NC_NOERR)
			continue;
		attributes(ids, v, count);
		selections(ids, v, rank, list);
		bytes = 8;
		for (int i = 0; i < rank && bytes <= MOST; i++) {
			nc_inq_dimlen(ids[0], list[i], &length);
			bytes *= length < MOST ? length : MOST;
		}
		if (bytes <= MOST)
			BOTH("get_var", v, type, nc_get_var(id, v, o));
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		int ids[2], status = nc_open(argv[i], NC_NOWRITE, &ids[0]), found = nc_open(argv[i + 1], NC_NOWRITE, &ids[1]);
		name = argv[i];
		if (status != found) {
			fprintf(stderr, "%s: %d (%s), the archive %d (%s)\n", name, status, nc_strerror(status), found, nc_strerror(found));
			return 1;
		}
		calls++;
		if (status != NC_NOERR)
			continue;
		if (nc_open(argv[i + 1], NC_WRITE, &status) != NC_EPERM) {
			fprintf(stderr, "%s: opened for writing\n", argv[i + 1]);
			return 1;
		}
		compare(ids);
		if (nc_close(ids[0]) != NC_NOERR || nc_close(ids[1]) != NC_NOERR)
			return 1;
	}
	printf("netcdf: %lu calls for %d archives, %lu differ\n", calls, argc / 2, failed);
	return failed != 0;
}
