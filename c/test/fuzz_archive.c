/*
 * fuzz_archive.c - a target for libFuzzer: opens archives, restores them, and reads a part of
 * each variable; opens members of volumes
 *
 * An input is a vector of testdata/vectors, with its header, an archive alone, or a volume. Checksums are
 * made right first, so that the fuzzer gets behind them: those of the end line, the manifest's
 * entry, the header and the pages of the index; in volumes those of the trailer, the top level and the blocks.
 * An input that begins with "members " is the contents of a block of a volume.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../cdfz.h"

enum { MOST_IMAGE = 1 << 20, MOST_BLOCK = 1 << 20 };

typedef struct {
	uint8_t *bytes;
	size_t size;
} memory;

static ptrdiff_t read_memory(void *context, void *buffer, size_t size, uint64_t offset)
{
	const memory *m = context;
	size_t n = size < m->size - offset ? size : (size_t)(m->size - offset);
	memcpy(buffer, m->bytes + offset, n);
	return (ptrdiff_t)n;
}

static uint64_t digits(const uint8_t *p, unsigned count)
{
	char text[17] = "";
	memcpy(text, p, count);
	return strtoull(text, NULL, 16);
}

static void put_digits(uint8_t *p, uint32_t v)
{
	char text[9];
	snprintf(text, sizeof text, "%08x", v);
	memcpy(p, text, 8);
}

static void put_little(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void mend(uint8_t *p, size_t size)
{
	if (size < 131)
		return;
	uint8_t *line = p + size - 109;
	uint64_t manifest = digits(line + 16, 16), length = digits(line + 33, 8), index = digits(line + 57, 16);
	uint64_t index_length = digits(line + 74, 16);
	if (manifest < size && length < size && manifest + 49 + length <= size)
		put_digits(line + 42, (uint32_t)crc32(0, p + manifest + 49, (uInt)length));
	if (index < size && index_length < size && index + 41 + index_length <= size && index_length >= 32) {
		uint8_t *at = p + index + 41, *end = at + index_length;
		put_little(at + 28, (uint32_t)crc32(0, at, 28));
		for (at += 32; end - at >= 8; at += end - at < 5128 ? end - at : 5128)
			put_little(at, (uint32_t)crc32(0, at + 4, (uInt)((end - at < 5128 ? end - at : 5128) - 4)));
	}
	put_digits(line + 100, (uint32_t)crc32(0, line, 100));
}

/* Reads a varint of the top level of a volume. */
static uint64_t varint(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 63 && *p < end; i += 7) {
		v |= (uint64_t)(**p & 127) << i;
		if (*(*p)++ < 128)
			break;
	}
	return v;
}

/* Returns false for what is no volume. */
static bool mend_volume(uint8_t *p, size_t size)
{
	while (size > 0 && p[size - 1] == 0)
		size--;
	if (size < 512)
		return false;
	uint8_t *line = p + (size - 1) / 512 * 512;
	if (p + size - line < 142 || memcmp(line, "cdfz volume 1 ", 14) != 0)
		return false;
	uint64_t block = digits(line + 20, 16), top = digits(line + 41, 16), length = digits(line + 58, 16);
	if (top > size || length > size - top || block > top)
		return true;
	for (const uint8_t *at = p + top, *end = at + length; at < end;) {
		uint64_t stored = varint(&at, end);
		(void)varint(&at, end);
		(void)varint(&at, end);
		if (end - at < 4 || stored > top - block)
			break;
		put_little((uint8_t *)(uintptr_t)at, (uint32_t)crc32(0, p + block, (uInt)stored));
		at += 4;
		block += stored;
		(void)varint(&at, end);
		uint64_t rest = varint(&at, end);
		if (rest > (uint64_t)(end - at))
			break;
		at += rest;
	}
	put_digits(line + 75, (uint32_t)crc32(0, p + top, (uInt)length));
	put_digits(line + 133, (uint32_t)crc32(0, line, 133));
	return true;
}

/* Makes a volume with one block of these contents, whose first byte is the number of members. *bytes is to be freed. */
static memory volume_of(const uint8_t *data, size_t size)
{
	enum { BLOCK = 4096 };
	uLong most = compressBound((uLong)size) + 64;
	memory m = {calloc(1, BLOCK + most + 9000 + 2048), 0};
	if (m.bytes == NULL || size < 4)
		return m;
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data + 1, .avail_in = (uInt)size - 1, .next_out = m.bytes + BLOCK, .avail_out = (uInt)most};
	if (deflateInit2(&z, 0, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK || deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	size_t stored = z.total_out, at = BLOCK + stored, top = at, first = data[2] < size - 3 ? data[2] : size - 3;
	deflateEnd(&z);
	uint64_t head[] = {stored, size - 1, data[0]};
	for (int i = 0; i < 3; i++) {
		for (; head[i] > 127; head[i] >>= 7)
			m.bytes[at++] = (uint8_t)(head[i] | 128);
		m.bytes[at++] = (uint8_t)head[i];
	}
	at += 5; /* of the checksum, and no bytes of the path before */
	m.bytes[at++] = (uint8_t)(first & 127);
	memcpy(m.bytes + at, data + 3, first & 127);
	at += first & 127;
	size_t trailer = (at + 511) / 512 * 512;
	snprintf((char *)m.bytes + trailer, 512, "cdfz volume 1 index %016x top %016zx %016zx %08x members %016x packed %016x %08x\n", BLOCK, top,
		at - top, 0, data[0], 0, 0);
	m.size = trailer + 512 + 1024;
	return m;
}

static int drop(void *context, const void *p, size_t n)
{
	(void)p;
	*(size_t *)context += n;
	return 0;
}

/* Reads what is in an archive, and closes it. */
static void use(cdfz_archive *a)
{
	cdfz_error e;
	const cdfz_info *info = cdfz_get_info(a);
	size_t restored = 0;
	if (info->image_size <= MOST_IMAGE && cdfz_restore(a, drop, &restored, &e) == CDFZ_OK && restored != info->image_size)
		abort();
	for (uint64_t i = 0; i < info->variable_count && i < 50; i++) {
		const cdfz_variable *v = &info->variables[i];
		uint64_t count[8], stride[8];
		size_t bytes = cdfz_type_size(v->type);
		if (v->rank > 8)
			continue;
		for (uint32_t k = 0; k < v->rank; k++) {
			stride[k] = 1 + k % 3;
			count[k] = v->shape[k] == 0 ? 0 : (v->shape[k] - 1) / stride[k] + 1;
			count[k] = count[k] < 5 ? count[k] : 5;
			bytes *= (size_t)count[k];
		}
		void *out = malloc(bytes + !bytes);
		if (out == NULL)
			abort();
		if (cdfz_read(a, (int64_t)i, NULL, count, stride, CDFZ_NATIVE, out, bytes, &e) == CDFZ_ARGUMENT) {
			fprintf(stderr, "fuzz: %s\n", e.text);
			abort();
		}
		free(out);
	}
	cdfz_close(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const members[] = {"a/b", "a/hard", "a/soft", "up/b", "a"};
	for (size_t i = 0; i + 2 <= size && i < 4096 && memcmp(data, "expect", size < 6 ? size : 6) == 0; i++)
		if (data[i] == '\n' && data[i + 1] == '\n') {
			data += i + 2;
			size -= i + 2;
			break;
		}
	memory m;
	if (size > 8 && memcmp(data, "members ", 8) == 0)
		m = volume_of(data + 8, size - 8);
	else {
		m = (memory){malloc(size + !size), size};
		if (m.bytes != NULL)
			memcpy(m.bytes, data, size);
	}
	if (m.bytes == NULL)
		abort();
	if (!mend_volume(m.bytes, m.size))
		mend(m.bytes, m.size);
	cdfz_options options = {(size_t)1 << 16, MOST_BLOCK};
	cdfz_source source = {read_memory, NULL, &m, m.size, NULL};
	cdfz_archive *a;
	cdfz_error e;
	if (cdfz_open(&a, &source, &options, &e) == CDFZ_OK)
		use(a);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (cdfz_open_member(&a, &source, members[i], &options, &e) == CDFZ_OK)
			use(a);
	free(m.bytes);
	return 0;
}
