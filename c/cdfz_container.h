/*
 * cdfz_container.h - the end of an archive, its manifest and its plan as they are stored, and its
 * index (sections 3 to 7). Private to cdfz.c.
 */
#ifndef CDFZ_CONTAINER_H
#define CDFZ_CONTAINER_H

#include "cdfz_archive.h"

enum {
	END_LINE = 109,
	END = 131,          /* end record and end line (section 4) */
	HEAD = 45,          /* the first local header, with its name */
	INDEX_HEADER = 32,  /* (section 6) */
	PAGE_HEADER = 8,
	ROW = 20,
	PAGE_ROWS = 256,
	PAGE = PAGE_HEADER + PAGE_ROWS * ROW
};

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

#endif
