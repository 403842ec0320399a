/*
 * nccdfz.c - a user-defined format of netCDF-C: programs linked with netCDF read archives
 *
 * netCDF-C calls this library for files that begin as a ZIP does. An archive then looks as
 * its image, the classic netCDF file: the same names, attributes, values and errors. Other
 * ZIP files get NC_ENOTNC, as without the library.
 *
 * The netCDF header is opened a second time, from memory (nc_open_mem), as a classic file
 * without values. netCDF-C's own functions for classic files answer all questions about this
 * inner file, and refuse what changes it. Values come from cdfz.h. If a program asks for
 * another type than the variable's, netCDF-C converts them: see convert.
 *
 * The library is not linked with netCDF: it finds that of the program, see binding.h, so that
 * LD_PRELOAD costs other programs little. For .ncrc files there are cdfz_netcdf_init and
 * cdfz_netcdf_dispatch. docs/netcdf.md describes all ways.
 *
 * Interface of user-defined formats: netcdf_dispatch.h and "Appendix F: User-Defined
 * Formats" of the netCDF-C user guide.
 */
#define _GNU_SOURCE /* dladdr, RTLD_NEXT */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <netcdf.h>
#include <netcdf_dispatch.h>
#include <netcdf_mem.h>

#include "../cdfz.h"
#include "binding.h"

#if NC_DISPATCH_VERSION != 5
#error "this library is written for version 5 of netCDF-C's dispatch table (netCDF 4.9.0 and later)"
#endif

/* Bytes of values that are converted at once. Tests convert few. */
#ifndef NCCDFZ_PIECE
#define NCCDFZ_PIECE (1 << 20)
#endif

enum {
	HEADER_PIECE = 4096, /* netCDF-C reads a header in pieces of so many bytes, or as long as its longest element */
	MARGIN = 1 << 14, /* bytes after the values of convert: netCDF-C reads a file in pieces */
	HEAD = 128,       /* bytes before the values of convert */
	CACHE = 1 << 24,  /* of decoded blocks of a file, in bytes: programs open thousands of files */
	BUCKETS = 1024,   /* of open files */
	PIECE = NCCDFZ_PIECE
};

/* An archive that netCDF-C has open. */
typedef struct file {
	struct file *next; /* of the same bucket */
	int ncid;  /* of netCDF-C's caller */
	int inner; /* ncid of the header in memory */
	int mode;  /* of the open file */
	cdfz_archive *archive;
	uint8_t *header;
	NC_memio memory; /* that holds the archive, if no file does */
} file;

/* netCDF-C is for one thread at a time, and so is this. */
static file *files[BUCKETS];

/* The bucket of an ncid, whose low 16 bits are 0. */
static file **bucket(int ncid)
{
	return &files[(unsigned)ncid >> 16 & (BUCKETS - 1)];
}

/* Returns the open archive with this ncid, or NULL. */
static file *find(int ncid)
{
	file *f = *bucket(ncid);
	while (f != NULL && f->ncid != ncid)
		f = f->next;
	return f;
}

/* netCDF-C's functions for classic files. */
static const NC_Dispatch *classic(void)
{
	return *netcdf.classic;
}

/* ---- Errors ---- */

/* Returns the number that netCDF-C has for a fault. It has no place for what is wrong and
 * where, so a line on standard error says that. */
static int report(const cdfz_error *e)
{
	if (e->status == CDFZ_NOT_ARCHIVE)
		return NC_ENOTNC;
	if (e->status == CDFZ_ARGUMENT)
		return NC_EINVAL;
	fprintf(stderr, "cdfz: %s\n", e->text);
	return e->status == CDFZ_MEMORY ? NC_ENOMEM : e->status == CDFZ_UNSUPPORTED ? NC_EFILTER : NC_EIO;
}

/* The same for a fault at opening. A path that leads to no file has the number of the system, as in netCDF-C. An
 * archive or a volume of a later version is a file of unknown format. */
static int report_opening(const char *path, const cdfz_error *e)
{
	struct stat s;
	if (e->status == CDFZ_SOURCE && e->offset < 0 && stat(path, &s) != 0) {
		int number = errno;
		if (number != ENOTDIR || strstr(e->text, strerror(ENOTDIR)) != NULL) /* else a volume has no such member */
			return number;
		(void)report(e);
		return ENOENT;
	}
	int status = report(e);
	return e->status == CDFZ_UNSUPPORTED && e->block < 0 ? NC_ENOTNC : status;
}

/* ---- Opening ---- */

static void release(file *f)
{
	cdfz_close(f->archive);
	free(f->header);
	free(f);
}

/* Writes an integer of up to 8 bytes, big-endian. */
static uint8_t *put(uint8_t *p, unsigned bytes, uint64_t v)
{
	while (bytes-- > 0)
		*p++ = (uint8_t)(v >> 8 * bytes);
	return p;
}

/* Returns the bytes of the longest of some attributes, or so many if that is more. */
static size_t longest_of(const cdfz_attribute *list, uint64_t count, size_t most)
{
	for (uint64_t i = 0; i < count; i++) {
		size_t size = (size_t)list[i].count * cdfz_type_size(list[i].type);
		most = size > most ? size : most;
		most = list[i].name.size > most ? list[i].name.size : most;
	}
	return most;
}

/* Returns the bytes that netCDF-C may read beyond the end of a header. */
static size_t beyond(const cdfz_info *info)
{
	size_t most = longest_of(info->attributes, info->attribute_count, HEADER_PIECE);
	for (uint64_t i = 0; i < info->dimension_count; i++)
		most = info->dimensions[i].name.size > most ? info->dimensions[i].name.size : most;
	for (uint64_t i = 0; i < info->variable_count; i++) {
		const cdfz_variable *v = &info->variables[i];
		most = longest_of(v->attributes, v->attribute_count, most);
		most = v->name.size > most ? v->name.size : most;
		most = (size_t)v->rank * 8 > most ? (size_t)v->rank * 8 : most;
	}
	return (most + 15) & ~(size_t)7;
}

/* Opens the netCDF header as a file of its own. */
static int open_header(file *f, const char *path)
{
	const cdfz_info *info = cdfz_get_info(f->archive);
	cdfz_error e;
	size_t size = (size_t)info->header_size, margin = beyond(info);
	f->header = calloc(1, size + margin);
	if (f->header == NULL)
		return NC_ENOMEM;
	if (cdfz_read_image(f->archive, 0, f->header, size, &e) != CDFZ_OK)
		return report(&e);
	/* netCDF-C does not know that the number of records may be left open. */
	put(f->header + 4, info->version == 5 ? 8 : 4, info->records);
	return netcdf.open_mem(path, NC_NOWRITE, size + margin, f->header, &f->inner);
}

/* Reads an archive in memory. */
static ptrdiff_t read_memory(void *context, void *buffer, size_t size, uint64_t offset)
{
	const NC_memio *m = context;
	size_t left = m->size - (size_t)offset;
	size = size < left ? size : left;
	memcpy(buffer, (const uint8_t *)m->memory + offset, size);
	return (ptrdiff_t)size;
}

/* Opens the archive itself. */
static int open_archive(file *f, const char *path, const NC_memio *memory)
{
	const cdfz_options options = {.cache = CACHE};
	cdfz_error e;
	cdfz_status status;
	if (memory != NULL) {
		f->memory = *memory;
		const cdfz_source source = {.read = read_memory, .context = &f->memory, .size = memory->size, .name = path};
		status = cdfz_open(&f->archive, &source, &options, &e);
	} else if (strstr(path, "://") != NULL)
		return NC_ENOTBUILT;
	else
		status = cdfz_open_path(&f->archive, path, &options, &e);
	return status == CDFZ_OK ? NC_NOERR : report_opening(path, &e);
}

/* Writes the size that netCDF-C would choose for its buffers of a file (nc__open). */
static void choose_chunk(const char *path, size_t *chunk)
{
	struct stat s;
	if (*chunk < 256)
		*chunk = stat(path, &s) == 0 && s.st_blksize > 8192 ? (size_t)s.st_blksize : 8192;
	else if (*chunk >= 1 << 28)
		*chunk = 1 << 28;
	else
		*chunk = (*chunk + sizeof(double) - 1) & ~(sizeof(double) - 1);
}

static int in_slot(const char *path);

static int udf_open(const char *path, int mode, int basepe, size_t *chunk, void *parameters, const NC_Dispatch *table, int ncid)
{
	(void)table;
	const NC_memio *memory = mode & NC_INMEMORY ? parameters : NULL;
	if (basepe != 0 || (mode & NC_INMEMORY && memory == NULL))
		return NC_EINVAL;
	file *f = calloc(1, sizeof *f);
	if (f == NULL)
		return NC_ENOMEM;
	f->ncid = ncid;
	int status = open_archive(f, path, memory);
	if (status == NC_NOERR)
		status = mode & NC_WRITE ? NC_EPERM : open_header(f, path);
	if (status != NC_NOERR) {
		release(f);
		return status;
	}
	/* The mode that a classic file has, which is not NC_NETCDF4, as for all user-defined formats, and has no slot. */
	int version = cdfz_get_info(f->archive)->version;
	f->mode = (mode & ~(NC_NETCDF4 | in_slot(path))) | (version == 2 ? NC_64BIT_OFFSET : version == 5 ? NC_64BIT_DATA : 0);
	if (chunk != NULL)
		choose_chunk(path, chunk);
	f->next = *bucket(ncid);
	*bucket(ncid) = f;
	return NC_NOERR;
}

/* Closes a file. Memory that netCDF-C owns is freed, or returned to the caller of nc_close_memio. */
static int udf_close(int ncid, void *parameters)
{
	file **at = bucket(ncid), *f;
	while (*at != NULL && (*at)->ncid != ncid)
		at = &(*at)->next;
	f = *at;
	if (f == NULL)
		return NC_EBADID;
	*at = f->next;
	int status = netcdf.close(f->inner);
	NC_memio *returned = f->mode & NC_INMEMORY ? parameters : NULL;
	if (returned != NULL) {
		returned->size = f->memory.size;
		returned->memory = f->memory.memory;
	} else if ((f->memory.flags & NC_MEMIO_LOCKED) == 0)
		free(f->memory.memory);
	release(f);
	return status;
}

static int udf_abort(int ncid)
{
	return udf_close(ncid, NULL);
}

/* ---- Values ---- */

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
	int status = netcdf.open_mem("converted", NC_NOWRITE, size, memory, &ncid);
	if (status != NC_NOERR)
		return status;
	const size_t start = 0;
	status = classic()->get_vara(ncid, 0, &start, &count, out, type);
	int closed = netcdf.close(ncid);
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
			status = report(&e);
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
		if (n[i] == 0 || from[i] >= length || (stride != NULL && (stride[i] < 1 || stride[i] >= INT32_MAX)) ||
			n[i] - 1 > (length - 1 - from[i]) / by[i])
			return false;
		all *= n[i]; /* at most the bytes of the variable */
	}
	if (type == (nc_type)v->type) {
		cdfz_error e;
		*status = cdfz_read(f->archive, varid, from, n, by, CDFZ_NATIVE, out, all, &e) == CDFZ_OK ? NC_NOERR : report(&e);
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
	return classic()->get_vara(f->inner, varid, start, count, out, type);
}

static int udf_get_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *out, nc_type type)
{
	file *f = find(ncid);
	int status;
	if (f == NULL)
		return NC_EBADID;
	if (read_values(f, varid, start, count, stride, out, type, &status))
		return status;
	return netcdf.get_vars(ncid, varid, start, count, stride, out, type);
}

static int udf_get_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map,
	void *out, nc_type type)
{
	return netcdf.get_varm(ncid, varid, start, count, stride, map, out, type);
}

/* ---- Everything else ---- */

/* Defines a function of the table that asks the inner file, also to change it: it refuses that
 * with the error of a file that was opened for reading. */
#define ASK(name, parameters, arguments) \
	static int udf_##name parameters \
	{ \
		file *f = find(ncid); \
		return f == NULL ? NC_EBADID : classic()->name arguments; \
	}

ASK(redef, (int ncid), (f->inner))
ASK(_enddef, (int ncid, size_t a, size_t b, size_t c, size_t d), (f->inner, a, b, c, d))
ASK(sync, (int ncid), (f->inner))
ASK(set_fill, (int ncid, int mode, int *old), (f->inner, mode, old))
ASK(inq_format, (int ncid, int *format), (f->inner, format))
ASK(inq, (int ncid, int *dims, int *vars, int *atts, int *unlimited), (f->inner, dims, vars, atts, unlimited))
ASK(inq_type, (int ncid, nc_type type, char *name, size_t *size), (f->inner, type, name, size))
ASK(def_dim, (int ncid, const char *name, size_t length, int *id), (f->inner, name, length, id))
ASK(inq_dimid, (int ncid, const char *name, int *id), (f->inner, name, id))
ASK(inq_dim, (int ncid, int id, char *name, size_t *length), (f->inner, id, name, length))
ASK(inq_unlimdim, (int ncid, int *id), (f->inner, id))
ASK(rename_dim, (int ncid, int id, const char *name), (f->inner, id, name))
ASK(inq_att, (int ncid, int varid, const char *name, nc_type *type, size_t *count), (f->inner, varid, name, type, count))
ASK(inq_attid, (int ncid, int varid, const char *name, int *id), (f->inner, varid, name, id))
ASK(inq_attname, (int ncid, int varid, int id, char *name), (f->inner, varid, id, name))
ASK(rename_att, (int ncid, int varid, const char *name, const char *to), (f->inner, varid, name, to))
ASK(del_att, (int ncid, int varid, const char *name), (f->inner, varid, name))
ASK(get_att, (int ncid, int varid, const char *name, void *out, nc_type type), (f->inner, varid, name, out, type))
ASK(put_att, (int ncid, int varid, const char *name, nc_type type, size_t count, const void *in, nc_type memory),
	(f->inner, varid, name, type, count, in, memory))
ASK(def_var, (int ncid, const char *name, nc_type type, int rank, const int *dims, int *id), (f->inner, name, type, rank, dims, id))
ASK(inq_varid, (int ncid, const char *name, int *id), (f->inner, name, id))
ASK(rename_var, (int ncid, int varid, const char *name), (f->inner, varid, name))
ASK(put_vara, (int ncid, int varid, const size_t *start, const size_t *count, const void *in, nc_type type),
	(f->inner, varid, start, count, in, type))
ASK(put_vars, (int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const void *in, nc_type type),
	(f->inner, varid, start, count, stride, in, type))
ASK(put_varm, (int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *map,
	const void *in, nc_type type), (f->inner, varid, start, count, stride, map, in, type))
ASK(inq_var_all, (int ncid, int varid, char *name, nc_type *type, int *dims, int *ids, int *atts, int *shuffle, int *deflate, int *level,
	int *fletcher32, int *contiguous, size_t *chunks, int *no_fill, void *fill, int *endian, unsigned *filter, size_t *count,
	unsigned *parameters), (f->inner, varid, name, type, dims, ids, atts, shuffle, deflate, level, fletcher32, contiguous, chunks, no_fill,
	fill, endian, filter, count, parameters))
ASK(var_par_access, (int ncid, int varid, int access), (f->inner, varid, access))
ASK(def_var_fill, (int ncid, int varid, int no_fill, const void *fill), (f->inner, varid, no_fill, fill))
ASK(show_metadata, (int ncid), (f->inner))
ASK(inq_unlimdims, (int ncid, int *count, int *ids), (f->inner, count, ids))
ASK(inq_grps, (int ncid, int *count, int *ids), (f->inner, count, ids))
ASK(inq_grpname, (int ncid, char *name), (f->inner, name))
ASK(inq_grpname_full, (int ncid, size_t *size, char *name), (f->inner, size, name))
ASK(inq_grp_parent, (int ncid, int *parent), (f->inner, parent))
ASK(inq_grp_full_ncid, (int ncid, const char *name, int *id), (f->inner, name, id))
ASK(inq_varids, (int ncid, int *count, int *ids), (f->inner, count, ids))
ASK(inq_dimids, (int ncid, int *count, int *ids, int parents), (f->inner, count, ids, parents))
ASK(inq_typeids, (int ncid, int *count, int *ids), (f->inner, count, ids))
ASK(def_grp, (int ncid, const char *name, int *id), (f->inner, name, id))
ASK(rename_grp, (int ncid, const char *name), (f->inner, name))
ASK(inq_user_type, (int ncid, nc_type type, char *name, size_t *size, nc_type *base, size_t *fields, int *kind),
	(f->inner, type, name, size, base, fields, kind))
ASK(inq_typeid, (int ncid, const char *name, nc_type *type), (f->inner, name, type))
ASK(def_compound, (int ncid, size_t size, const char *name, nc_type *type), (f->inner, size, name, type))
ASK(insert_compound, (int ncid, nc_type type, const char *name, size_t offset, nc_type field), (f->inner, type, name, offset, field))
ASK(insert_array_compound, (int ncid, nc_type type, const char *name, size_t offset, nc_type field, int rank, const int *lengths),
	(f->inner, type, name, offset, field, rank, lengths))
ASK(inq_compound_field, (int ncid, nc_type type, int id, char *name, size_t *offset, nc_type *field, int *rank, int *lengths),
	(f->inner, type, id, name, offset, field, rank, lengths))
ASK(inq_compound_fieldindex, (int ncid, nc_type type, const char *name, int *id), (f->inner, type, name, id))
ASK(def_vlen, (int ncid, const char *name, nc_type base, nc_type *type), (f->inner, name, base, type))
ASK(put_vlen_element, (int ncid, int type, void *element, size_t count, const void *in), (f->inner, type, element, count, in))
ASK(get_vlen_element, (int ncid, int type, const void *element, size_t *count, void *out), (f->inner, type, element, count, out))
ASK(def_enum, (int ncid, nc_type base, const char *name, nc_type *type), (f->inner, base, name, type))
ASK(insert_enum, (int ncid, nc_type type, const char *name, const void *value), (f->inner, type, name, value))
ASK(inq_enum_member, (int ncid, nc_type type, int id, char *name, void *value), (f->inner, type, id, name, value))
ASK(inq_enum_ident, (int ncid, nc_type type, long long value, char *name), (f->inner, type, value, name))
ASK(def_opaque, (int ncid, size_t size, const char *name, nc_type *type), (f->inner, size, name, type))
ASK(def_var_deflate, (int ncid, int varid, int shuffle, int deflate, int level), (f->inner, varid, shuffle, deflate, level))
ASK(def_var_fletcher32, (int ncid, int varid, int fletcher32), (f->inner, varid, fletcher32))
ASK(def_var_chunking, (int ncid, int varid, int storage, const size_t *chunks), (f->inner, varid, storage, chunks))
ASK(def_var_endian, (int ncid, int varid, int endian), (f->inner, varid, endian))
ASK(def_var_filter, (int ncid, int varid, unsigned id, size_t count, const unsigned *parameters), (f->inner, varid, id, count, parameters))
ASK(set_var_chunk_cache, (int ncid, int varid, size_t size, size_t count, float preemption), (f->inner, varid, size, count, preemption))
ASK(get_var_chunk_cache, (int ncid, int varid, size_t *size, size_t *count, float *preemption), (f->inner, varid, size, count, preemption))
ASK(inq_var_filter_ids, (int ncid, int varid, size_t *count, unsigned *ids), (f->inner, varid, count, ids))
ASK(inq_var_filter_info, (int ncid, int varid, unsigned id, size_t *count, unsigned *parameters), (f->inner, varid, id, count, parameters))
ASK(def_var_quantize, (int ncid, int varid, int mode, int digits), (f->inner, varid, mode, digits))
ASK(inq_var_quantize, (int ncid, int varid, int *mode, int *digits), (f->inner, varid, mode, digits))
ASK(inq_filter_avail, (int ncid, unsigned id), (f->inner, id))

static int udf_create(const char *path, int mode, size_t size, int basepe, size_t *chunk, void *parameters, const NC_Dispatch *table, int ncid)
{
	(void)path, (void)mode, (void)size, (void)basepe, (void)chunk, (void)parameters, (void)table, (void)ncid;
	return NC_EPERM;
}

static int udf_inq_format_extended(int ncid, int *format, int *mode)
{
	file *f = find(ncid);
	if (f == NULL)
		return NC_EBADID;
	if (format != NULL)
		*format = NC_FORMATX_NC3;
	if (mode != NULL)
		*mode = f->mode;
	return NC_NOERR;
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
	return f == NULL ? NC_EBADID : classic()->inq_type_equal(f->inner, a, f->inner, b, equal);
}

/* ---- Registration ---- */

static NC_Dispatch table = {
	.model = NC_FORMATX_UDF0,
	.dispatch_version = NC_DISPATCH_VERSION,
	.create = udf_create,
	.open = udf_open,
	.redef = udf_redef,
	._enddef = udf__enddef,
	.sync = udf_sync,
	.abort = udf_abort,
	.close = udf_close,
	.set_fill = udf_set_fill,
	.inq_format = udf_inq_format,
	.inq_format_extended = udf_inq_format_extended,
	.inq = udf_inq,
	.inq_type = udf_inq_type,
	.def_dim = udf_def_dim,
	.inq_dimid = udf_inq_dimid,
	.inq_dim = udf_inq_dim,
	.inq_unlimdim = udf_inq_unlimdim,
	.rename_dim = udf_rename_dim,
	.inq_att = udf_inq_att,
	.inq_attid = udf_inq_attid,
	.inq_attname = udf_inq_attname,
	.rename_att = udf_rename_att,
	.del_att = udf_del_att,
	.get_att = udf_get_att,
	.put_att = udf_put_att,
	.def_var = udf_def_var,
	.inq_varid = udf_inq_varid,
	.rename_var = udf_rename_var,
	.get_vara = udf_get_vara,
	.put_vara = udf_put_vara,
	.get_vars = udf_get_vars,
	.put_vars = udf_put_vars,
	.get_varm = udf_get_varm,
	.put_varm = udf_put_varm,
	.inq_var_all = udf_inq_var_all,
	.var_par_access = udf_var_par_access,
	.def_var_fill = udf_def_var_fill,
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
	.def_grp = udf_def_grp,
	.rename_grp = udf_rename_grp,
	.inq_user_type = udf_inq_user_type,
	.inq_typeid = udf_inq_typeid,
	.def_compound = udf_def_compound,
	.insert_compound = udf_insert_compound,
	.insert_array_compound = udf_insert_array_compound,
	.inq_compound_field = udf_inq_compound_field,
	.inq_compound_fieldindex = udf_inq_compound_fieldindex,
	.def_vlen = udf_def_vlen,
	.put_vlen_element = udf_put_vlen_element,
	.get_vlen_element = udf_get_vlen_element,
	.def_enum = udf_def_enum,
	.insert_enum = udf_insert_enum,
	.inq_enum_member = udf_inq_enum_member,
	.inq_enum_ident = udf_inq_enum_ident,
	.def_opaque = udf_def_opaque,
	.def_var_deflate = udf_def_var_deflate,
	.def_var_fletcher32 = udf_def_var_fletcher32,
	.def_var_chunking = udf_def_var_chunking,
	.def_var_endian = udf_def_var_endian,
	.def_var_filter = udf_def_var_filter,
	.set_var_chunk_cache = udf_set_var_chunk_cache,
	.get_var_chunk_cache = udf_get_var_chunk_cache,
	.inq_var_filter_ids = udf_inq_var_filter_ids,
	.inq_var_filter_info = udf_inq_var_filter_info,
	.def_var_quantize = udf_def_var_quantize,
	.inq_var_quantize = udf_inq_var_quantize,
	.inq_filter_avail = udf_inq_filter_avail
};

/* The slots of netCDF-C for user-defined formats, as flags and as models. */
static const struct {
	int flag, model;
} slots[] = {
	{NC_UDF0, NC_FORMATX_UDF0}, {NC_UDF1, NC_FORMATX_UDF1},
#ifdef NC_UDF9 /* netCDF-C 4.10 */
	{NC_UDF2, NC_FORMATX_UDF2}, {NC_UDF3, NC_FORMATX_UDF3}, {NC_UDF4, NC_FORMATX_UDF4}, {NC_UDF5, NC_FORMATX_UDF5},
	{NC_UDF6, NC_FORMATX_UDF6}, {NC_UDF7, NC_FORMATX_UDF7}, {NC_UDF8, NC_FORMATX_UDF8}, {NC_UDF9, NC_FORMATX_UDF9},
#endif
};

enum { SLOTS = sizeof slots / sizeof *slots };

/* Writes a line on standard error, the first time. */
static void warn(const char *format, const char *value)
{
	static bool warned;
	if (!warned)
		fprintf(stderr, format, value);
	warned = true;
}

/* Reports whether a slot exists in the netCDF-C that runs, and which table has it, NULL if none. */
static bool slot_table(int slot, NC_Dispatch **found)
{
	char magic[NC_MAX_MAGIC_NUMBER_LEN + 1];
	*found = NULL;
	return netcdf.inq_user_format(slots[slot].flag, found, magic) == NC_NOERR;
}

/* Registers the format, unless it is registered: in the slot that the environment names, or in the
 * last one that is free, because programs with one format take the first. It takes no slot from
 * another format. */
static int register_format(void)
{
	const char *wanted = getenv("CDFZ_UDF");
	NC_Dispatch *found;
	int slot = -1;
	for (int i = 0; i < SLOTS; i++) {
		bool exists = slot_table(i, &found);
		if (exists && found == &table)
			return NC_NOERR;
		if (exists && found == NULL)
			slot = i;
	}
	if (wanted != NULL && *wanted != 0) {
		if (strcmp(wanted, "none") == 0)
			return NC_NOERR;
		slot = wanted[1] == 0 && *wanted >= '0' && *wanted < '0' + SLOTS ? *wanted - '0' : -1;
		if (slot < 0 || !slot_table(slot, &found)) {
			warn("cdfz: CDFZ_UDF: expected the number of a slot of netCDF-C, or none, found %s\n", wanted);
			return NC_EINVAL;
		}
		if (found != NULL) {
			warn("cdfz: CDFZ_UDF=%s: another format has this slot of netCDF-C, so archives are not read\n", wanted);
			return NC_EINVAL;
		}
	}
	if (slot < 0) {
		warn("cdfz: other formats have all slots of netCDF-C, so archives are not read%s\n", "");
		return NC_EINVAL;
	}
	table.model = slots[slot].model;
	return netcdf.def_user_format(slots[slot].flag, &table, "PK\3\4");
}

/* Returns the flag of the slot that the format has if the path leads into a volume, such as vol/0001.tar/1987/tas.nc.cdfz,
 * else 0. netCDF-C cannot look at the first bytes of that, and with the flag it does not try to. */
static int in_slot(const char *path)
{
	NC_Dispatch *found;
	bool inside = false;
	for (const char *at = path; !inside && at != NULL && (at = strstr(at, ".tar/")) != NULL;) {
		struct stat s;
		at += strlen(".tar");
		char *file = strndup(path, (size_t)(at - path));
		inside = file != NULL && stat(file, &s) == 0 && S_ISREG(s.st_mode);
		free(file);
	}
	for (int i = 0; inside && i < SLOTS; i++)
		if (slot_table(i, &found) && found == &table)
			return slots[i].flag;
	return 0;
}

/* Finds netCDF-C among the libraries that are loaded, that of the caller first, and registers the
 * format. Returns a number of netCDF-C. For .ncrc files of netCDF-C 4.10 whose INIT functions
 * register formats themselves, and for programs that load this library. */
CDFZ_API int cdfz_netcdf_init(void);
int cdfz_netcdf_init(void)
{
	void *function = meant(__builtin_return_address(0), "nc_close", NULL);
	return function != NULL && bind_owner(function) ? register_format() : NC_ENOTBUILT;
}

/* Returns the table. For .ncrc files of versions whose INIT functions return it. */
CDFZ_API NC_Dispatch *cdfz_netcdf_dispatch(void);
NC_Dispatch *cdfz_netcdf_dispatch(void)
{
	void *function = meant(__builtin_return_address(0), "nc_close", NULL);
	return function != NULL && bind_owner(function) ? &table : NULL;
}

/* The program is linked with netCDF-C, or has loaded it. Else nothing is done. */
__attribute__((constructor)) static void loaded(void)
{
	char path[PATH_MAX];
	void *function = dl_iterate_phdr(is_netcdf, path) ? look_up(path, "nc_close") : NULL;
	if (function != NULL && bind_owner(function)) /* the path may be that of libnetcdff, which needs netCDF-C */
		(void)register_format();
}

/* Returns the status of opening a path. netCDF-C knows the schemes of URLs itself, and how it fails there
 * depends on how it was built, so a line on standard error says what is wrong. */
static int told(const char *path, int status)
{
	if (status != NC_NOERR && path != NULL && strstr(path, "://") != NULL && strstr(path, ".cdfz") != NULL)
		fprintf(stderr, "cdfz: %s: this library reads files, not URLs; cdfz restore and the Python package read archives at URLs\n", path);
	return status;
}

/* Defines a function of netCDF-C that registers the format and calls the one that the caller means. before is what
 * is done with the arguments then. */
#define BEFORE(name, parameters, arguments, path, before) \
	CDFZ_API int name parameters; \
	int name parameters \
	{ \
		static answer last; \
		int (*real) parameters; \
		void *caller = __builtin_return_address(0); \
		if (last.found == NULL || last.caller != caller) { \
			last.found = meant(caller, #name, (void *)(uintptr_t)name); \
			last.caller = caller; \
			last.bound = last.found != NULL && bind_owner(last.found); \
		} \
		if (last.found == NULL) \
			return NC_ENOTBUILT; \
		if (last.bound) { \
			(void)register_format(); \
			before; \
		} \
		memcpy(&real, &last.found, sizeof real); \
		return told(path, real arguments); \
	}

BEFORE(nc_initialize, (void), (), NULL, )
BEFORE(nc_open, (const char *path, int mode, int *id), (path, mode, id), path, mode |= in_slot(path))
BEFORE(nc__open, (const char *path, int mode, size_t *chunk, int *id), (path, mode, chunk, id), path, mode |= in_slot(path))
