/*
 * cdfz.c - reader of cdfz archives. cdfz.h describes its use. Section numbers are those of
 * docs/FORMAT.md.
 *
 *	cdfz_memory.h     memory and sums
 *	cdfz_json.h       JSON (section 5.1)
 *	cdfz_manifest.h   the manifest, as text (section 5)
 *	cdfz_plan.h       the plan, as text (section 7)
 *	cdfz_netcdf.h     netCDF header (section 1.3)
 *	cdfz_layout.h     where the bytes of the image are (sections 8 and 10)
 *	cdfz_archive.h    an open archive, errors, the source
 *	cdfz_container.h  end, manifest, plan and index, as they are stored (sections 3 to 7)
 *	cdfz_filters.h    filters (section 9)
 *	cdfz_cache.h      blocks that are kept
 *	cdfz_blocks.h     the bytes of blocks
 *	cdfz_image.h      the image from blocks (section 11)
 *	cdfz_sha256.h     SHA-256
 *
 * Every number read from the archive is compared with a bound before it is used.
 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "cdfz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdfz_image.h"
#include "cdfz_sha256.h"

enum {
	PIECE = 1 << 22 /* bytes of the image that cdfz_restore makes at once */
};

/* ---- Names ---- */

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
	}
	return "unknown error";
}

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

/* ---- The image ---- */

cdfz_status cdfz_read_image(cdfz_archive *a, uint64_t offset, void *out, size_t size, cdfz_error *e)
{
	if (offset > a->plan.image_size || size > a->plan.image_size - offset)
		return fail(a, e, CDFZ_ARGUMENT, nowhere, "the image has %" PRIu64 " bytes", a->plan.image_size);
	return make_image(a, offset, size, out, e);
}

cdfz_status cdfz_restore(cdfz_archive *a, int (*write)(void *context, const void *bytes, size_t size), void *context, cdfz_error *e)
{
	uint64_t all = a->plan.image_size;
	uint8_t *out = malloc((size_t)least(all ? all : 1, PIECE));
	cdfz_status status = CDFZ_OK;
	sha256 sum;
	char found[65];
	if (out == NULL)
		return no_memory(a, e);
	sha256_begin(&sum);
	for (uint64_t x = 0; x < all && status == CDFZ_OK;) {
		size_t n = (size_t)least(all - x, PIECE);
		status = make_image(a, x, n, out, e);
		if (status == CDFZ_OK) {
			sha256_add(&sum, out, n);
			if (write(context, out, n) != 0)
				status = fail(a, e, CDFZ_SINK, nowhere, "writing from byte %" PRIu64 " of the image on failed", x);
		}
		x += n;
	}
	free(out);
	if (status != CDFZ_OK)
		return status;
	sha256_end(&sum, found);
	if (memcmp(found, a->sha256, 64) != 0)
		return fail(a, e, CDFZ_DAMAGED, nowhere, "the image has SHA-256 %.16s..., expected %.16s...", found, a->sha256);
	return CDFZ_OK;
}

/* ---- Hyperslabs (section 12) ---- */

/* A walk over the selected bytes of a variable, in row-major order: intervals of equal length,
 * one for each index of the dimensions that are not contiguous. */
typedef struct {
	uint32_t rank;
	uint64_t *index;              /* of each dimension, 0 to count - 1 */
	const uint64_t *count;
	const uint64_t *step;         /* bytes from an index to the next */
	uint64_t length;              /* of an interval */
	uint64_t p;                   /* the next selected byte */
	uint64_t left;                /* of the interval */
	bool done;
} walk;

/* Moves behind n bytes, which the interval has. */
static void walk_on(walk *w, uint64_t n)
{
	w->p += n;
	w->left -= n;
	if (w->left > 0)
		return;
	w->p -= w->length;
	for (uint32_t i = w->rank; i-- > 0;) {
		if (++w->index[i] < w->count[i]) {
			w->p += w->step[i];
			w->left = w->length;
			return;
		}
		w->p -= (w->count[i] - 1) * w->step[i];
		w->index[i] = 0;
	}
	w->done = true;
}

/* Copies what a walk selects of a unit's bytes from base on. The index of again is another list
 * of as many numbers. */
static cdfz_status copy_walk(cdfz_archive *a, const unit *u, uint64_t base, int64_t variable, walk *w, walk *again, uint8_t *out,
	cdfz_error *e)
{
	while (!w->done) {
		uint64_t block, first = base + w->p, end = first;
		size_t within, left;
		piece p;
		find_block(u, first, &block, &within, &left);
		uint64_t limit = first + left;
		/* First what is needed of the block, then the bytes. */
		uint64_t *index = again->index;
		*again = *w;
		again->index = index;
		memcpy(index, w->index, w->rank * sizeof *index);
		while (!again->done && base + again->p < limit) {
			uint64_t n = least(again->left, limit - (base + again->p));
			end = base + again->p + n;
			walk_on(again, n);
		}
		cdfz_status status = load(a, block, u->chain, (size_t)u->full, variable, within, (size_t)(end - first), &p, e);
		if (status != CDFZ_OK)
			return status;
		while (!w->done && base + w->p < limit) {
			uint64_t n = least(w->left, limit - (base + w->p));
			memcpy(out, p.p + (base + w->p - first), (size_t)n);
			out += n;
			walk_on(w, n);
		}
		piece_free(a, &p);
	}
	return CDFZ_OK;
}

/* Copies what a walk selects of an unblocked variable from the image. Zeros follow its end. */
static cdfz_status copy_unblocked(cdfz_archive *a, int64_t variable, walk *w, uint8_t *out, cdfz_error *e)
{
	const placed *at = &a->netcdf.placed[variable];
	while (!w->done) {
		uint64_t record = w->p / at->each, in = w->p % at->each, n = least(w->left, at->each - in);
		uint64_t x = at->begin + record * a->netcdf.recsize + in, size = a->plan.image_size;
		uint64_t have = x < size ? least(n, size - x) : 0;
		cdfz_status status = have > 0 ? make_image(a, x, have, out, e) : CDFZ_OK;
		if (status != CDFZ_OK)
			return status;
		memset(out + have, 0, (size_t)(n - have));
		out += n;
		walk_on(w, n);
	}
	return CDFZ_OK;
}

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

/* ---- Opening ---- */

/* Decodes block 0 of the rest and reads the netCDF header in it (section 7.3). */
static cdfz_status read_header(cdfz_archive *a, cdfz_error *e)
{
	const manifest *m = &a->manifest;
	const plan *p = &a->plan;
	where at = {-1, -1, (int64_t)m->header.off};
	uint32_t filters = p->chains[p->rest_head].count;
	if (p->rest_first > MOST_FIRST && m->header.mask != (uint32_t)((UINT64_C(1) << filters) - 1))
		return fail(a, e, CDFZ_DAMAGED, at, "a long block 0 of the rest has filters");
	if (m->header.len > 2 * p->rest_first + 65536)
		return fail(a, e, CDFZ_DAMAGED, at, "block 0 of the rest is stored in too many bytes");
	uint8_t *stored;
	cdfz_status status = read_stretch(a, &m->header, m->header_copy, "netCDF header", &stored, e);
	if (status == CDFZ_OK) {
		stored_block b = {stored, (size_t)m->header.len, m->header.mask, p->rest_head, (size_t)p->rest_first, at};
		a->head = malloc(p->rest_first ? (size_t)p->rest_first : 1);
		status = a->head ? decode(a, &b, 0, b.decoded, a->head, e) : no_memory(a, e);
	}
	free(stored);
	if (status != CDFZ_OK)
		return status;
	header h = {.memory = &a->memory};
	if (!netcdf_read(&a->netcdf, &h, a->head, p->image_header, p->image_size)) {
		uint64_t byte = (uint64_t)(h.p - h.start);
		a->netcdf.variable_count = 0;
		return h.no_memory ? no_memory(a, e) :
			fail(a, e, CDFZ_DAMAGED, at, "netCDF header, at its byte %" PRIu64 ": %s", byte, h.fault);
	}
	checks c = {.variable = -1, .memory = &a->memory};
	if (!lay_out(&c, &a->layout, p, &a->netcdf, m))
		return c.no_memory ? no_memory(a, e) :
			fail(a, e, CDFZ_DAMAGED, (where){c.variable, -1, (int64_t)m->plan.off}, "plan: %s", c.fault);
	return CDFZ_OK;
}

static void describe(cdfz_archive *a)
{
	const netcdf *n = &a->netcdf;
	const manifest *m = &a->manifest;
	cdfz_info *i = &a->info;
	i->version = n->version;
	i->records = n->records;
	i->image_size = a->plan.image_size;
	i->blocks = m->blocks;
	memcpy(i->sha256, a->sha256, sizeof i->sha256);
	if (m->has_name)
		i->name = (cdfz_name){m->name.bytes, m->name.size};
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
	a->max_block = o->max_block > 0 && o->max_block < MOST_BLOCK ? o->max_block : MOST_BLOCK;
	cache_make(&a->cache, o->cache > 0 ? o->cache : (size_t)1 << 26);
	cdfz_status status = CDFZ_OK;
	if (source->size > MOST)
		status = fail(a, e, CDFZ_ARGUMENT, nowhere, "the source has more than 2^63 - 1 bytes");
	if (status == CDFZ_OK)
		status = read_end(a, &end, e);
	if (status == CDFZ_OK)
		status = read_manifest(a, &end, e);
	if (status == CDFZ_OK)
		status = read_index(a, &end, e);
	if (status == CDFZ_OK)
		status = read_plan(a, e);
	if (status == CDFZ_OK)
		status = read_header(a, e);
	if (status != CDFZ_OK) {
		cdfz_close(a);
		return status;
	}
	describe(a);
	*to = a;
	return CDFZ_OK;
}

/* The source of a file. */
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

cdfz_status cdfz_open_path(cdfz_archive **to, const char *path, const cdfz_options *options, cdfz_error *e)
{
	struct stat s;
	file_source *f = malloc(sizeof *f);
	*to = NULL;
	if (f == NULL)
		return no_memory(NULL, e);
	f->file = open(path, O_RDONLY | O_CLOEXEC);
	if (f->file < 0 || fstat(f->file, &s) != 0 || !S_ISREG(s.st_mode)) {
		cdfz_status status = fail(NULL, e, CDFZ_SOURCE, nowhere, "%.160s cannot be opened, or is no regular file, errno is %d", path,
			errno);
		if (f->file >= 0)
			close(f->file);
		free(f);
		return status;
	}
	cdfz_source source = {file_read, file_close, f, (uint64_t)s.st_size};
	return cdfz_open(to, &source, options, e);
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
	free(a->head);
	free(a);
}

/* ---- The netCDF header ---- */

const cdfz_info *cdfz_get_info(const cdfz_archive *a)
{
	return &a->info;
}

int64_t cdfz_find_variable(const cdfz_archive *a, const char *name)
{
	size_t size = strlen(name);
	for (uint64_t i = 0; i < a->netcdf.variable_count; i++) {
		const cdfz_name *n = &a->netcdf.variables[i].name;
		if (n->size == size && memcmp(n->bytes, name, size) == 0)
			return (int64_t)i;
	}
	return -1;
}

void cdfz_attribute_values(const cdfz_attribute *attribute, void *out)
{
	size_t size = cdfz_type_size(attribute->type);
	if (attribute->count > 0)
		memcpy(out, attribute->values, (size_t)attribute->count * size);
	to_native(out, attribute->count, size);
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
