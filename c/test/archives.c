/*
 * archives.c - reads the archives that a test writes to standard input, until it ends. All
 * numbers are little-endian. A request is a letter and what follows it:
 *
 *	o  open     uint64 cache, uint64 size, that many bytes
 *	m  member   the same for a volume, then uint32 length and the path of a member, which is opened
 *	r  restore  nothing
 *	p  part     uint64 offset, uint64 size: bytes of the image
 *	v  values   int64 variable, uint64 size of the answer, byte order, uint32 rank, then
 *	            rank numbers each of start, count and stride, as uint64
 *	d  describe nothing; the answer is a line for each dimension, variable and attribute
 *	n  number   nothing; the answer is how many bytes were read of the archive, as uint64
 *
 * Answer: byte cdfz_status, uint32 length and the text of the error, uint64 length and the
 * bytes that were read.
 *
 * Each buffer is as short as allowed, so that sanitizers see every access outside of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cdfz.h"
#include "little.h"

static uint8_t *bytes; /* of the archive */
static uint64_t length, taken; /* taken: bytes that were read */

static ptrdiff_t read_bytes(void *context, void *buffer, size_t size, uint64_t offset)
{
	(void)context;
	if (offset >= length)
		abort();
	size_t n = size < length - offset ? size : (size_t)(length - offset);
	if (n > 1000)
		n -= n / 3; /* a source may read less than it is asked for */
	memcpy(buffer, bytes + offset, n);
	taken += n;
	return (ptrdiff_t)n;
}

static void *allocate(uint64_t n)
{
	void *p = malloc(n > 0 ? (size_t)n : 1);
	if (p == NULL) {
		fprintf(stderr, "archives: out of memory: %" PRIu64 " bytes\n", n);
		exit(1);
	}
	return p;
}

static void get(void *p, uint64_t n)
{
	if (n > 0 && fread(p, 1, (size_t)n, stdin) != n)
		exit(1);
}

static uint64_t number(void)
{
	uint64_t v;
	if (!get_little(&v, 8))
		exit(1);
	return v;
}

/* An answer that grows. */
static uint8_t *out;
static uint64_t out_size, out_room;

static int put(void *context, const void *p, size_t n)
{
	(void)context;
	if (n > out_room - out_size) {
		out_room = 2 * out_room + n;
		out = realloc(out, (size_t)out_room);
		if (out == NULL)
			exit(1);
	}
	if (n > 0)
		memcpy(out + out_size, p, n);
	out_size += n;
	return 0;
}

static void put_name(const cdfz_name *name)
{
	char line[8];
	for (size_t i = 0; i < name->size; i++)
		put(NULL, line, (size_t)snprintf(line, sizeof line, "%02x", (uint8_t)name->bytes[i]));
}

static void put_attributes(const cdfz_attribute *list, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const cdfz_attribute *a = &list[i];
		size_t size = (size_t)a->count * cdfz_type_size(a->type);
		put(NULL, " a ", 3);
		put_name(&a->name);
		put(NULL, ":", 1);
		put(NULL, cdfz_type_name(a->type), strlen(cdfz_type_name(a->type)));
		put(NULL, "=", 1);
		cdfz_name values = {a->values, size};
		put_name(&values);
		void *native = allocate(size);
		cdfz_attribute_values(a, native);
		free(native);
	}
	put(NULL, "\n", 1);
}

static void describe(const cdfz_archive *a)
{
	const cdfz_info *i = cdfz_get_info(a);
	char line[64];
	put(NULL, line, (size_t)snprintf(line, sizeof line, "CDF-%d %" PRIu64, i->version, i->records));
	put_attributes(i->attributes, i->attribute_count);
	for (uint64_t d = 0; d < i->dimension_count; d++) {
		put(NULL, "d ", 2);
		put_name(&i->dimensions[d].name);
		put(NULL, line, (size_t)snprintf(line, sizeof line, " %" PRIu64 " %d\n", i->dimensions[d].length, i->dimensions[d].is_record != 0));
	}
	for (uint64_t n = 0; n < i->variable_count; n++) {
		const cdfz_variable *v = &i->variables[n];
		put(NULL, "v ", 2);
		put_name(&v->name);
		put(NULL, line, (size_t)snprintf(line, sizeof line, " %s %d", cdfz_type_name(v->type), v->is_record != 0));
		for (uint32_t k = 0; k < v->rank; k++)
			put(NULL, line, (size_t)snprintf(line, sizeof line, " %" PRIu32 ":%" PRIu64, v->dimensions[k], v->shape[k]));
		uint64_t *shape = allocate(v->rank * sizeof *shape);
		put(NULL, " b", 2);
		if (cdfz_block_shape(a, (int64_t)n, shape))
			for (uint32_t k = 0; k < v->rank; k++)
				put(NULL, line, (size_t)snprintf(line, sizeof line, " %" PRIu64, shape[k]));
		free(shape);
		put_attributes(v->attributes, v->attribute_count);
	}
}

int main(void)
{
	cdfz_archive *a = NULL;
	cdfz_error e;
	for (int request; (request = getchar()) != EOF;) {
		cdfz_status status = CDFZ_OK;
		e.text[0] = 0;
		out_size = 0;
		switch (request) {
		case 'o':
		case 'm': {
			cdfz_options options = {(size_t)number(), 0};
			cdfz_close(a);
			free(bytes);
			length = number();
			taken = 0;
			bytes = allocate(length);
			get(bytes, length);
			cdfz_source source = {read_bytes, NULL, NULL, length, NULL};
			if (request == 'o') {
				status = cdfz_open(&a, &source, &options, &e);
				break;
			}
			uint64_t size;
			if (!get_little(&size, 4))
				return 1;
			char *path = allocate(size + 1);
			get(path, size);
			path[size] = 0;
			status = cdfz_open_member(&a, &source, path, &options, &e);
			free(path);
			break;
		}
		case 'r':
			status = cdfz_restore(a, put, NULL, &e);
			break;
		case 'p': {
			uint64_t offset = number(), size = number();
			uint8_t *part = allocate(size);
			status = cdfz_read_image(a, offset, part, (size_t)size, &e);
			put(NULL, part, (size_t)size);
			free(part);
			break;
		}
		case 'v': {
			int64_t variable = (int64_t)number();
			uint64_t size = number();
			int order = getchar();
			uint64_t rank;
			if (!get_little(&rank, 4))
				return 1;
			uint64_t *lists[3];
			for (int i = 0; i < 3; i++) {
				lists[i] = allocate(rank * sizeof **lists);
				for (uint64_t k = 0; k < rank; k++)
					lists[i][k] = number();
			}
			uint8_t *values = allocate(size);
			status = cdfz_read(a, variable, lists[0], lists[1], lists[2], (cdfz_order)order, values, (size_t)size, &e);
			put(NULL, values, (size_t)size);
			free(values);
			for (int i = 0; i < 3; i++)
				free(lists[i]);
			break;
		}
		case 'd':
			describe(a);
			break;
		case 'n': {
			uint8_t answer[8];
			store_little(answer, taken, sizeof answer);
			put(NULL, answer, sizeof answer);
			break;
		}
		default:
			return 1;
		}
		if (status != CDFZ_OK) {
			out_size = 0;
			if (e.status != status || strlen(e.text) == 0)
				abort();
		}
		uint8_t code = (uint8_t)status;
		size_t text = strlen(e.text);
		fwrite(&code, 1, 1, stdout);
		put_little(text, 4);
		fwrite(e.text, 1, text, stdout);
		put_little(out_size, 8);
		if (out_size > 0)
			fwrite(out, 1, (size_t)out_size, stdout);
		fflush(stdout);
	}
	cdfz_close(a);
	free(bytes);
	free(out);
	return 0;
}
