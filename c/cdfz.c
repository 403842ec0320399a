/*
 * cdfz.c - reader of cdfz archives. cdfz.h describes its use. Section numbers are those of
 * docs/FORMAT.md.
 *
 *	cdfz_memory.h   memory and sums
 *	cdfz_json.h     JSON (section 5.1)
 *	cdfz_plan.h     manifest and plan, as text (sections 5 and 7)
 *	cdfz_netcdf.h   netCDF header (section 1.3)
 *	cdfz_layout.h   blocks and permutation (sections 8 and 10)
 *	cdfz_filters.h  filters (section 9)
 *	cdfz_cache.h    blocks that are kept
 *	cdfz_sha256.h   SHA-256
 *
 * Every number read from the archive is compared with a bound before it is used.
 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "cdfz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdfz_layout.h"
#include "cdfz_sha256.h"

enum {
	END_LINE = 109,
	END = 131,          /* end record and end line (section 4) */
	HEAD = 45,          /* the first local header, with its name */
	INDEX_HEADER = 32,  /* (section 6) */
	PAGE_HEADER = 8,
	ROW = 20,
	PAGE_ROWS = 256,
	PAGE = PAGE_HEADER + PAGE_ROWS * ROW,
	PIECE = 1 << 22     /* bytes of the image that cdfz_restore makes at once */
};

struct cdfz_archive {
	cdfz_source source;
	cdfz_info info;
	cache cache;
	size_t max_block;
	arena memory;       /* of what follows and never changes */
	uint64_t index;     /* offset of the stored bytes */
	manifest manifest;
	char *manifest_text;
	plan plan;
	netcdf netcdf;
	layout layout;
	uint8_t *head;      /* block 0 of the rest, which holds the netCDF header */
	char sha256[65];
};

/* ---- Errors ---- */

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

/* Where a fault is; -1 is nowhere. */
typedef struct {
	int64_t variable, block, offset;
} where;

static const where nowhere = {-1, -1, -1};

/* Fills in an error: the text is that of the status, the place, and what the format makes. */
static cdfz_status fail(const cdfz_archive *a, cdfz_error *e, cdfz_status status, where at, const char *format, ...)
{
	char place[144] = "", name[64] = "", what[200];
	va_list args;
	if (e == NULL)
		return status;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	size_t n = 0;
	if (at.variable >= 0) {
		const cdfz_name *v = &a->netcdf.variables[at.variable].name;
		printable(name, sizeof name, v->bytes, v->size);
		n += (size_t)snprintf(place + n, sizeof place - n, "variable %s, ", name);
	}
	if (at.block >= 0)
		n += (size_t)snprintf(place + n, sizeof place - n, "block %" PRId64 ", ", at.block);
	if (at.offset >= 0)
		n += (size_t)snprintf(place + n, sizeof place - n, "at byte %" PRId64 ", ", at.offset);
	if (n > 0)
		memcpy(place + n - 2, ": ", 2);
	e->status = status;
	e->variable = at.variable;
	e->block = at.block;
	e->offset = at.offset;
	n = (size_t)snprintf(e->text, sizeof e->text, "%s: %s", cdfz_strerror(status), place);
	if (n < sizeof e->text)
		snprintf(e->text + n, sizeof e->text - n, "%s", what);
	return status;
}

static cdfz_status no_memory(const cdfz_archive *a, cdfz_error *e)
{
	return fail(a, e, CDFZ_MEMORY, nowhere, "an allocation failed");
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

/* ---- The source ---- */

/* Reads all size bytes at offset, which lie in the archive. */
static cdfz_status read_at(const cdfz_archive *a, uint64_t offset, void *to, size_t size, cdfz_error *e)
{
	uint8_t *p = to;
	while (size > 0) {
		errno = 0;
		ptrdiff_t n = a->source.read(a->source.context, p, size, offset);
		where at = {-1, -1, (int64_t)offset};
		if (n < 0)
			return fail(a, e, CDFZ_SOURCE, at, "reading %zu bytes failed, errno is %d", size, errno);
		if (n == 0 || (size_t)n > size)
			return fail(a, e, CDFZ_SOURCE, at, "expected %zu bytes, found %td", size, n);
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return CDFZ_OK;
}

/* Reads bytes and compares their checksum. */
static cdfz_status read_checked(const cdfz_archive *a, uint64_t offset, uint8_t *to, size_t size, uint32_t crc, const char *what,
	cdfz_error *e)
{
	cdfz_status status = read_at(a, offset, to, size, e);
	if (status != CDFZ_OK)
		return status;
	uint32_t found = (uint32_t)crc32(0, to, (uInt)size);
	if (found == crc)
		return CDFZ_OK;
	return fail(a, e, CDFZ_DAMAGED, (where){-1, -1, (int64_t)offset}, "%s: expected checksum %08" PRIx32 ", found %08" PRIx32, what,
		crc, found);
}

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

/* ---- The end (section 4) ---- */

typedef struct {
	uint64_t manifest, manifest_len, index, index_len;
	uint32_t manifest_crc;
} end_line;

/* Reads count hexadecimal digits. */
static bool digits(const char *p, unsigned count, uint64_t *v)
{
	*v = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned char c = (unsigned char)p[i];
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		*v = *v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

static bool is_head(const uint8_t *p, size_t size)
{
	return size >= HEAD && memcmp(p, "PK\3\4", 4) == 0 && memcmp(p + 30, ".cdfz/plan.json", 15) == 0;
}

static cdfz_status read_end(const cdfz_archive *a, end_line *to, cdfz_error *e)
{
	uint8_t head[HEAD];
	char line[END_LINE + 1] = "";
	uint64_t size = a->source.size, crc, format = 0;
	cdfz_status status = read_at(a, 0, head, (size_t)least(size, HEAD), e);
	if (status == CDFZ_OK && size >= END_LINE)
		status = read_at(a, size - END_LINE, line, END_LINE, e);
	if (status != CDFZ_OK)
		return status;
	where at = {-1, -1, (int64_t)(size - least(size, END_LINE))};
	bool intact = digits(line + 100, 8, &crc) && line[108] == '\n' && crc == (uint32_t)crc32(0, (const Bytef *)line, 100);
	unsigned n = 5;
	if (memcmp(line, "cdfz ", 5) == 0 && line[5] != '0')
		while (n < 14 && line[n] >= '0' && line[n] <= '9')
			format = format * 10 + (uint64_t)(line[n++] - '0');
	if (n == 5 || line[n] != ' ')
		format = 0;
	if (format != 1) {
		if (format != 0 && intact)
			return fail(a, e, CDFZ_UNSUPPORTED, at, "the archive has format %" PRIu64 ", this library reads format 1", format);
		if (is_head(head, (size_t)least(size, HEAD)))
			return fail(a, e, CDFZ_DAMAGED, at, "the end of the archive is missing, or bytes follow it");
		return fail(a, e, CDFZ_NOT_ARCHIVE, nowhere, "it has neither the head nor the end of one");
	}
	/* From here on, the file is an archive. */
	uint64_t crc_m, crc_i, manifest_end;
	static const char shape[] =
		"cdfz 1 manifest ................ ........ ........ index ................ ................ ........ ........\n";
	bool ok = intact;
	for (unsigned i = 0; i < END_LINE; i++)
		ok = ok && (shape[i] == '.' || shape[i] == line[i]);
	ok = ok && digits(line + 16, 16, &to->manifest) && digits(line + 33, 8, &to->manifest_len) && digits(line + 42, 8, &crc_m);
	ok = ok && digits(line + 57, 16, &to->index) && digits(line + 74, 16, &to->index_len) && digits(line + 91, 8, &crc_i);
	if (!ok)
		return fail(a, e, CDFZ_DAMAGED, at, "the end line is malformed, or its checksum is wrong");
	to->manifest_crc = (uint32_t)crc_m;
	ok = size >= END && to->manifest_len <= MOST_MANIFEST && add(to->manifest, 49 + to->manifest_len, &manifest_end) &&
		manifest_end == to->index;
	uint64_t index_end = to->index + (to->index_len >= UINT32_MAX ? 61 : 41);
	ok = ok && add(index_end, to->index_len, &index_end) && index_end <= size - END;
	if (!ok)
		return fail(a, e, CDFZ_DAMAGED, at, "the end line has impossible places");
	to->manifest += 49;
	to->index = index_end - to->index_len;
	return CDFZ_OK;
}

/* ---- Manifest and plan (sections 3.1, 5 and 7) ---- */

/* Inflates a deflated entry to at most most bytes. *text is to be freed. */
static cdfz_status inflate_entry(cdfz_archive *a, const uint8_t *stored, size_t size, uint64_t most, const char *name, where at,
	uint8_t **to, size_t *to_size, cdfz_error *e)
{
	step s = {.in = stored, .in_size = size, .most = (size_t)least(most, UINT32_MAX), .cache = &a->cache};
	*to = NULL;
	if (!inflate_all(&s, -15)) {
		free(s.out);
		return fail(a, e, s.status, at, "%s: %s", name, s.fault);
	}
	*to = s.out;
	*to_size = s.out_size;
	return CDFZ_OK;
}

static cdfz_status read_manifest(cdfz_archive *a, const end_line *end, cdfz_error *e)
{
	uint8_t *stored = malloc(MOST_MANIFEST), *text = NULL;
	size_t size = (size_t)end->manifest_len, text_size = 0;
	manifest *m = &a->manifest;
	where at = {-1, -1, (int64_t)end->manifest};
	if (stored == NULL)
		return no_memory(a, e);
	cdfz_status status = read_checked(a, end->manifest, stored, size, end->manifest_crc, "manifest", e);
	if (status == CDFZ_OK)
		status = inflate_entry(a, stored, size, MOST_MANIFEST, "manifest", at, &text, &text_size, e);
	free(stored);
	if (status != CDFZ_OK)
		return status;
	a->manifest_text = (char *)text;
	json j = {(char *)text, (char *)text, (char *)text + text_size, NULL};
	if (!manifest_read(&j, m))
		return fail(a, e, CDFZ_DAMAGED, at, "manifest: at character %td of the JSON: %s", j.p - j.start, j.fault);
	/* The places (section 5.2). */
	uint64_t begin = end->manifest - 49, plan_end, header_end, place;
	bool ok = m->plan.off == PLAN_OFFSET && add(m->plan.off, m->plan.len, &plan_end) && plan_end <= m->front;
	ok = ok && add(m->front, m->header.mask ? 50 : 42, &place) && m->header.off == place;
	ok = ok && add(m->header.off, m->header.len, &header_end) && header_end <= begin;
	if (ok && m->has_copies)
		ok = m->plan_copy >= header_end && add(m->plan_copy, m->plan.len, &place) && place <= begin &&
			m->header_copy >= header_end && add(m->header_copy, m->header.len, &place) && place <= begin;
	if (!ok || m->plan.len > MOST_STORED_PLAN || m->header.len > MOST_STORED_PLAN)
		return fail(a, e, CDFZ_DAMAGED, at, "the manifest has impossible places");
	memcpy(a->sha256, m->sha256, sizeof a->sha256);
	return CDFZ_OK;
}

/* Reads stored bytes or their second copy (section 5.3). *to is to be freed. */
static cdfz_status read_stretch(const cdfz_archive *a, const stretch *s, uint64_t copy, const char *what, uint8_t **to, cdfz_error *e)
{
	size_t size = (size_t)s->len;
	*to = malloc(size ? size : 1);
	if (*to == NULL)
		return no_memory(a, e);
	cdfz_status status = read_checked(a, s->off, *to, size, s->crc32, what, e);
	cdfz_error unused;
	if (status == CDFZ_DAMAGED && a->manifest.has_copies) {
		cdfz_status other = read_checked(a, copy, *to, size, s->crc32, what, &unused);
		/* The error remains that of the original, unless the source fails. */
		if (other == CDFZ_SOURCE && e != NULL)
			*e = unused;
		if (other != CDFZ_DAMAGED)
			status = other;
	}
	return status;
}

static cdfz_status read_plan(cdfz_archive *a, cdfz_error *e)
{
	const manifest *m = &a->manifest;
	plan *p = &a->plan;
	uint8_t *stored, *text = NULL;
	size_t size;
	where at = {-1, -1, (int64_t)m->plan.off};
	uint64_t most = least(((uint64_t)1 << 16) + 256 * m->plan.len, ((uint64_t)1 << 22) + a->source.size - m->header.len);
	cdfz_status status = read_stretch(a, &m->plan, m->plan_copy, "plan", &stored, e);
	if (status == CDFZ_OK)
		status = inflate_entry(a, stored, (size_t)m->plan.len, most, "plan", at, &text, &size, e);
	free(stored);
	if (status != CDFZ_OK)
		return status;
	json j = {(char *)text, (char *)text, (char *)text + size, NULL};
	if (!plan_read(&j, p)) {
		if (p->refused != NULL)
			status = fail(a, e, CDFZ_UNSUPPORTED, at, "%s %s, which this library does not know", p->refused, p->refused_name);
		else if (p->no_memory)
			status = no_memory(a, e);
		else
			status = fail(a, e, CDFZ_DAMAGED, at, "plan: at character %td of the JSON: %s", j.p - j.start, j.fault);
	}
	free(text);
	if (status != CDFZ_OK)
		return status;
	const char *fault = NULL;
	if (p->image_size != m->size)
		fault = "image.size is not that of the manifest";
	else if (p->image_header > p->image_size || p->image_header > MOST_HEADER)
		fault = "image.header is too long";
	else if (p->rest_first < p->image_header || p->rest_first > p->rest_len ||
		p->rest_first > greatest(MOST_FIRST, p->image_header))
		fault = "rest.first is too short or too long";
	else if (p->rest_block < 1 || p->rest_block > MOST_BLOCK)
		fault = "rest.block is not between 1 and 2^30";
	else if (p->rest_head >= p->chain_count || p->rest_chain >= p->chain_count)
		fault = "there is no such chain as that of the rest";
	if (fault != NULL)
		return fail(a, e, CDFZ_DAMAGED, at, "plan: %s", fault);
	return CDFZ_OK;
}

/* ---- Blocks (section 9) ---- */

/* The stored bytes of a block, and how to decode them. */
typedef struct {
	const uint8_t *bytes;
	size_t size;
	uint32_t mask;
	uint32_t chain;
	size_t decoded; /* its length, padding included */
	where at;
} stored_block;

/* Decodes the bytes first to first + size - 1 of a block to out. They are the whole block unless
 * its first filter can decode ranges. */
static cdfz_status decode(cdfz_archive *a, const stored_block *b, size_t first, size_t size, uint8_t *out, cdfz_error *e)
{
	const chain *c = &a->plan.chains[b->chain];
	const filter *filters = a->plan.filters + c->first;
	const uint8_t *in = b->bytes;
	uint8_t *taken = NULL; /* in, unless it is b->bytes */
	size_t in_size = b->size;
	cdfz_status status = CDFZ_OK;
	uint32_t lowest = 0;
	if (c->count < 32 && b->mask >> c->count)
		return fail(a, e, CDFZ_DAMAGED, b->at, "the mask %#" PRIx32 " has bits beyond the %" PRIu32 " filters", b->mask, c->count);
	while (lowest < c->count && b->mask >> lowest & 1)
		lowest++;
	for (uint32_t i = c->count; i-- > lowest && status == CDFZ_OK;) {
		if (b->mask >> i & 1)
			continue;
		step s = {.filter = &filters[i], .in = in, .in_size = in_size, .last = i == lowest, .cache = &a->cache};
		s.most = s.last ? b->decoded : 2 * b->decoded + 65536;
		bool ok;
		if (s.last && size < b->decoded) {
			ok = undo_lorenz(&s, first, size, out);
		} else {
			s.out = s.last ? out : NULL;
			ok = undo(&s);
		}
		if (!ok)
			status = fail(a, e, s.status, b->at, "filter %" PRIu32 " %s: %s", s.filter->id, s.filter->name, s.fault);
		free(taken);
		taken = s.last ? NULL : s.out;
		in = taken;
		in_size = s.out_size;
	}
	free(taken);
	if (status == CDFZ_OK && lowest == c->count) { /* no filter was applied */
		if (in_size != b->decoded)
			return fail(a, e, CDFZ_DAMAGED, b->at, "expected %zu bytes, found %zu", b->decoded, in_size);
		memcpy(out, in, in_size);
	}
	return status;
}

/* Whether parts of a block can be decoded, and of how many bytes its elements are. */
static bool has_ranges(const cdfz_archive *a, const stored_block *b, size_t *element)
{
	const chain *c = &a->plan.chains[b->chain];
	lorenz_params p;
	for (uint32_t i = 0; i < c->count; i++) {
		const filter *f = &a->plan.filters[c->first + i];
		if (b->mask >> i & 1)
			continue;
		if (f->id != LORENZ || lorenz_parse(&p, f->params, f->param_count) != LORENZ_OK || lorenz_size(&p) != b->decoded)
			return false;
		*element = p.size;
		return true;
	}
	return false;
}

/* ---- The index (section 6) ---- */

static cdfz_status read_index(cdfz_archive *a, const end_line *end, cdfz_error *e)
{
	uint8_t h[INDEX_HEADER];
	where at = {-1, -1, (int64_t)end->index};
	if (end->index_len < INDEX_HEADER)
		return fail(a, e, CDFZ_DAMAGED, at, "the index is too short");
	cdfz_status status = read_at(a, end->index, h, sizeof h, e);
	if (status != CDFZ_OK)
		return status;
	uint64_t rows = little64(h + 8), length, pages = rows / PAGE_ROWS + (rows % PAGE_ROWS != 0), more;
	if (memcmp(h, "cdfzidx\1", 8) != 0 || little32(h + 16) != PAGE_ROWS || little32(h + 20) != ROW || little32(h + 24) != 0 ||
	    little32(h + 28) != (uint32_t)crc32(0, h, 28))
		return fail(a, e, CDFZ_DAMAGED, at, "the header of the index is wrong");
	if (!multiply(rows, ROW, &length) || !multiply(pages, PAGE_HEADER, &more) || !add(length, more, &length) ||
	    !add(length, INDEX_HEADER, &length) || length != end->index_len)
		return fail(a, e, CDFZ_DAMAGED, at, "the index has %" PRIu64 " bytes, which do not fit its %" PRIu64 " rows", end->index_len,
			rows);
	if (rows != a->manifest.blocks)
		return fail(a, e, CDFZ_DAMAGED, at, "the index has %" PRIu64 " rows, the manifest %" PRIu64 " blocks", rows,
			a->manifest.blocks);
	a->index = end->index;
	return CDFZ_OK;
}

/* Finds the row of a block. */
static cdfz_status find_row(cdfz_archive *a, uint64_t number, where at, stretch *row, cdfz_error *e)
{
	uint64_t page = number / PAGE_ROWS, blocks = a->manifest.blocks, key = blocks + page;
	size_t size = PAGE_HEADER + ROW * (size_t)least(PAGE_ROWS, blocks - page * PAGE_ROWS);
	item *i = cache_get(&a->cache, key);
	if (i == NULL) {
		i = item_make(key, size);
		if (i == NULL)
			return no_memory(a, e);
		at.offset = (int64_t)(a->index + INDEX_HEADER + page * PAGE);
		cdfz_status status = read_at(a, (uint64_t)at.offset, item_data(i), size, e);
		const uint8_t *p = item_data(i);
		if (status == CDFZ_OK && (little32(p) != (uint32_t)crc32(0, p + 4, (uInt)size - 4) || little32(p + 4) != (uint32_t)page))
			status = fail(a, e, CDFZ_DAMAGED, at, "page %" PRIu64 " of the index has a wrong checksum or number", page);
		if (status != CDFZ_OK) {
			cache_release(&a->cache, i);
			return status;
		}
		cache_put(&a->cache, i);
	}
	const uint8_t *p = item_data(i) + PAGE_HEADER + number % PAGE_ROWS * ROW;
	*row = (stretch){little64(p), little32(p + 8), little32(p + 12), little32(p + 16)};
	cache_release(&a->cache, i);
	return CDFZ_OK;
}

/* ---- Decoded blocks ---- */

/* Bytes of a decoded block. piece_free ends their use. */
typedef struct {
	item *item;
	const uint8_t *p;
} piece;

static void piece_free(cdfz_archive *a, piece *p)
{
	cache_release(&a->cache, p->item);
	p->item = NULL;
}

/* Provides the bytes first to first + size - 1 of a block that decodes to length bytes. */
static cdfz_status load(cdfz_archive *a, uint64_t number, uint32_t chain, size_t length, int64_t variable, size_t first, size_t size,
	piece *to, cdfz_error *e)
{
	stored_block b = {.chain = chain, .decoded = length, .at = {variable, (int64_t)number, -1}};
	stretch row = {0};
	to->item = cache_get(&a->cache, number);
	if (to->item != NULL) {
		to->p = item_data(to->item) + first;
		return CDFZ_OK;
	}
	if (length > a->max_block)
		return fail(a, e, CDFZ_MEMORY, b.at, "the block has %zu bytes, and max_block is %zu", length, a->max_block);
	cdfz_status status = find_row(a, number, b.at, &row, e);
	if (status != CDFZ_OK)
		return status;
	uint64_t end;
	if (!add(row.off, row.len, &end) || end > a->source.size || row.len > 2 * (uint64_t)length + 65536)
		return fail(a, e, CDFZ_DAMAGED, b.at, "its row of the index has an impossible place");
	b.at.offset = (int64_t)row.off;
	b.size = (size_t)row.len;
	b.mask = row.mask;
	uint8_t *stored = malloc(b.size ? b.size : 1);
	if (stored == NULL)
		return no_memory(a, e);
	b.bytes = stored;
	status = read_at(a, row.off, stored, b.size, e);
	uint32_t crc = status == CDFZ_OK ? (uint32_t)crc32(0, stored, (uInt)b.size) : row.crc32;
	if (crc != row.crc32)
		status = fail(a, e, CDFZ_DAMAGED, b.at, "expected checksum %08" PRIx32 ", found %08" PRIx32, row.crc32, crc);
	/* A part is decoded alone the first time: a second read shows that others follow. */
	size_t element, from = 0, count = length;
	bool before = cache_touch(&a->cache, number);
	if (status == CDFZ_OK && (!before || a->cache.budget < length) && size <= length / 2 && has_ranges(a, &b, &element)) {
		from = first / element * element;
		count = (first + size + element - 1) / element * element - from;
	}
	if (status == CDFZ_OK) {
		to->item = item_make(number, count);
		status = to->item ? decode(a, &b, from, count, item_data(to->item), e) : no_memory(a, e);
	}
	free(stored);
	if (status != CDFZ_OK) {
		piece_free(a, to);
		return status;
	}
	to->p = item_data(to->item) + (first - from);
	if (count == length)
		cache_put(&a->cache, to->item);
	return CDFZ_OK;
}

/* Where byte p of a unit is: its block, the byte of this, and the bytes of the block from there
 * on, padding left out. */
static void find_block(const unit *u, uint64_t p, uint64_t *block, size_t *within, size_t *left)
{
	uint64_t in_run = p % u->run;
	*block = u->first + p / u->run * u->per + in_run / u->full;
	*within = (size_t)(in_run % u->full);
	*left = (size_t)(least(u->full, u->run - in_run / u->full * u->full) - *within);
}

/* ---- The image (sections 10 and 11) ---- */

/* Copies the bytes of a segment that lie in the size bytes of the image from x on to their places
 * in out. */
static cdfz_status copy_segment(cdfz_archive *a, const laid *s, uint64_t x, uint64_t size, uint8_t *out, cdfz_error *e)
{
	const unit *u = &a->layout.units[s->unit];
	uint64_t q = bytes_before(&s->s, x), end = bytes_before(&s->s, x + size);
	while (q < end) {
		uint64_t block;
		size_t within, left;
		piece p;
		find_block(u, s->at + q, &block, &within, &left);
		left = (size_t)least(left, end - q);
		cdfz_status status = load(a, block, u->chain, (size_t)u->full, u->variable, within, left, &p, e);
		if (status != CDFZ_OK)
			return status;
		for (size_t done = 0; done < left;) {
			uint64_t run = q / s->s.len, in = q % s->s.len, n = least(s->s.len - in, left - done);
			memcpy(out + (s->s.off + run * s->s.stride + in - x), p.p + done, (size_t)n);
			done += (size_t)n;
			q += n;
		}
		piece_free(a, &p);
	}
	return CDFZ_OK;
}

/* A place in the rest, whose block remains loaded. */
typedef struct {
	piece piece;
	uint64_t number, from, to; /* the block and its bytes of the rest; none if to is 0 */
} rest_place;

/* Copies size bytes of the rest from c on. */
static cdfz_status copy_rest(cdfz_archive *a, rest_place *r, uint64_t c, uint64_t size, uint8_t *out, cdfz_error *e)
{
	const plan *p = &a->plan;
	while (size > 0) {
		if (c < p->rest_first) {
			uint64_t n = least(size, p->rest_first - c);
			memcpy(out, a->head + c, (size_t)n);
			out += n;
			c += n;
			size -= n;
			continue;
		}
		if (r->to == 0 || c < r->from || c >= r->to) {
			piece_free(a, &r->piece);
			r->to = 0;
			uint64_t i = (c - p->rest_first) / p->rest_block, from = p->rest_first + i * p->rest_block;
			uint64_t length = least(p->rest_block, p->rest_len - from);
			cdfz_status status = load(a, a->layout.rest_number + 1 + i, p->rest_chain, (size_t)length, -1, 0, (size_t)length,
				&r->piece, e);
			if (status != CDFZ_OK)
				return status;
			r->from = from;
			r->to = from + length;
		}
		uint64_t n = least(size, r->to - c);
		memcpy(out, r->piece.p + (c - r->from), (size_t)n);
		out += n;
		c += n;
		size -= n;
	}
	return CDFZ_OK;
}

/* Makes the size bytes of the image from x on, which lie in it. Each block is decoded once. */
static cdfz_status make_image(cdfz_archive *a, uint64_t x, uint64_t size, uint8_t *out, cdfz_error *e)
{
	const layout *l = &a->layout;
	uint64_t end = x + size;
	cdfz_status status = CDFZ_OK;
	for (uint64_t i = fixed_after(l, x); i < l->fixed && l->segments[i].s.off < end && status == CDFZ_OK; i++)
		status = copy_segment(a, &l->segments[i], x, size, out, e);
	for (uint64_t i = 0; i < l->records && x < l->record_end && end > l->record_first && status == CDFZ_OK; i++)
		status = copy_segment(a, &l->segments[l->fixed + i], x, size, out, e);
	rest_place rest = {{NULL, NULL}, 0, 0, 0};
	uint64_t c = x - runs_before(l, x);
	for (uint64_t at = x; at < end && status == CDFZ_OK;) {
		uint64_t from, to;
		next_run(l, at, &from, &to);
		if (from > at) {
			uint64_t n = least(from, end) - at;
			status = copy_rest(a, &rest, c, n, out + (at - x), e);
			c += n;
		}
		at = to;
	}
	piece_free(a, &rest.piece);
	return status;
}

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
