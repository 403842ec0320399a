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
	cdfz_source source; /* name is the archive's own, or NULL */
	cdfz_info info;
	cache cache;
	size_t max_block;
	arena memory;       /* of what follows and never changes */
	uint64_t index;     /* offset of the stored bytes */
	uint8_t *all;       /* all bytes of a small archive while it is opened, or NULL */
	manifest manifest;
	char *manifest_text;
	plan plan;
	netcdf netcdf;
	layout layout;
	uint8_t *head;      /* the first bytes of block 0 of the rest, which are the netCDF header, or all of them */
	size_t head_size;
	uint8_t *head_stored; /* the stored bytes of this block, unless head is all of it */
	char sha256[65];
};

/* ---- Errors ---- */

/* Where a fault is; -1 is nowhere. */
typedef struct {
	int64_t variable, block, offset;
} where;

static const where nowhere = {-1, -1, -1};

/* Copies the end of a path, with a question mark for each control character. */
static void end_of_path(char *to, size_t room, const char *path)
{
	size_t size = strlen(path), n = 0;
	if (size >= room) {
		path += size - (room - 4);
		for (; n < 3; n++)
			to[n] = '.';
	}
	for (; *path != 0; path++, n++)
		to[n] = (unsigned char)*path < 32 || *path == 127 ? '?' : *path;
	to[n] = 0;
}

/* Fills in an error: the text is the name of the source, that of the status, the place, and what the
 * format makes. */
static cdfz_status fail(const cdfz_archive *a, cdfz_error *e, cdfz_status status, where at, const char *format, ...)
{
	char place[144] = "", name[64] = "", what[200], source[200] = "";
	va_list args;
	if (e == NULL)
		return status;
	if (a != NULL && a->source.name != NULL)
		end_of_path(source, sizeof source, a->source.name);
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
	snprintf(e->text, sizeof e->text, "%s%s%.40s: %.100s%.140s", source, source[0] ? ": " : "", cdfz_strerror(status), place, what);
	return status;
}

static cdfz_status no_memory(const cdfz_archive *a, cdfz_error *e)
{
	return fail(a, e, CDFZ_MEMORY, nowhere, "an allocation failed");
}

/* Returns the text of an errno. */
static const char *error_text(int number, char *room, size_t size)
{
	if (number == 0)
		return "failed";
	if (strerror_r(number, room, size) != 0)
		snprintf(room, size, "errno is %d", number);
	return room;
}

/* ---- The source ---- */

/* Reads all size bytes at offset, which lie in the archive. */
static cdfz_status read_at(const cdfz_archive *a, uint64_t offset, void *to, size_t size, cdfz_error *e)
{
	uint8_t *p = to;
	if (a->all != NULL) {
		memcpy(to, a->all + offset, size);
		return CDFZ_OK;
	}
	while (size > 0) {
		errno = 0;
		ptrdiff_t n = a->source.read(a->source.context, p, size, offset);
		where at = {-1, -1, (int64_t)offset};
		if (n < 0) {
			char why[80];
			return fail(a, e, CDFZ_SOURCE, at, "reading %zu bytes: %s", size, error_text(errno, why, sizeof why));
		}
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
