/*
 * netcdf.c - compares an archive, as netCDF-C sees it with nccdfz.c, with its netCDF file
 *
 *	netcdf FILE ARCHIVE [FILE ARCHIVE]...
 *
 * Files whose number of records is left open cannot be compared: netCDF-C takes it for 2^32-1.
 * Each call is made for both, and must have the same result and write the same bytes: all
 * inquiries, attributes as all types, selections of all variables as all types, also such
 * as do not fit, and all calls that change a file. The same attributes and variables are read with
 * cdfz_read_as and cdfz_attribute_values_as, whose conversions are those of netCDF-C. It prints how
 * many calls it made.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netcdf.h>
#include <netcdf_filter.h>
#include <netcdf_mem.h>

#include "../cdfz.h"

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

/* The same call that writes values of a type in memory. */
#define PUT_NUMBERS(what, varid, ...) \
	do { \
		BOTH("put_" #what, varid, NC_BYTE, nc_put_##what##_schar(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_UBYTE, nc_put_##what##_uchar(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_SHORT, nc_put_##what##_short(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_USHORT, nc_put_##what##_ushort(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_INT, nc_put_##what##_int(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_UINT, nc_put_##what##_uint(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_INT64, nc_put_##what##_longlong(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_UINT64, nc_put_##what##_ulonglong(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_FLOAT, nc_put_##what##_float(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_DOUBLE, nc_put_##what##_double(id, varid, __VA_ARGS__, o)); \
	} while (0)

/* The same, also for text and strings. */
#define PUT_TYPES(what, varid, ...) \
	do { \
		PUT_NUMBERS(what, varid, __VA_ARGS__); \
		BOTH("put_" #what, varid, NC_CHAR, nc_put_##what##_text(id, varid, __VA_ARGS__, o)); \
		BOTH("put_" #what, varid, NC_STRING, nc_put_##what##_string(id, varid, __VA_ARGS__, strings)); \
	} while (0)

static const char *strings[] = {"a", "b", "c", "d"};

/* The archive, read without netCDF-C. */
static cdfz_archive *archive;

/* netCDF-C converts NaN to integers without an error, to anything. */
static int has_nan(cdfz_type type, const unsigned char *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		float f = 0;
		double d = 0;
		if (type == CDFZ_FLOAT)
			memcpy(&f, values + i * sizeof f, sizeof f);
		if (type == CDFZ_DOUBLE)
			memcpy(&d, values + i * sizeof d, sizeof d);
		if (f != f || d != d)
			return 1;
	}
	return 0;
}

/* Compares a result of cdfz.h with one of netCDF-C. */
static void same_as(const char *call, int varid, int type, int a, cdfz_status status)
{
	same(call, varid, type, a, status == CDFZ_OK ? NC_NOERR : status == CDFZ_RANGE ? NC_ERANGE : status == CDFZ_ARGUMENT ? NC_ECHAR : -1);
}

/* Reads an attribute with cdfz.h as all types, and compares it with netCDF-C. */
static void attribute_as(int id, int varid, const char *of)
{
	static unsigned char native[MOST];
	const cdfz_attribute *a = cdfz_find_attribute(archive, varid == NC_GLOBAL ? CDFZ_GLOBAL : varid, of);
	const cdfz_info *info = cdfz_get_info(archive);
	int number;
	if (nc_inq_attid(id, varid, of, &number) != NC_NOERR)
		return; /* it has NULs, or a name that netCDF-C refuses */
	if (a == NULL || strcmp(a->name.bytes, of) != 0) {
		if (failed++ < 20)
			fprintf(stderr, "%s: variable %d: no attribute %s\n", name, varid, of);
		return;
	}
	if (a != (varid == NC_GLOBAL ? info->attributes : info->variables[varid].attributes) + number)
		return; /* of the same name, or one that is the same in Unicode */
	cdfz_attribute_values(a, native);
	for (int type = NC_BYTE; type <= NC_UINT64; type++) {
		if ((type < NC_FLOAT || type > NC_DOUBLE) && has_nan(a->type, native, a->count))
			continue;
		memset(out, 0x5a, sizeof out);
		int found = -1;
		switch (type) {
		case NC_BYTE: found = nc_get_att_schar(id, varid, of, (void *)out[0]); break;
		case NC_CHAR: found = nc_get_att_text(id, varid, of, (void *)out[0]); break;
		case NC_SHORT: found = nc_get_att_short(id, varid, of, (void *)out[0]); break;
		case NC_INT: found = nc_get_att_int(id, varid, of, (void *)out[0]); break;
		case NC_FLOAT: found = nc_get_att_float(id, varid, of, (void *)out[0]); break;
		case NC_DOUBLE: found = nc_get_att_double(id, varid, of, (void *)out[0]); break;
		case NC_UBYTE: found = nc_get_att_uchar(id, varid, of, (void *)out[0]); break;
		case NC_USHORT: found = nc_get_att_ushort(id, varid, of, (void *)out[0]); break;
		case NC_UINT: found = nc_get_att_uint(id, varid, of, (void *)out[0]); break;
		case NC_INT64: found = nc_get_att_longlong(id, varid, of, (void *)out[0]); break;
		case NC_UINT64: found = nc_get_att_ulonglong(id, varid, of, (void *)out[0]); break;
		}
		same_as("cdfz_attribute_values_as", varid, type, found, cdfz_attribute_values_as(archive, a, (cdfz_type)type, out[1], NULL));
	}
}

/* Reads a variable that has at most so many bytes with cdfz.h as all types, and compares it. */
static void variable_as(int id, int varid, const char *of)
{
	static unsigned char native[MOST];
	const cdfz_variable *v = &cdfz_get_info(archive)->variables[varid];
	size_t size = cdfz_type_size(v->type), count = (size_t)(v->bytes / size);
	int number;
	int64_t first = cdfz_find_variable(archive, of);
	if (nc_inq_varid(id, of, &number) == NC_NOERR && (first < 0 || first > varid || strcmp(v[first - varid].name.bytes, of) != 0) &&
		failed++ < 20)
		fprintf(stderr, "%s: no variable %s\n", name, of);
	if (cdfz_read(archive, varid, NULL, NULL, NULL, CDFZ_NATIVE, native, count * size, NULL) != CDFZ_OK)
		return;
	for (int type = NC_BYTE; type <= NC_UINT64; type++) {
		if ((type < NC_FLOAT || type > NC_DOUBLE) && has_nan(v->type, native, count))
			continue;
		memset(out, 0x5a, sizeof out);
		int found = -1;
		switch (type) {
		case NC_BYTE: found = nc_get_var_schar(id, varid, (void *)out[0]); break;
		case NC_CHAR: found = nc_get_var_text(id, varid, (void *)out[0]); break;
		case NC_SHORT: found = nc_get_var_short(id, varid, (void *)out[0]); break;
		case NC_INT: found = nc_get_var_int(id, varid, (void *)out[0]); break;
		case NC_FLOAT: found = nc_get_var_float(id, varid, (void *)out[0]); break;
		case NC_DOUBLE: found = nc_get_var_double(id, varid, (void *)out[0]); break;
		case NC_UBYTE: found = nc_get_var_uchar(id, varid, (void *)out[0]); break;
		case NC_USHORT: found = nc_get_var_ushort(id, varid, (void *)out[0]); break;
		case NC_UINT: found = nc_get_var_uint(id, varid, (void *)out[0]); break;
		case NC_INT64: found = nc_get_var_longlong(id, varid, (void *)out[0]); break;
		case NC_UINT64: found = nc_get_var_ulonglong(id, varid, (void *)out[0]); break;
		}
		same_as("cdfz_read_as", varid, type, found,
			cdfz_read_as(archive, varid, NULL, NULL, NULL, (cdfz_type)type, out[1], count * cdfz_type_size((cdfz_type)type), NULL));
	}
}

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
			BOTH("get_att_string", varid, NC_STRING, nc_get_att_string(id, varid, of, o));
			attribute_as(ids[0], varid, of);
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
	for (int round = 0; round < 7; round++) {
		size_t all = 1;
		for (int i = rank; i-- > 0;) {
			size_t most = MOST / 8 / all;
			unsigned of = length[i] < 1000000 ? (unsigned)length[i] : 1000000;
			start[i] = round == 0 ? 0 : next(of + (next(8) == 0));
			stride[i] = round == 0 ? 1 : 1 + (int)next(3);
			if (next(40) == 0)
				stride[i] = -(int)next(2);
			if (round == 6 && next(2) == 0) /* as far as netCDF-C allows, or further */
				stride[i] = (ptrdiff_t)INT_MAX - 1 + (ptrdiff_t)next(3) * (next(2) ? 1 : INT_MAX);
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
		BOTH("get_vara_string", varid, NC_STRING, nc_get_vara_string(id, varid, start, count, o));
		BOTH("get_vars_string", varid, NC_STRING, nc_get_vars_string(id, varid, start, count, stride, o));
		BOTH("get_varm_string", varid, NC_STRING, nc_get_varm_string(id, varid, start, count, stride, map, o));
		BOTH("get_var1_string", varid, NC_STRING, nc_get_var1_string(id, varid, start, o));
		if (round == 0) {
			PUT_TYPES(vara, varid, start, count);
			PUT_TYPES(vars, varid, start, count, stride);
			PUT_TYPES(varm, varid, start, count, stride, map);
			PUT_TYPES(var1, varid, start);
			BOTH("put_vara", varid, 0, nc_put_vara(id, varid, start, count, o));
		}
	}
}

/* Returns the result of a call that writes an ncid, which is that of the file. */
static int own_id(int id, int result, int *found)
{
	*found -= result == NC_NOERR ? id : 0;
	return result;
}

/* Calls that change a file, or define what a classic file does not have. Names may exist. */
static void changes(const int *ids, int vars)
{
	static const size_t lengths[NC_MAX_VAR_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
	static const int zero[2];
	static const char *const names[] = {"new", "time", "units", "", "a/b", NULL};
	int v = vars > 0 ? 0 : NC_GLOBAL;
	for (int i = 0; names[i] != NULL; i++) {
		const char *of = names[i];
		BOTH("def_dim", -1, i, nc_def_dim(id, of, 3, o));
		BOTH("def_dim unlimited", -1, i, nc_def_dim(id, of, NC_UNLIMITED, o));
		for (int type = NC_NAT; type <= NC_STRING; type++)
			BOTH("def_var", i, type, nc_def_var(id, of, type, 1, zero, o));
		BOTH("del_att", NC_GLOBAL, i, nc_del_att(id, NC_GLOBAL, of));
		BOTH("del_att", v, i, nc_del_att(id, v, of));
		BOTH("rename_att", v, i, nc_rename_att(id, v, of, "other"));
		BOTH("rename_dim", 0, i, nc_rename_dim(id, 0, of));
		BOTH("rename_var", 0, i, nc_rename_var(id, v, of));
		PUT_NUMBERS(att, v, of, NC_INT, 1);
		PUT_NUMBERS(att, v, of, NC_CHAR, 1);
		BOTH("put_att_text", v, i, nc_put_att_text(id, v, of, 1, o));
		BOTH("put_att_string", v, i, nc_put_att_string(id, v, of, 1, strings));
		BOTH("def_grp", -1, i, nc_def_grp(id, of, o));
		BOTH("rename_grp", -1, i, nc_rename_grp(id, of));
		BOTH("inq_grp_ncid", -1, i, own_id(id, nc_inq_grp_ncid(id, of, o), o));
		BOTH("def_compound", -1, i, nc_def_compound(id, 8, of, o));
		BOTH("def_vlen", -1, i, nc_def_vlen(id, of, NC_INT, o));
		BOTH("def_enum", -1, i, nc_def_enum(id, NC_INT, of, o));
		BOTH("def_opaque", -1, i, nc_def_opaque(id, 8, of, o));
		BOTH("insert_enum", -1, i, nc_insert_enum(id, 32, of, zero));
		BOTH("insert_compound", -1, i, nc_insert_compound(id, 32, of, 0, NC_INT));
	}
	for (int var = NC_GLOBAL; var <= vars; var++) {
		BOTH("put_var", var, 0, nc_put_var(id, var, o));
		BOTH("put_var_string", var, 0, nc_put_var_string(id, var, strings));
		for (int storage = NC_CHUNKED; storage <= NC_COMPACT; storage++)
			BOTH("def_var_chunking", var, storage, nc_def_var_chunking(id, var, storage, lengths));
		BOTH("def_var_chunking", var, -1, nc_def_var_chunking(id, var, NC_CHUNKED, NULL));
		BOTH("def_var_deflate", var, 0, nc_def_var_deflate(id, var, 1, 1, 1));
		BOTH("def_var_fletcher32", var, 0, nc_def_var_fletcher32(id, var, 1));
		BOTH("def_var_endian", var, 0, nc_def_var_endian(id, var, NC_ENDIAN_BIG));
		BOTH("def_var_fill", var, 0, nc_def_var_fill(id, var, NC_NOFILL, NULL));
		BOTH("def_var_filter", var, 0, nc_def_var_filter(id, var, 1, 1, o));
		BOTH("def_var_quantize", var, 0, nc_def_var_quantize(id, var, NC_QUANTIZE_BITGROOM, 3));
		BOTH("inq_var_quantize", var, 0, nc_inq_var_quantize(id, var, o, (int *)o + 1));
		BOTH("inq_var_filter_ids", var, 0, nc_inq_var_filter_ids(id, var, o, NULL));
		BOTH("inq_var_filter_info", var, 0, nc_inq_var_filter_info(id, var, 1, o, NULL));
		BOTH("inq_var_filter", var, 0, nc_inq_var_filter(id, var, o, (void *)((char *)o + 8), NULL));
		BOTH("set_var_chunk_cache", var, 0, nc_set_var_chunk_cache(id, var, 1 << 20, 10, 0.5f));
		BOTH("get_var_chunk_cache", var, 0, nc_get_var_chunk_cache(id, var, o, (void *)((char *)o + 8), (void *)((char *)o + 16)));
		BOTH("inq_var_szip", var, 0, nc_inq_var_szip(id, var, o, (int *)o + 1));
	}
	for (int type = NC_NAT; type < 34; type++) {
		BOTH("inq_user_type", -1, type, nc_inq_user_type(id, type, (char *)o + 64, o, (void *)((char *)o + 8), (void *)((char *)o + 16),
			(void *)((char *)o + 24)));
		BOTH("inq_enum_ident", -1, type, nc_inq_enum_ident(id, type, 0, o));
		BOTH("inq_compound", -1, type, nc_inq_compound(id, type, (char *)o + 64, o, (void *)((char *)o + 8)));
		BOTH("inq_vlen", -1, type, nc_inq_vlen(id, type, (char *)o + 64, o, (void *)((char *)o + 8)));
	}
	BOTH("set_fill", -1, 0, nc_set_fill(id, NC_NOFILL, o));
	BOTH("inq_filter_avail", -1, 0, nc_inq_filter_avail(id, 1));
	BOTH("show_metadata", -1, 0, nc_show_metadata(id));
}

static void compare(const int *ids)
{
	int dims = 0, vars = 0, atts = 0, rank, list[NC_MAX_VAR_DIMS], count;
	nc_type type;
	size_t length, bytes;
	nc_inq(ids[0], &dims, &vars, &atts, NULL);
	BOTH("inq", -1, 0, nc_inq(id, o, (int *)o + 1, (int *)o + 2, (int *)o + 3));
	BOTH("inq_format", -1, 0, nc_inq_format(id, o));
	BOTH("inq_format_extended", -1, 0, nc_inq_format_extended(id, o, (int *)o + 1));
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
	changes(ids, vars);
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
		if (bytes <= MOST) {
			char of[NC_MAX_NAME + 1];
			BOTH("get_var", v, type, nc_get_var(id, v, o));
			if (nc_inq_varname(ids[0], v, of) == NC_NOERR)
				variable_as(ids[0], v, of);
		}
	}
}

/* Opens both in other ways. The results and what is written must be the same. */
static void openings(const char *file, const char *of)
{
	static const size_t hints[] = {NC_SIZEHINT_DEFAULT, 1, 255, 256, 1001, 8192, 1 << 20, (size_t)1 << 28, (size_t)1 << 40};
	static const int modes[] = {NC_NOWRITE, NC_SHARE, NC_NETCDF4, NC_64BIT_OFFSET, NC_CLASSIC_MODEL, NC_DISKLESS};
	const char *both[] = {file, of};
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
		int ids[2] = {0, 1}, opened[2];
		BOTH("_open", -1, (int)i, (*(size_t *)o = hints[i], nc__open(both[id], NC_NOWRITE, o, &opened[id])));
		nc_close(opened[0]);
		nc_close(opened[1]);
	}
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		int ids[2];
		if (nc_open(file, modes[i], &ids[0]) != NC_NOERR || nc_open(of, modes[i], &ids[1]) != NC_NOERR) {
			failed++;
			continue;
		}
		BOTH("inq_format_extended", -1, modes[i], nc_inq_format_extended(id, o, (int *)o + 1));
		nc_close(ids[0]);
		nc_close(ids[1]);
	}
}

/* Reads a whole file. */
static void *whole(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		exit(1);
	*size = (size_t)ftell(f);
	rewind(f);
	void *p = malloc(*size);
	if (p == NULL || fread(p, 1, *size, f) != *size)
		exit(1);
	fclose(f);
	return p;
}

/* Opens both from memory: that of the caller, and such that netCDF-C owns and returns, or frees. */
static void in_memory(const char *file, const char *of)
{
	const char *paths[] = {file, of};
	int ids[2];
	void *bytes[2];
	size_t sizes[2];
	for (int round = 0; round < 3; round++) {
		for (int k = 0; k < 2; k++) {
			bytes[k] = whole(paths[k], &sizes[k]);
			/* What netCDF-C owns it makes longer, and that it needs for a header at the end of the file. */
			NC_memio memory = {sizes[k], bytes[k], 0};
			int status = round == 0 ? nc_open_mem(paths[k], NC_NOWRITE, sizes[k], bytes[k], &ids[k]) :
				nc_open_memio(paths[k], NC_NOWRITE, &memory, &ids[k]);
			if (status != NC_NOERR) {
				failed++;
				fprintf(stderr, "%s: from memory: %d\n", paths[k], status);
				exit(1);
			}
		}
		BOTH("inq", -1, round, nc_inq(id, o, (int *)o + 1, (int *)o + 2, (int *)o + 3));
		BOTH("inq_format_extended", -1, round, nc_inq_format_extended(id, o, (int *)o + 1));
		if (round == 0)
			BOTH("get_var", 0, 0, nc_get_var(id, 0, o));
		for (int k = 0; k < 2; k++) {
			NC_memio back = {0, NULL, 0};
			int status = round == 2 ? nc_close_memio(ids[k], &back) : nc_close(ids[k]);
			if (status != NC_NOERR || (round == 2 && (back.memory == NULL || (k == 1 && (back.size != sizes[k] || back.memory != bytes[k])))))
				failed++;
			free(round == 2 ? back.memory : round == 0 ? bytes[k] : NULL);
		}
	}
	calls += 6;
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
		cdfz_error e;
		if (cdfz_open_path(&archive, argv[i + 1], NULL, &e) != CDFZ_OK) {
			fprintf(stderr, "%s\n", e.text);
			return 1;
		}
		compare(ids);
		openings(argv[i], argv[i + 1]);
		cdfz_close(archive);
		if (nc_close(ids[0]) != NC_NOERR || nc_close(ids[1]) != NC_NOERR)
			return 1;
	}
	if (argc > 2)
		in_memory(argv[1], argv[2]);
	printf("netcdf: %lu calls for %d archives, %lu differ\n", calls, argc / 2, failed);
	return failed != 0;
}
