/*
 * cdfz_archive.h - an open archive, its errors, and reading its bytes. Private to cdfz.c.
 */
#ifndef CDFZ_ARCHIVE_H
#define CDFZ_ARCHIVE_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cdfz_layout.h"

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

#endif
