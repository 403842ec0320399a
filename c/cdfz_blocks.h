/*
 * cdfz_blocks.h - blocks: their rows of the index (section 6), decoding them (section 9), and
 * decoded ones that are kept. Private to cdfz.c.
 */
#ifndef CDFZ_BLOCKS_H
#define CDFZ_BLOCKS_H

#include "cdfz_archive.h"

enum {
	INDEX_HEADER = 32,
	PAGE_HEADER = 8,
	ROW = 20,
	PAGE_ROWS = 256,
	PAGE = PAGE_HEADER + PAGE_ROWS * ROW
};

/* ---- Decoding ---- */

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
		step s = {.filter = &filters[i], .in = in, .in_size = in_size, .last = i == lowest};
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

/* ---- The index ---- */

/* Checks the header of the index, whose size stored bytes are at offset. */
static cdfz_status read_index(cdfz_archive *a, uint64_t offset, uint64_t size, cdfz_error *e)
{
	uint8_t h[INDEX_HEADER];
	where at = {-1, -1, (int64_t)offset};
	if (size < INDEX_HEADER)
		return fail(a, e, CDFZ_DAMAGED, at, "the index is too short");
	cdfz_status status = read_at(a, offset, h, sizeof h, e);
	if (status != CDFZ_OK)
		return status;
	uint64_t rows = little64(h + 8), length, pages = divide_up(rows, PAGE_ROWS), more;
	if (memcmp(h, "cdfzidx\1", 8) != 0 || little32(h + 16) != PAGE_ROWS || little32(h + 20) != ROW || little32(h + 24) != 0 ||
	    little32(h + 28) != (uint32_t)crc32(0, h, 28))
		return fail(a, e, CDFZ_DAMAGED, at, "the header of the index is wrong");
	if (!multiply(rows, ROW, &length) || !multiply(pages, PAGE_HEADER, &more) || !add(length, more, &length) ||
	    !add(length, INDEX_HEADER, &length) || length != size)
		return fail(a, e, CDFZ_DAMAGED, at, "the index has %" PRIu64 " bytes, which do not fit its %" PRIu64 " rows", size, rows);
	if (rows != a->manifest.blocks)
		return fail(a, e, CDFZ_DAMAGED, at, "the index has %" PRIu64 " rows, the manifest %" PRIu64 " blocks", rows,
			a->manifest.blocks);
	a->index = offset;
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

/* Returns block 0 of the rest, whose stored bytes the manifest places (section 5.2). */
static stored_block head_block(const cdfz_archive *a)
{
	const stretch *s = &a->manifest.header;
	return (stored_block){a->head_stored, (size_t)s->len, s->mask, a->plan.rest_head, (size_t)a->plan.rest_first, {-1, -1, (int64_t)s->off}};
}

/* Provides block 0 of the rest. */
static cdfz_status load_head(cdfz_archive *a, piece *to, cdfz_error *e)
{
	uint64_t number = a->layout.rest_number;
	cdfz_status status = CDFZ_OK;
	to->item = cache_get(&a->cache, number);
	if (to->item == NULL) {
		stored_block b = head_block(a);
		to->item = item_make(number, b.decoded);
		status = to->item ? decode(a, &b, 0, b.decoded, item_data(to->item), e) : no_memory(a, e);
		if (status != CDFZ_OK) {
			piece_free(a, to);
			return status;
		}
		cache_put(&a->cache, to->item);
	}
	to->p = item_data(to->item);
	return status;
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

#endif
