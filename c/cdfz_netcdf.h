/*
 * cdfz_netcdf.h - the header of a classic netCDF file (section 1.3). Private to cdfz.c.
 *
 * Counts of a header are bounded by the bytes that remain of it before memory is taken: an
 * element of each list takes several bytes.
 */
#ifndef CDFZ_NETCDF_H
#define CDFZ_NETCDF_H

#include "cdfz.h"
#include "cdfz_memory.h"

/* What a header says of a variable beyond cdfz_variable. */
typedef struct {
	uint64_t begin;
	uint64_t each; /* bytes of a record, without padding, or of all elements */
} placed;

typedef struct {
	int version;
	uint64_t numrecs, records, recsize;
	bool streaming;
	uint64_t dimension_count, attribute_count, variable_count;
	cdfz_dimension *dimensions;
	cdfz_attribute *attributes;
	cdfz_variable *variables;
	placed *placed;
} netcdf;

/* The bytes of a header that have not been read. */
typedef struct {
	const uint8_t *start, *p, *end;
	int version;
	arena *memory;
	const char *fault; /* NULL if nothing is wrong */
	bool no_memory;
} header;

static bool header_fail(header *h, const char *fault)
{
	if (h->fault == NULL)
		h->fault = fault;
	return false;
}

static uint64_t header_left(const header *h)
{
	return (uint64_t)(h->end - h->p);
}

/* Reads an integer of so many bytes. */
static bool header_integer(header *h, unsigned bytes, uint64_t *v)
{
	if (header_left(h) < bytes)
		return header_fail(h, "it ends early");
	*v = 0;
	for (unsigned i = 0; i < bytes; i++)
		*v = *v << 8 | *h->p++;
	return true;
}

/* Reads a length, a count or a number: 8 bytes in CDF-5, else 4. */
static bool header_number(header *h, uint64_t *v)
{
	return header_integer(h, h->version == 5 ? 8 : 4, v);
}

/* Reads size bytes and the padding after them. */
static bool header_bytes(header *h, uint64_t size, const uint8_t **p)
{
	uint64_t padded;
	if (!add(size, 3, &padded) || (padded & ~UINT64_C(3)) > header_left(h))
		return header_fail(h, "it ends early");
	*p = h->p;
	h->p += padded & ~UINT64_C(3);
	return true;
}

static void *header_memory(header *h, uint64_t count, size_t size)
{
	void *p = arena_get(h->memory, count, size);
	if (p == NULL)
		h->no_memory = !header_fail(h, "out of memory");
	return p;
}

static bool header_name(header *h, cdfz_name *name)
{
	uint64_t size;
	const uint8_t *p;
	if (!header_number(h, &size) || !header_bytes(h, size, &p))
		return false;
	name->bytes = "";
	name->size = (size_t)size;
	if (size == 0)
		return true;
	char *bytes = header_memory(h, size + 1, 1); /* with a NUL after it */
	if (bytes == NULL)
		return false;
	memcpy(bytes, p, (size_t)size);
	name->bytes = bytes;
	return true;
}

/* Reads the tag and the count of a list whose elements have at least so many bytes. */
static bool header_list(header *h, uint64_t tag, uint64_t bytes, uint64_t *count)
{
	uint64_t found;
	if (!header_integer(h, 4, &found) || !header_number(h, count))
		return false;
	if (found != tag && (found != 0 || *count != 0))
		return header_fail(h, "a list has a wrong tag");
	if (*count > header_left(h) / bytes)
		return header_fail(h, "a list has more elements than the header has bytes");
	return true;
}

static bool header_type(header *h, cdfz_type *type)
{
	uint64_t v;
	if (!header_integer(h, 4, &v))
		return false;
	if (v < 1 || v > 11)
		return header_fail(h, "an unknown type");
	*type = (cdfz_type)v;
	return true;
}

static bool header_attributes(header *h, uint64_t *count, cdfz_attribute **list)
{
	unsigned word = h->version == 5 ? 8 : 4;
	if (!header_list(h, 12, 2 * word + 4, count))
		return false;
	cdfz_attribute *a = *list = header_memory(h, *count, sizeof *a);
	if (a == NULL)
		return false;
	for (uint64_t i = 0; i < *count; i++, a++) {
		uint64_t bytes;
		const uint8_t *p;
		if (!header_name(h, &a->name) || !header_type(h, &a->type) || !header_number(h, &a->count))
			return false;
		if (!multiply(a->count, cdfz_type_size(a->type), &bytes))
			return header_fail(h, "an attribute is too long");
		if (!header_bytes(h, bytes, &p))
			return false;
		a->values = p;
	}
	return true;
}

static bool header_dimensions(header *h, netcdf *n)
{
	uint64_t most = h->version == 1 ? INT32_MAX : h->version == 2 ? UINT32_MAX : MOST;
	if (!header_list(h, 10, h->version == 5 ? 16 : 8, &n->dimension_count))
		return false;
	cdfz_dimension *d = n->dimensions = header_memory(h, n->dimension_count, sizeof *d);
	if (d == NULL)
		return false;
	for (uint64_t i = 0; i < n->dimension_count; i++, d++) {
		if (!header_name(h, &d->name) || !header_number(h, &d->length))
			return false;
		if (d->length > most)
			return header_fail(h, "a dimension is too long");
		d->is_record = d->length == 0;
	}
	return true;
}

/* Reads a variable. The lengths of record dimensions are not known yet. */
static bool header_variable(header *h, const netcdf *n, cdfz_variable *v, placed *at)
{
	unsigned word = h->version == 5 ? 8 : 4;
	uint64_t rank, vsize;
	if (!header_name(h, &v->name) || !header_number(h, &rank))
		return false;
	if (rank > header_left(h) / word)
		return header_fail(h, "a variable has more dimensions than the header has bytes");
	v->rank = (uint32_t)rank;
	uint32_t *dimensions = header_memory(h, rank, sizeof *dimensions);
	uint64_t *shape = header_memory(h, rank, sizeof *shape);
	if (dimensions == NULL || shape == NULL)
		return false;
	v->dimensions = dimensions;
	v->shape = shape;
	for (uint64_t i = 0; i < rank; i++) {
		uint64_t d;
		if (!header_number(h, &d))
			return false;
		if (d >= n->dimension_count)
			return header_fail(h, "a variable has a dimension that does not exist");
		dimensions[i] = (uint32_t)d;
		shape[i] = n->dimensions[d].length;
		if (shape[i] == 0 && i > 0)
			return header_fail(h, "a record dimension is not the first one of a variable");
	}
	v->is_record = rank > 0 && shape[0] == 0;
	cdfz_attribute *attributes;
	if (!header_attributes(h, &v->attribute_count, &attributes))
		return false;
	v->attributes = attributes;
	if (!header_type(h, &v->type) || !header_number(h, &vsize) || !header_integer(h, h->version == 1 ? 4 : 8, &at->begin))
		return false;
	if (at->begin > (h->version == 1 ? INT32_MAX : MOST))
		return header_fail(h, "a variable begins beyond all files");
	at->each = cdfz_type_size(v->type);
	for (uint64_t i = v->is_record; i < rank; i++)
		if (!multiply(at->each, shape[i], &at->each))
			return header_fail(h, "a variable is too long");
	return true;
}

/* Computes recsize, the number of records and all lengths for a file of image_size bytes. */
static bool header_records(header *h, netcdf *n, uint64_t image_size)
{
	uint64_t record_variables = 0, end;
	n->recsize = 0;
	for (uint64_t i = 0; i < n->variable_count; i++)
		record_variables += n->variables[i].is_record != 0;
	for (uint64_t i = 0; i < n->variable_count; i++) {
		uint64_t each = n->placed[i].each;
		if (!n->variables[i].is_record)
			continue;
		if (record_variables > 1 && (!add(each, 3, &each) || !add(n->recsize, each & ~UINT64_C(3), &n->recsize)))
			return header_fail(h, "a record is too long");
		if (record_variables == 1)
			n->recsize = each;
	}
	n->records = n->numrecs;
	if (n->streaming)
		n->records = n->recsize == 0 ? 0 : UINT64_MAX;
	for (uint64_t i = 0; i < n->variable_count && n->streaming; i++) {
		const placed *at = &n->placed[i];
		if (!n->variables[i].is_record)
			continue;
		uint64_t fit = 0;
		if (at->begin <= image_size && at->each <= image_size - at->begin)
			fit = (image_size - at->begin - at->each) / n->recsize + 1;
		n->records = least(n->records, fit);
	}
	uint64_t all;
	if (!multiply(n->records, n->recsize, &all))
		return header_fail(h, "the records are too long");
	for (uint64_t i = 0; i < n->dimension_count; i++)
		if (n->dimensions[i].is_record)
			n->dimensions[i].length = n->records;
	for (uint64_t i = 0; i < n->variable_count; i++) {
		cdfz_variable *v = &n->variables[i];
		const placed *at = &n->placed[i];
		v->bytes = at->each;
		end = at->each;
		if (v->is_record) {
			uint64_t *shape;
			memcpy(&shape, &v->shape, sizeof shape); /* the library's own, and not const */
			shape[0] = n->records;
			if (!multiply(n->records, at->each, &v->bytes))
				return header_fail(h, "a variable is too long");
			end = 0;
			if (n->records > 0 && (!multiply(n->records - 1, n->recsize, &end) || !add(end, at->each, &end)))
				return header_fail(h, "a variable is too long");
		}
		if (!add(at->begin, end, &end))
			return header_fail(h, "a variable ends beyond all files");
	}
	return true;
}

/* Reads the header of a file of image_size bytes, which takes exactly size bytes. It refers to
 * these bytes. */
static bool netcdf_read(netcdf *n, header *h, const uint8_t *bytes, uint64_t size, uint64_t image_size)
{
	memset(n, 0, sizeof *n);
	h->start = h->p = bytes;
	h->end = bytes + size;
	h->fault = NULL;
	h->no_memory = false;
	if (size < 4 || memcmp(bytes, "CDF", 3) != 0 || (bytes[3] != 1 && bytes[3] != 2 && bytes[3] != 5))
		return header_fail(h, "expected CDF and version 1, 2 or 5");
	h->version = n->version = bytes[3];
	h->p += 4;
	if (!header_number(h, &n->numrecs))
		return false;
	n->streaming = n->numrecs == (h->version == 5 ? UINT64_MAX : UINT32_MAX);
	if (!n->streaming && n->numrecs > MOST)
		return header_fail(h, "too many records");
	if (!header_dimensions(h, n) || !header_attributes(h, &n->attribute_count, &n->attributes))
		return false;
	if (!header_list(h, 11, h->version == 1 ? 28 : h->version == 2 ? 32 : 48, &n->variable_count))
		return false;
	n->variables = header_memory(h, n->variable_count, sizeof *n->variables);
	n->placed = header_memory(h, n->variable_count, sizeof *n->placed);
	if (n->variables == NULL || n->placed == NULL)
		return false;
	for (uint64_t i = 0; i < n->variable_count; i++)
		if (!header_variable(h, n, &n->variables[i], &n->placed[i]))
			return false;
	if (h->p != h->end)
		return header_fail(h, "it is shorter than the plan says");
	return header_records(h, n, image_size);
}

#endif
