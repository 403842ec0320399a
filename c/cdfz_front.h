/*
 * cdfz_front.h - what is read when an archive is opened: the end (section 4), the manifest
 * (section 5), the plan (section 7) and the netCDF header. Private to cdfz.c.
 */
#ifndef CDFZ_FRONT_H
#define CDFZ_FRONT_H

#include "cdfz_blocks.h"

enum {
	END_LINE = 109,
	END = 131, /* end record and end line */
	HEAD = 45  /* the first local header, with its name */
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
	step s = {.in = stored, .in_size = size, .most = (size_t)least(most, SIZE_MAX)};
	*to = NULL;
	if (!inflate_all(&s, -15)) {
		free(s.out);
		return fail(a, e, s.status, at, "%s: %s", name, s.fault);
	}
	/* The text of a manifest is kept: it takes no more memory than it has bytes. */
	uint8_t *exact = realloc(s.out, s.out_size ? s.out_size : 1);
	*to = exact ? exact : s.out;
	*to_size = s.out_size;
	return CDFZ_OK;
}

static cdfz_status read_manifest(cdfz_archive *a, const end_line *end, cdfz_error *e)
{
	size_t size = (size_t)end->manifest_len, text_size = 0;
	uint8_t *stored = malloc(size ? size : 1), *text = NULL;
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
	if (!plan_read(&j, p, m->header.len)) {
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

/* ---- The netCDF header ---- */

/* Decodes block 0 of the rest, or only the netCDF header at its start if that is possible, and reads the header
 * (section 7.3). The values after it take longer to decode than the header, and are decoded when they are read. */
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
	cdfz_status status = read_stretch(a, &m->header, m->header_copy, "netCDF header", &a->head_stored, e);
	if (status == CDFZ_OK) {
		stored_block b = head_block(a);
		size_t element;
		a->head_size = has_ranges(a, &b, &element) && element == 1 ? (size_t)p->image_header : b.decoded;
		a->head = malloc(a->head_size ? a->head_size : 1);
		status = a->head ? decode(a, &b, 0, a->head_size, a->head, e) : no_memory(a, e);
	}
	if (a->head_size == p->rest_first) {
		free(a->head_stored);
		a->head_stored = NULL;
	}
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

#endif
