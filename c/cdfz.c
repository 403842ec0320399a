/*
 * cdfz.c - reader of cdfz archives: the functions of cdfz.h, which describes their use. Section
 * numbers are those of docs/FORMAT.md.
 *
 *	cdfz_memory.h    memory and sums
 *	cdfz_json.h      JSON (section 5.1)
 *	cdfz_manifest.h  the text of the manifest (section 5)
 *	cdfz_plan.h      the text of the plan (section 7)
 *	cdfz_netcdf.h    netCDF header (section 1.3)
 *	cdfz_layout.h    blocks and permutation (sections 8 and 10)
 *	cdfz_filters.h   filters (section 9)
 *	cdfz_cache.h     blocks that are kept
 *	cdfz_archive.h   an open archive, its errors and its bytes
 *	cdfz_blocks.h    the index (section 6), and decoding of blocks
 *	cdfz_front.h     the end (section 4), manifest, plan and netCDF header of an archive
 *	cdfz_volume.h    members of volumes (docs/volumes.md)
 *	cdfz_image.h     bytes of the image (section 11)
 *	cdfz_slab.h      selected bytes of a variable (section 12)
 *	cdfz_convert.h   numbers of other types
 *	cdfz_sha256.h    SHA-256
 *
 * Every number read from the archive is compared with a bound before it is used.
 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "cdfz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdfz_convert.h"
#include "cdfz_front.h"
#include "cdfz_sha256.h"
#include "cdfz_slab.h"
#include "cdfz_volume.h"

enum {
	PIECE = 1 << 22, /* bytes of the image that cdfz_restore makes at once, or more */
	SMALL = 1 << 14  /* bytes of an archive that is read with one call when it is opened, instead of six */
};

const char *cdfz_version(void)
{
	return lorenz_version();
}

const char *cdfz_strerror(cdfz_status status)
{
	switch (status) {
	case CDFZ_OK: return "no error";
	case CDFZ_NOT_ARCHIVE: return "not a cdfz archive";
	case CDFZ_UNSUPPORTED: return "this library cannot read it";
	case CDFZ_DAMAGED: return "damaged archive";
	case CDFZ_SOURCE: return "the source failed";
	case CDFZ_SINK: return "the destination failed";
	case CDFZ_ARGUMENT: return "wrong argument";
	case CDFZ_MEMORY: return "out of memory";
	case CDFZ_RANGE: return "out of range";
	}
	return "unknown error";
}

/* ---- Types ---- */

static const struct {
	const char *name;
	size_t size;
} types[] = {
	{NULL, 0}, {"byte", 1}, {"char", 1}, {"short", 2}, {"int", 4}, {"float", 4}, {"double", 8}, {"ubyte", 1}, {"ushort", 2},
	{"uint", 4}, {"int64", 8}, {"uint64", 8}
};

size_t cdfz_type_size(cdfz_type type)
{
	return (unsigned)type < sizeof types / sizeof *types ? types[type].size : 0;
}

const char *cdfz_type_name(cdfz_type type)
{
	return (unsigned)type < sizeof types / sizeof *types ? types[type].name : NULL;
}

/* Turns count big-endian elements into those of this machine. */
static void to_native(void *elements, uint64_t count, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint8_t *p = elements;
	for (uint64_t i = 0; i < count && size > 1; i++, p += size) {
		uint16_t v2;
		uint32_t v4;
		uint64_t v8;
		switch (size) {
		case 2:
			memcpy(&v2, p, 2);
			v2 = __builtin_bswap16(v2);
			memcpy(p, &v2, 2);
			break;
		case 4:
			memcpy(&v4, p, 4);
			v4 = __builtin_bswap32(v4);
			memcpy(p, &v4, 4);
			break;
		default:
			memcpy(&v8, p, 8);
			v8 = __builtin_bswap64(v8);
			memcpy(p, &v8, 8);
		}
	}
#else
	(void)elements;
	(void)count;
	(void)size;
#endif
}

/* ---- Opening ---- */

typedef struct {
	int file;
} file_source;

static ptrdiff_t file_read(void *context, void *buffer, size_t size, uint64_t offset)
{
	ssize_t n;
	do
		n = pread(((file_source *)context)->file, buffer, size < 1 << 30 ? size : 1 << 30, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n;
}

static void file_close(void *context)
{
	close(((file_source *)context)->file);
	free(context);
}

/* Reads a small archive, for read_at. */
static cdfz_status read_all(cdfz_archive *a, cdfz_error *e)
{
	size_t size = (size_t)a->source.size;
	uint8_t *all = malloc(size ? size : 1);
	cdfz_status status = all ? read_at(a, 0, all, size, e) : no_memory(a, e);
	if (status == CDFZ_OK)
		a->all = all;
	else
		free(all);
	return status;
}

static void describe(cdfz_archive *a)
{
	const netcdf *n = &a->netcdf;
	const manifest *m = &a->manifest;
	cdfz_info *i = &a->info;
	i->version = n->version;
	i->records = n->records;
	i->image_size = a->plan.image_size;
	i->header_size = a->plan.image_header;
	i->blocks = m->blocks;
	memcpy(i->sha256, a->sha256, sizeof i->sha256);
	if (m->has_name) {
		/* In place of the quotation mark after it, or of what it was decoded from. */
		a->manifest_text[m->name.bytes - a->manifest_text + m->name.size] = 0;
		i->name = (cdfz_name){m->name.bytes, m->name.size};
	}
	i->is_rounded = m->has_loss;
	i->dimension_count = n->dimension_count;
	i->dimensions = n->dimensions;
	i->attribute_count = n->attribute_count;
	i->attributes = n->attributes;
	i->variable_count = n->variable_count;
	i->variables = n->variables;
}

cdfz_status cdfz_open(cdfz_archive **to, const cdfz_source *source, const cdfz_options *options, cdfz_error *e)
{
	static const cdfz_options defaults;
	const cdfz_options *o = options ? options : &defaults;
	end_line end = {0};
	cdfz_archive *a = calloc(1, sizeof *a);
	*to = NULL;
	if (a == NULL) {
		if (source->close != NULL)
			source->close(source->context);
		return no_memory(NULL, e);
	}
	a->source = *source;
	a->source.name = NULL;
	cdfz_status status = CDFZ_OK;
	if (source->name != NULL) {
		a->source.name = strdup(source->name);
		if (a->source.name == NULL)
			status = no_memory(a, e);
	}
	a->max_block = o->max_block > 0 && o->max_block < MOST_BLOCK ? o->max_block : MOST_BLOCK;
	cache_make(&a->cache, o->cache > 0 ? o->cache : (size_t)1 << 26);
	if (status == CDFZ_OK && source->size > MOST)
		status = fail(a, e, CDFZ_ARGUMENT, nowhere, "the source has more than 2^63 - 1 bytes");
	if (status == CDFZ_OK && source->size <= SMALL)
		status = read_all(a, e);
	if (status == CDFZ_OK)
		status = read_end(a, &end, e);
	if (status == CDFZ_OK)
		status = read_manifest(a, &end, e);
	if (status == CDFZ_OK)
		status = read_index(a, end.index, end.index_len, e);
	if (status == CDFZ_OK)
		status = read_plan(a, e);
	if (status == CDFZ_OK)
		status = read_header(a, e);
	free(a->all);
	a->all = NULL;
	if (status != CDFZ_OK) {
		cdfz_close(a);
		return status;
	}
	describe(a);
	*to = a;
	return CDFZ_OK;
}

/* A part of another source. */
typedef struct {
	cdfz_source whole;
	uint64_t off;
} part_source;

static ptrdiff_t part_read(void *context, void *buffer, size_t size, uint64_t offset)
{
	part_source *p = context;
	return p->whole.read(p->whole.context, buffer, size, p->off + offset);
}

static void part_close(void *context)
{
	part_source *p = context;
	if (p->whole.close != NULL)
		p->whole.close(p->whole.context);
	free(p);
}

/* Opens a member of a volume, as cdfz_open_member. *found is false, and the result CDFZ_OK, for another file. */
static cdfz_status open_member(cdfz_archive **to, const cdfz_source *source, path member, const cdfz_options *options, bool *found,
	cdfz_error *e)
{
	const cdfz_archive whole = {.source = *source};
	uint64_t off = 0, size = 0;
	volume v = {0};
	*to = NULL;
	*found = true;
	cdfz_status status = source->size > MOST ? fail(&whole, e, CDFZ_ARGUMENT, nowhere, "the source has more than 2^63 - 1 bytes") :
		volume_open(&v, &whole, found, e);
	if (status == CDFZ_OK && *found)
		status = volume_find(&v, member, &off, &size, e);
	volume_close(&v);
	part_source *p = NULL;
	char *name = NULL;
	if (status == CDFZ_OK && *found) {
		size_t length = source->name ? strlen(source->name) : 0;
		p = malloc(sizeof *p);
		name = malloc(length + 1 + member.size + 1);
		if (p == NULL || name == NULL)
			status = no_memory(&whole, e);
		else {
			if (length > 0)
				memcpy(name, source->name, length);
			name[length] = '/';
			memcpy(name + length + 1, member.bytes, member.size);
			name[length + 1 + member.size] = 0;
		}
	}
	if (status != CDFZ_OK || !*found) {
		if (source->close != NULL)
			source->close(source->context);
		free(p);
	} else {
		*p = (part_source){*source, off};
		cdfz_source part = {part_read, part_close, p, size, source->name ? name : name + 1};
		status = cdfz_open(to, &part, options, e);
	}
	free(name);
	return status;
}

cdfz_status cdfz_open_member(cdfz_archive **to, const cdfz_source *source, const char *member, const cdfz_options *options, cdfz_error *e)
{
	const cdfz_archive whole = {.source = *source};
	bool found;
	cdfz_status status = open_member(to, source, (path){member, strlen(member)}, options, &found, e);
	return status == CDFZ_OK && !found ? fail(&whole, e, CDFZ_NOT_ARCHIVE, nowhere, "it is no volume") : status;
}

/* Opens a regular file. Returns CDFZ_OK, or an error of the archive, which has its path. */
static cdfz_status open_file(const cdfz_archive *unopened, cdfz_source *to, int *number, cdfz_error *e)
{
	const char *name = unopened->source.name;
	struct stat s;
	file_source *f = malloc(sizeof *f);
	*number = 0;
	if (f == NULL)
		return no_memory(unopened, e);
	errno = 0;
	f->file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would block */
	if (f->file < 0 || fstat(f->file, &s) != 0 || !S_ISREG(s.st_mode)) {
		char why[80];
		*number = errno;
		cdfz_status status = fail(unopened, e, CDFZ_SOURCE, nowhere, "%s",
			errno != 0 ? error_text(errno, why, sizeof why) : "it is no regular file");
		if (f->file >= 0)
			close(f->file);
		free(f);
		return status;
	}
	*to = (cdfz_source){file_read, file_close, f, (uint64_t)s.st_size, name};
	return CDFZ_OK;
}

/* Opens a path that leads into a volume, such as vol/0001.tar/1987/tas.nc.cdfz. A folder may have such a name, too.
 * *found is false, and the result CDFZ_OK, if there is no volume. */
static cdfz_status open_path_in_volume(cdfz_archive **to, const char *name, const cdfz_options *options, bool *found, cdfz_error *e)
{
	static const char suffix[] = ".tar/";
	*found = false;
	for (const char *at = name; (at = strstr(at, suffix)) != NULL;) {
		at += strlen(suffix) - 1;
		const char *member = at + strspn(at, "/");
		struct stat s;
		cdfz_source source;
		int number;
		if (*member == 0)
			break;
		char *file = strndup(name, (size_t)(at - name));
		const cdfz_archive unopened = {.source.name = file};
		cdfz_status status = CDFZ_OK;
		if (file == NULL)
			status = no_memory(&unopened, e);
		else if (stat(file, &s) == 0 && S_ISREG(s.st_mode)) {
			status = open_file(&unopened, &source, &number, e);
			if (status == CDFZ_OK)
				status = open_member(to, &source, (path){member, strlen(member)}, options, found, e);
		}
		free(file);
		if (*found || status != CDFZ_OK) {
			*found = true;
			return status;
		}
	}
	return CDFZ_OK;
}

cdfz_status cdfz_open_path(cdfz_archive **to, const char *name, const cdfz_options *options, cdfz_error *e)
{
	const cdfz_archive unopened = {.source.name = name};
	cdfz_source source;
	int number;
	bool found;
	*to = NULL;
	cdfz_status status = open_file(&unopened, &source, &number, e);
	if (status == CDFZ_OK)
		return cdfz_open(to, &source, options, e);
	if (number == ENOTDIR) {
		cdfz_error why;
		cdfz_status other = open_path_in_volume(to, name, options, &found, &why);
		if (found) {
			if (e != NULL && other != CDFZ_OK)
				*e = why;
			return other;
		}
	}
	return status;
}

void cdfz_close(cdfz_archive *a)
{
	if (a == NULL)
		return;
	if (a->source.close != NULL)
		a->source.close(a->source.context);
	cache_free(&a->cache);
	plan_free(&a->plan);
	arena_free(&a->memory);
	free(a->manifest_text);
	free((char *)a->source.name);
	free(a->head);
	free(a->head_stored);
	free(a);
}

/* ---- The netCDF header ---- */

const cdfz_info *cdfz_get_info(const cdfz_archive *a)
{
	return &a->info;
}

/* Compares a name of the file with a string. NULs at the end of the former do not count. */
static bool is_named(const cdfz_name *name, const char *string)
{
	size_t size = name->size;
	while (size > 0 && name->bytes[size - 1] == 0)
		size--;
	return strlen(string) == size && memcmp(name->bytes, string, size) == 0;
}

int64_t cdfz_find_variable(const cdfz_archive *a, const char *name)
{
	for (uint64_t i = 0; i < a->netcdf.variable_count; i++)
		if (is_named(&a->netcdf.variables[i].name, name))
			return (int64_t)i;
	return -1;
}

const cdfz_attribute *cdfz_find_attribute(const cdfz_archive *a, int64_t variable, const char *name)
{
	const cdfz_attribute *list = a->netcdf.attributes;
	uint64_t count = a->netcdf.attribute_count;
	if (variable != CDFZ_GLOBAL) {
		if (variable < 0 || (uint64_t)variable >= a->netcdf.variable_count)
			return NULL;
		list = a->netcdf.variables[variable].attributes;
		count = a->netcdf.variables[variable].attribute_count;
	}
	for (uint64_t i = 0; i < count; i++)
		if (is_named(&list[i].name, name))
			return &list[i];
	return NULL;
}

void cdfz_attribute_values(const cdfz_attribute *attribute, void *out)
{
	size_t size = cdfz_type_size(attribute->type);
	if (attribute->count > 0)
		memcpy(out, attribute->values, (size_t)attribute->count * size);
	to_native(out, attribute->count, size);
}

cdfz_status cdfz_attribute_values_as(const cdfz_archive *a, const cdfz_attribute *attribute, cdfz_type type, void *out, cdfz_error *e)
{
	cdfz_status status = can_convert(a, nowhere, attribute->count > 0 ? attribute->type : type, type, e);
	if (status != CDFZ_OK || attribute->count == 0)
		return status;
	if (type == attribute->type) {
		cdfz_attribute_values(attribute, out);
		return CDFZ_OK;
	}
	void *values = malloc((size_t)attribute->count * cdfz_type_size(attribute->type));
	if (values == NULL)
		return no_memory(a, e);
	cdfz_attribute_values(attribute, values);
	status = convert(a, nowhere, attribute->type, values, attribute->count, type, out, e);
	free(values);
	return status;
}

int cdfz_block_shape(const cdfz_archive *a, int64_t variable, uint64_t *shape)
{
	if (variable < 0 || (uint64_t)variable >= a->netcdf.variable_count)
		return 0;
	uint64_t number = a->layout.unit_of[variable];
	if (number == NOWHERE || a->layout.units[number].variable != variable)
		return 0;
	uint32_t rank = a->netcdf.variables[variable].rank;
	if (rank > 0)
		memcpy(shape, a->layout.units[number].block, rank * sizeof *shape);
	return 1;
}

/* ---- The image ---- */

cdfz_status cdfz_read_image(cdfz_archive *a, uint64_t offset, void *out, size_t size, cdfz_error *e)
{
	if (offset > a->plan.image_size || size > a->plan.image_size - offset)
		return fail(a, e, CDFZ_ARGUMENT, nowhere, "the image has %" PRIu64 " bytes", a->plan.image_size);
	rest_place rest = {0};
	cdfz_status status = make_image(a, &rest, offset, size, out, e);
	piece_free(a, &rest.piece);
	return status;
}

cdfz_status cdfz_restore(cdfz_archive *a, int (*write)(void *context, const void *bytes, size_t size), void *context, cdfz_error *e)
{
	/* A block is decoded again for each piece that it is in, unless the cache has it: so that these
	 * are few, a piece is as long as the longest block and as what the cache may hold. */
	uint64_t all = a->plan.image_size, most = greatest(PIECE, a->cache.budget);
	for (uint64_t i = 0; i < a->layout.unit_count; i++)
		most = greatest(most, a->layout.units[i].full);
	most = least(most, least(all, MOST_BLOCK));
	uint8_t *out = malloc((size_t)most);
	rest_place rest = {0};
	cdfz_status status = CDFZ_OK;
	sha256 sum;
	char found[65];
	if (out == NULL)
		return no_memory(a, e);
	sha256_begin(&sum);
	for (uint64_t x = 0; x < all && status == CDFZ_OK;) {
		size_t n = (size_t)least(all - x, most);
		status = make_image(a, &rest, x, n, out, e);
		if (status == CDFZ_OK) {
			sha256_add(&sum, out, n);
			if (write(context, out, n) != 0)
				status = fail(a, e, CDFZ_SINK, nowhere, "writing from byte %" PRIu64 " of the image on failed", x);
		}
		x += n;
	}
	piece_free(a, &rest.piece);
	free(out);
	if (status != CDFZ_OK)
		return status;
	sha256_end(&sum, found);
	if (memcmp(found, a->sha256, 64) != 0)
		return fail(a, e, CDFZ_DAMAGED, nowhere, "the image has SHA-256 %.16s..., expected %.16s...", found, a->sha256);
	return CDFZ_OK;
}

/* ---- Hyperslabs ---- */

cdfz_status cdfz_read(cdfz_archive *a, int64_t variable, const uint64_t *start, const uint64_t *count, const uint64_t *stride,
	cdfz_order order, void *out, size_t out_size, cdfz_error *e)
{
	if (variable < 0 || (uint64_t)variable >= a->netcdf.variable_count)
		return fail(a, e, CDFZ_ARGUMENT, nowhere, "there is no variable %" PRId64, variable);
	const cdfz_variable *v = &a->netcdf.variables[variable];
	where at = {variable, -1, -1};
	size_t size = cdfz_type_size(v->type);
	uint64_t selected = size;
	bool empty = false;
	/* Three numbers for each dimension, and the index of the second walk. */
	uint64_t *lists = malloc(sizeof *lists * (4 * (size_t)v->rank + 1));
	if (lists == NULL)
		return no_memory(a, e);
	uint64_t *counts = lists, *steps = lists + v->rank, *index = steps + v->rank, pitch = size, p = 0;
	cdfz_status status = CDFZ_OK;
	for (uint32_t i = v->rank; i-- > 0 && status == CDFZ_OK;) {
		uint64_t length = v->shape[i], from = start ? start[i] : 0, by = stride ? stride[i] : 1, n;
		if (from > length || by < 1) {
			status = fail(a, e, CDFZ_ARGUMENT, at, "dimension %" PRIu32 ": start %" PRIu64 " or stride %" PRIu64
				" does not fit its length %" PRIu64, i, from, by, length);
			break;
		}
		n = count ? count[i] : divide_up(length - from, by);
		if (n > 0 && (from == length || (n - 1) > (length - 1 - from) / by))
			status = fail(a, e, CDFZ_ARGUMENT, at, "dimension %" PRIu32 ": %" PRIu64 " elements from %" PRIu64 " on, each %" PRIu64
				", exceed its length %" PRIu64, i, n, from, by, length);
		empty |= n == 0;
		if (status == CDFZ_OK && n > 0) {
			selected *= n; /* at most the bytes of the variable */
			p += from * pitch;
			steps[i] = n > 1 ? by * pitch : 0;
			pitch *= length;
		}
		counts[i] = n;
		index[i] = 0;
	}
	if (status == CDFZ_OK && out_size != (empty ? 0 : selected))
		status = fail(a, e, CDFZ_ARGUMENT, at, "expected %" PRIu64 " bytes for the selection, found %zu", empty ? 0 : selected, out_size);
	if (status != CDFZ_OK || empty) {
		free(lists);
		return status;
	}
	/* The last dimensions are contiguous as long as each step is the length of all after it. */
	walk w = {v->rank, index, counts, steps, size, p, size, false};
	while (w.rank > 0 && (counts[w.rank - 1] == 1 || steps[w.rank - 1] == w.length)) {
		w.length *= counts[w.rank - 1];
		w.rank--;
	}
	w.left = w.length;
	walk again = {.index = index + v->rank};
	uint64_t unit = a->layout.unit_of[variable];
	if (unit == NOWHERE)
		status = copy_unblocked(a, variable, &w, out, e);
	else
		status = copy_walk(a, &a->layout.units[unit], a->layout.at[variable], variable, &w, &again, out, e);
	free(lists);
	if (status == CDFZ_OK && order == CDFZ_NATIVE)
		to_native(out, selected / size, size);
	return status;
}

cdfz_status cdfz_read_as(cdfz_archive *a, int64_t variable, const uint64_t *start, const uint64_t *count, const uint64_t *stride,
	cdfz_type type, void *out, size_t out_size, cdfz_error *e)
{
	if (variable < 0 || (uint64_t)variable >= a->netcdf.variable_count)
		return fail(a, e, CDFZ_ARGUMENT, nowhere, "there is no variable %" PRId64, variable);
	const cdfz_variable *v = &a->netcdf.variables[variable];
	where at = {variable, -1, -1};
	cdfz_status status = can_convert(a, at, v->type, type, e);
	if (status != CDFZ_OK)
		return status;
	if (type == v->type)
		return cdfz_read(a, variable, start, count, stride, CDFZ_NATIVE, out, out_size, e);
	/* A selection that does not fit out is refused before memory is taken for it: cdfz_read checks
	 * the rest. */
	size_t from = cdfz_type_size(v->type), to = cdfz_type_size(type);
	uint64_t elements = out_size / to;
	if (out_size % to != 0 || elements > v->bytes / from)
		return fail(a, e, CDFZ_ARGUMENT, at, "%zu bytes of %s are not those of a selection", out_size, cdfz_type_name(type));
	size_t size = (size_t)elements * from;
	void *values = malloc(size > 0 ? size : 1);
	if (values == NULL)
		return no_memory(a, e);
	status = cdfz_read(a, variable, start, count, stride, CDFZ_NATIVE, values, size, e);
	if (status == CDFZ_OK)
		status = convert(a, at, v->type, values, elements, type, out, e);
	free(values);
	return status;
}
