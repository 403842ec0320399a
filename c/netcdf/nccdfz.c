/*
 * nccdfz.c - a user-defined format of netCDF-C: programs linked with netCDF read archives
 *
 * netCDF-C calls this library for files that begin as a ZIP does. An archive then looks as
 * its image, the classic netCDF file: the same names, attributes, values and errors. Other
 * ZIP files get NC_ENOTNC, as without the library.
 *
 * The netCDF header is opened a second time, from memory (nc_open_mem), as a classic file
 * without values. This inner file answers all questions but those for values, with
 * netCDF-C's own code. Values come from cdfz.h. If a program asks for another type than the
 * variable's, netCDF-C converts them: see convert.
 *
 * Registration: a constructor, so that LD_PRELOAD is enough, and for .ncrc files
 * cdfz_netcdf_init and cdfz_netcdf_dispatch. docs/netcdf.md describes both.
 *
 * Interface of user-defined formats: netcdf_dispatch.h and "Appendix F: User-Defined
 * Formats" of the netCDF-C user guide.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netcdf.h>
#include <netcdf_dispatch.h>
#include <netcdf_mem.h>

#include "../cdfz.h"

#if NC_DISPATCH_VERSION != 5
#error "this library is written for version 5 of netCDF-C's dispatch table (netCDF 4.9.0 and later)"
#endif

/* Bytes of values that are converted at once. Tests convert few. */
#ifndef NCCDFZ_PIECE
#define NCCDFZ_PIECE (1 << 20)
#endif

enum {
	MARGIN = 1 << 14, /* bytes after a file in memory: netCDF-C reads it in pieces */
	HEAD = 128,       /* bytes before the values of convert */
	CACHE = 1 << 24,  /* of decoded blocks of a file, in bytes: programs open thousands of files */
	PIECE = NCCDFZ_PIECE
};

/* An archive that netCDF-C has open. */
typedef struct file {
	struct file *next;
	int ncid;  /* of netCDF-C's caller */
	int inner; /* ncid of the header in memory */
	cdfz_archive *archive;
	char *path;
	uint8_t *header;
} file;

static file *files;
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the open archive with this ncid, or NULL. */
static file *find(int ncid)
{
	pthread_mutex_lock(&files_lock);
	file *f = files;
	while (f != NULL && f->ncid != ncid)
		f = f->next;
	pthread_mutex_unlock(&files_lock);
	return f;
}

/* ---- Errors ---- */

/* Returns the number that netCDF-C has for a fault. It has no place for what is wrong and
 * where, so a line on standard error says that. */
static int report(const char *path, const cdfz_error *e)
{
	if (e->status == CDFZ_NOT_ARCHIVE)
		return NC_ENOTNC;
	if (e->status == CDFZ_ARGUMENT)
		return NC_EINVAL;
	fprintf(stderr, "cdfz: %s: %s\n", path, e->text);
	return e->status == CDFZ_MEMORY ? NC_ENOMEM : e->status == CDFZ_UNSUPPORTED ? NC_EFILTER : NC_EIO;
}

/* ---- Opening ---- */

static void release(file *f)
{
	cdfz_close(f->archive);
	free(f->header);
	free(f->path);
	free(f);
}

/* Writes an integer of up to 8 bytes, big-endian. */
static uint8_t *put(uint8_t *p, unsigned bytes, uint64_t v)
{
	while (bytes-- > 0)
		*p++ = (uint8_t)(v >> 8 * bytes);
	return p;
}

/* Opens the netCDF header as a file of its own. */
static int open_header(file *f)
{
	const cdfz_info *info = cdfz_get_info(f->archive);
	cdfz_error e;
	size_t size = (size_t)info->header_size;
	f->header = calloc(1, size + MARGIN);
	if (f->header == NULL)
		return NC_ENOMEM;
	if (cdfz_read_image(f->archive, 0, f->header, size, &e) != CDFZ_OK)
		return report(f->path, &e);
	/* netCDF-C does not know that the number of records may be left open. */
	put(f->header + 4, info->version == 5 ? 8 : 4, info->records);
	return nc_open_mem(f->path, NC_NOWRITE, size + MARGIN, f->header, &f->inner);
}

static int udf_open(const char *path, int mode, int basepe, size_t *chunk, void *parameters, const NC_Dispatch *table, int ncid)
{
	(void)basepe, (void)chunk, (void)parameters, (void)table;
	if (mode & NC_INMEMORY)
		return NC_ENOTNC; /* the path is no path then */
	file *f = calloc(1, sizeof *f);
	if (f == NULL)
		return NC_ENOMEM;
	const cdfz_options options = {.cache = CACHE};
	cdfz_error e;
	int status = NC_NOERR;
	f->ncid = ncid;
	f->path = strdup(path);
	if (f->path == NULL)
		status = NC_ENOMEM;
	else if (cdfz_open_path(&f->archive, path, &options, &e) != CDFZ_OK)
		status = report(path, &e);
	else if (mode & NC_WRITE)
		status = NC_EPERM;
	else
		status = open_header(f);
	if (status != NC_NOERR) {
		release(f);
		return status;
	}
	pthread_mutex_lock(&files_lock);
	f->next = files;
	files = f;
	pthread_mutex_unlock(&files_lock);
	return NC_NOERR;
}

static int udf_close(int ncid, void *parameters)
{
	(void)parameters;
	pthread_mutex_lock(&files_lock);
	file **at = &files, *f;
	while (*at != NULL && (*at)->ncid != ncid)
		at = &(*at)->next;
	f = *at;
	if (f != NULL)
		*at = f->next;
	pthread_mutex_unlock(&files_lock);
	if (f == NULL)
		return NC_EBADID;
	int status = nc_close(f->inner);
	release(f);
	return status;
}

static int udf_abort(int ncid)
{
	return udf_close(ncid, NULL);
}

/* ---- Values ---- */

/* Calls netCDF-C's function nc_get_var, nc_get_vara or nc_get_att for values of a type in memory. */
#define GET(what, type, ...) \
	((type) == NC_CHAR ? nc_get_##what##_text(__VA_ARGS__) : \
	(type) == NC_BYTE ? nc_get_##what##_schar(__VA_ARGS__) : \
	(type) == NC_UBYTE ? nc_get_##what##_uchar(__VA_ARGS__) : \
	(type) == NC_SHORT ? nc_get_##what##_short(__VA_ARGS__) : \
	(type) == NC_USHORT ? nc_get_##what##_ushort(__VA_ARGS__) : \
	(type) == NC_INT ? nc_get_##what##_int(__VA_ARGS__) : \
	(type) == NC_UINT ? nc_get_##what##_uint(__VA_ARGS__) : \
	(type) == NC_INT64 ? nc_get_##what##_longlong(__VA_ARGS__) : \
	(type) == NC_UINT64 ? nc_get_##what##_ulonglong(__VA_ARGS__) : \
	(type) == NC_FLOAT ? nc_get_##what##_float(__VA_ARGS__) : \
	(type) == NC_DOUBLE ? nc_get_##what##_double(__VA_ARGS__) : NC_EBADTYPE)

/* Converts count values as netCDF-C does, with its rules for values out of range: it reads
 * them from a classic file of one variable. The file takes size bytes of memory, with the values at
 * HEAD and at least MARGIN bytes after them; this function writes what is before them. The version
 * matters for NC_BYTE, which may also be unsigned before CDF-5. */
static int convert(uint8_t *memory, size_t size, int version, const cdfz_variable *v, size_t count, void *out, nc_type type)
{
	unsigned word = version == 5 ? 8 : 4;
	size_t bytes = count * cdfz_type_size(v->type);
	uint8_t *p = memory;
	int ncid;
	memcpy(p, "CDF", 3);
	p[3] = (uint8_t)version;
	p = put(p + 4, word, 0);  /* numrecs */
	p = put(p, 4, 10);        /* one dimension */
	p = put(p, word, 1);
	p = put(p, word, 1);
	p = put(p, 4, (uint64_t)'n' << 24);
	p = put(p, word, count);
	p = put(p, 4, 0);         /* no attributes */
	p = put(p, word, 0);
	p = put(p, 4, 11);        /* one variable */
	p = put(p, word, 1);
	p = put(p, word, 1);
	p = put(p, 4, (uint64_t)'v' << 24);
	p = put(p, word, 1);
	p = put(p, word, 0);
	p = put(p, 4, 0);
	p = put(p, word, 0);
	p = put(p, 4, v->type);
	p = put(p, word, (bytes + 3) & ~(size_t)3);
	put(p, version == 1 ? 4 : 8, HEAD);
	int status = nc_open_mem("converted", NC_NOWRITE, size, memory, &ncid);
	if (status != NC_NOERR)
		return status;
	status = GET(var, type, ncid, 0, out);
	int closed = nc_close(ncid);
	return status != NC_NOERR ? status : closed;
}

/* Reads a selection that fits, in pieces if values must be converted. After a value out of
 * range the others follow, as in netCDF-C. */
static int read_converted(file *f, int varid, const uint64_t *start, const uint64_t *count, const uint64_t *stride, uint8_t *out,
	nc_type type)
{
	const cdfz_info *info = cdfz_get_info(f->archive);
	const cdfz_variable *v = &info->variables[varid];
	size_t from = cdfz_type_size(v->type), to = cdfz_type_size((cdfz_type)type);
	uint64_t index[NC_MAX_VAR_DIMS], at[NC_MAX_VAR_DIMS], each[NC_MAX_VAR_DIMS], some = 1;
	int status = NC_NOERR;
	/* A piece has as much of the last dimensions as it can hold. */
	for (uint32_t i = v->rank; i-- > 0;) {
		uint64_t room = PIECE / from / some;
		index[i] = 0;
		each[i] = count[i] < room ? count[i] : room > 0 ? room : 1;
		some *= each[i];
	}
	size_t size = HEAD + (size_t)some * from + MARGIN; /* about PIECE, or one element */
	uint8_t *memory = calloc(1, size);
	if (memory == NULL)
		return NC_ENOMEM;
	for (bool more = true; more && (status == NC_NOERR || status == NC_ERANGE);) {
		uint64_t n[NC_MAX_VAR_DIMS], all = 1;
		cdfz_error e;
		for (uint32_t i = 0; i < v->rank; i++) {
			n[i] = count[i] - index[i] < each[i] ? count[i] - index[i] : each[i];
			at[i] = start[i] + index[i] * stride[i];
			all *= n[i];
		}
		if (cdfz_read(f->archive, varid, at, n, stride, CDFZ_BIG_ENDIAN, memory + HEAD, all * from, &e) != CDFZ_OK) {
			status = report(f->path, &e);
			break;
		}
		int found = convert(memory, size, info->version, v, all, out, type);
		if (found != NC_NOERR)
			status = found;
		out += all * to;
		more = false;
		for (uint32_t i = v->rank; i-- > 0 && !more;) {
			index[i] += n[i];
			more = index[i] < count[i];
			if (!more)
				index[i] = 0;
		}
	}
	free(memory);
	return status;
}

/* Reads a selection into *status. Returns false for one that is empty, does not fit, or mixes
 * text and numbers: netCDF-C knows the error. */
static bool read_values(file *f, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *out, nc_type type,
	int *status)
{
	const cdfz_info *info = cdfz_get_info(f->archive);
	if (varid < 0 || (uint64_t)varid >= info->variable_count)
		return false;
	const cdfz_variable *v = &info->variables[varid];
	uint64_t from[NC_MAX_VAR_DIMS], n[NC_MAX_VAR_DIMS], by[NC_MAX_VAR_DIMS], all = cdfz_type_size(v->type);
	if (v->rank > NC_MAX_VAR_DIMS || (v->rank > 0 && (start == NULL || count == NULL)))
		return false;
	if (type == NC_NAT)
		type = (nc_type)v->type;
	if (type < NC_BYTE || type > NC_UINT64 || (type == NC_CHAR) != (v->type == CDFZ_CHAR))
		return false;
	for (uint32_t i = 0; i < v->rank; i++) {
		uint64_t length = v->shape[i];
		from[i] = start[i];
		n[i] = count[i];
		by[i] = stride == NULL ? 1 : (uint64_t)stride[i];
		if (n[i] == 0 || from[i] >= length || (stride != NULL && stride[i] < 1) || n[i] - 1 > (length - 1 - from[i]) / by[i])
			return false;
		all *= n[i]; /* at most the bytes of the variable */
	}
	if (type == (nc_type)v->type) {
		cdfz_error e;
		*status = cdfz_read(f->archive, varid, from, n, by, CDFZ_NATIVE, out, all, &e) == CDFZ_OK ? NC_NOERR : report(f->path, &e);
	} else
		*status = read_converted(f, varid, from, n, by, out, type);
	return true;
}

static int udf_get_vara(int ncid, int varid, const size_t *start, const size_t *count, void *out, nc_type type)
{
	file *f = find(ncid);
	int status;
	if (f == NULL)
		return NC_EBADID;
	if (read_values(f, varid, start, count, NULL, out, type, &status))
		return status;
	if (type == NC_NAT)
		return nc_get_vara(f->inner, varid, start, count, out);
	return GET(vara, type, f->inner, varid, start, count, out);
}

/* Of netCDF-C, but not in its public headers. They read with get_vara. */
int NCDEFAULT_get_vars(int, int, const size_t *, const size_t *, const ptrdiff_t *, void *, nc_type);
int NCDEFAULT_get_varm(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *, nc_type);

static int udf_get_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *out, nc_type type)
{
	file *f = find(ncid);
	int status;
	if (f == NULL)
		return NC_EBADID;
	if (read_values(f, varid, start, count, stride, out, type, &status))
		return status;
	return NCDEFAULT_get_vars(ncid, varid, start, count, stride, out, type);
}

/* ---- Everything else ---- */

/* Defines a function of the table that asks the inner file. */
#define ASK(name, parameters, ...) \
	static int udf_##name parameters \
	{ \
		file *f = find(ncid); \
		return f == NULL ? NC_EBADID : nc_##name(f->inner, __VA_ARGS__); \
	}

ASK(inq_format, (int ncid, int *format), format)
ASK(inq_format_extended, (int ncid, int *format, int *mode), format, mode)
ASK(inq, (int ncid, int *dims, int *vars, int *atts, int *unlimited), dims, vars, atts, unlimited)
ASK(inq_type, (int ncid, nc_type type, char *name, size_t *size), type, name, size)
ASK(inq_dimid, (int ncid, const char *name, int *id), name, id)
ASK(inq_dim, (int ncid, int id, char *name, size_t *length), id, name, length)
ASK(inq_unlimdim, (int ncid, int *id), id)
ASK(inq_unlimdims, (int ncid, int *count, int *ids), count, ids)
ASK(inq_att, (int ncid, int varid, const char *name, nc_type *type, size_t *count), varid, name, type, count)
ASK(inq_attid, (int ncid, int varid, const char *name, int *id), varid, name, id)
ASK(inq_attname, (int ncid, int varid, int id, char *name), varid, id, name)
ASK(inq_varid, (int ncid, const char *name, int *id), name, id)
ASK(inq_grps, (int ncid, int *count, int *ids), count, ids)
ASK(inq_grpname, (int ncid, char *name), name)
ASK(inq_grpname_full, (int ncid, size_t *size, char *name), size, name)
ASK(inq_grp_parent, (int ncid, int *parent), parent)
ASK(inq_grp_full_ncid, (int ncid, const char *name, int *id), name, id)
ASK(inq_varids, (int ncid, int *count, int *ids), count, ids)
ASK(inq_dimids, (int ncid, int *count, int *ids, int parents), count, ids, parents)
ASK(inq_typeids, (int ncid, int *count, int *ids), count, ids)
ASK(inq_typeid, (int ncid, const char *name, nc_type *type), name, type)
ASK(_enddef, (int ncid, size_t a, size_t b, size_t c, size_t d), a, b, c, d)
ASK(set_fill, (int ncid, int mode, int *old), mode, old)

static int udf_sync(int ncid)
{
	file *f = find(ncid);
	return f == NULL ? NC_EBADID : nc_sync(f->inner);
}

static int udf_inq_ncid(int ncid, const char *name, int *id)
{
	(void)name;
	if (id != NULL)
		*id = ncid;
	return NC_NOERR;
}

static int udf_inq_type_equal(int ncid, nc_type a, int other, nc_type b, int *equal)
{
	file *f = find(ncid);
	(void)other;
	return f == NULL ? NC_EBADID : nc_inq_type_equal(f->inner, a, f->inner, b, equal);
}

static int udf_get_att(int ncid, int varid, const char *name, void *out, nc_type type)
{
	file *f = find(ncid);
	return f == NULL ? NC_EBADID : GET(att, type, f->inner, varid, name, out);
}

/* A classic file knows no storage but the contiguous one. */
static int udf_inq_var_all(int ncid, int varid, char *name, nc_type *type, int *dims, int *ids, int *atts, int *shuffle, int *deflate,
	int *level, int *fletcher32, int *contiguous, size_t *chunks, int *no_fill, void *fill, int *endian, unsigned *filter,
	size_t *count, unsigned *parameters)
{
	file *f = find(ncid);
	(void)level, (void)chunks;
	if (f == NULL)
		return NC_EBADID;
	int status = nc_inq_var(f->inner, varid, name, type, dims, ids, atts);
	if (status == NC_NOERR && (no_fill != NULL || fill != NULL))
		status = nc_inq_var_fill(f->inner, varid, no_fill, fill);
	if (status != NC_NOERR)
		return status;
	if (shuffle != NULL)
		*shuffle = 0;
	if (deflate != NULL)
		*deflate = 0;
	if (fletcher32 != NULL)
		*fletcher32 = 0;
	if (contiguous != NULL)
		*contiguous = NC_CONTIGUOUS;
	return endian != NULL || filter != NULL || count != NULL || parameters != NULL ? NC_ENOTNC4 : NC_NOERR;
}

static int udf_var_par_access(int ncid, int varid, int access)
{
	(void)ncid, (void)varid, (void)access;
	return NC_NOERR;
}

static int udf_show_metadata(int ncid)
{
	(void)ncid;
	return NC_NOERR;
}

static int put_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *in, nc_type type)
{
	(void)ncid, (void)varid, (void)start, (void)count, (void)stride, (void)in, (void)type;
	return NC_EPERM;
}

static int put_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map,
	const void *in, nc_type type)
{
	(void)ncid, (void)varid, (void)start, (void)count, (void)stride, (void)map, (void)in, (void)type;
	return NC_EPERM;
}

/* ---- Registration ---- */

static NC_Dispatch table = {
	.model = NC_FORMATX_UDF0,
	.dispatch_version = NC_DISPATCH_VERSION,
	.create = NC_RO_create,
	.open = udf_open,
	.redef = NC_RO_redef,
	._enddef = udf__enddef,
	.sync = udf_sync,
	.abort = udf_abort,
	.close = udf_close,
	.set_fill = udf_set_fill,
	.inq_format = udf_inq_format,
	.inq_format_extended = udf_inq_format_extended,
	.inq = udf_inq,
	.inq_type = udf_inq_type,
	.def_dim = NC_RO_def_dim,
	.inq_dimid = udf_inq_dimid,
	.inq_dim = udf_inq_dim,
	.inq_unlimdim = udf_inq_unlimdim,
	.rename_dim = NC_RO_rename_dim,
	.inq_att = udf_inq_att,
	.inq_attid = udf_inq_attid,
	.inq_attname = udf_inq_attname,
	.rename_att = NC_RO_rename_att,
	.del_att = NC_RO_del_att,
	.get_att = udf_get_att,
	.put_att = NC_RO_put_att,
	.def_var = NC_RO_def_var,
	.inq_varid = udf_inq_varid,
	.rename_var = NC_RO_rename_var,
	.get_vara = udf_get_vara,
	.put_vara = NC_RO_put_vara,
	.get_vars = udf_get_vars,
	.put_vars = put_vars,
	.get_varm = NCDEFAULT_get_varm,
	.put_varm = put_varm,
	.inq_var_all = udf_inq_var_all,
	.var_par_access = udf_var_par_access,
	.def_var_fill = NC_RO_def_var_fill,
	.show_metadata = udf_show_metadata,
	.inq_unlimdims = udf_inq_unlimdims,
	.inq_ncid = udf_inq_ncid,
	.inq_grps = udf_inq_grps,
	.inq_grpname = udf_inq_grpname,
	.inq_grpname_full = udf_inq_grpname_full,
	.inq_grp_parent = udf_inq_grp_parent,
	.inq_grp_full_ncid = udf_inq_grp_full_ncid,
	.inq_varids = udf_inq_varids,
	.inq_dimids = udf_inq_dimids,
	.inq_typeids = udf_inq_typeids,
	.inq_type_equal = udf_inq_type_equal,
	.def_grp = NC_NOTNC4_def_grp,
	.rename_grp = NC_NOTNC4_rename_grp,
	.inq_user_type = NC_NOTNC4_inq_user_type,
	.inq_typeid = udf_inq_typeid,
	.def_compound = NC_NOTNC4_def_compound,
	.insert_compound = NC_NOTNC4_insert_compound,
	.insert_array_compound = NC_NOTNC4_insert_array_compound,
	.inq_compound_field = NC_NOTNC4_inq_compound_field,
	.inq_compound_fieldindex = NC_NOTNC4_inq_compound_fieldindex,
	.def_vlen = NC_NOTNC4_def_vlen,
	.put_vlen_element = NC_NOTNC4_put_vlen_element,
	.get_vlen_element = NC_NOTNC4_get_vlen_element,
	.def_enum = NC_NOTNC4_def_enum,
	.insert_enum = NC_NOTNC4_insert_enum,
	.inq_enum_member = NC_NOTNC4_inq_enum_member,
	.inq_enum_ident = NC_NOTNC4_inq_enum_ident,
	.def_opaque = NC_NOTNC4_def_opaque,
	.def_var_deflate = NC_NOTNC4_def_var_deflate,
	.def_var_fletcher32 = NC_NOTNC4_def_var_fletcher32,
	.def_var_chunking = NC_NOTNC4_def_var_chunking,
	.def_var_endian = NC_NOTNC4_def_var_endian,
	.def_var_filter = NC_NOTNC4_def_var_filter,
	.set_var_chunk_cache = NC_NOTNC4_set_var_chunk_cache,
	.get_var_chunk_cache = NC_NOTNC4_get_var_chunk_cache,
	.inq_var_filter_ids = NC_NOOP_inq_var_filter_ids,
	.inq_var_filter_info = NC_NOOP_inq_var_filter_info,
	.def_var_quantize = NC_NOTNC4_def_var_quantize,
	.inq_var_quantize = NC_NOTNC4_inq_var_quantize,
	.inq_filter_avail = NC_NOOP_inq_filter_avail
};

/* Registers the format. Returns a number of netCDF-C. For .ncrc files of netCDF-C 4.10 whose
 * INIT functions register formats themselves. */
CDFZ_API int cdfz_netcdf_init(void);
int cdfz_netcdf_init(void)
{
	return nc_def_user_format(NC_UDF0, &table, "PK\3\4");
}

/* Returns the table. For .ncrc files of versions whose INIT functions return it. */
CDFZ_API NC_Dispatch *cdfz_netcdf_dispatch(void);
NC_Dispatch *cdfz_netcdf_dispatch(void)
{
	return &table;
}

__attribute__((constructor)) static void loaded(void)
{
	(void)cdfz_netcdf_init();
}
