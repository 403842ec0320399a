/*
 * fuzz_archive.c - a target for libFuzzer: opens archives, restores them, and reads a part of
 * each variable
 *
 * An input is a vector of testdata/vectors, with its header, or an archive alone. Checksums are
 * made right first, so that the fuzzer gets behind them: those of the end line, the manifest's
 * entry, the header and the pages of the index.
 */
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

static int drop(void *context, const void *p, size_t n)
{
	(void)p;
	*(size_t *)context += n;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 2 <= size && i < 4096 && memcmp(data, "expect", size < 6 ? size : 6) == 0; i++)
		if (data[i] == '\n' && data[i + 1] == '\n') {
			data += i + 2;
			size -= i + 2;
			break;
		}
	memory m = {malloc(size + !size), size};
	if (m.bytes == NULL)
		abort();
	memcpy(m.bytes, data, size);
	mend(m.bytes, size);
	cdfz_options options = {(size_t)1 << 16, MOST_BLOCK};
	cdfz_source source = {read_memory, NULL, &m, size, NULL};
	cdfz_archive *a;
	cdfz_error e;
	if (cdfz_open(&a, &source, &options, &e) == CDFZ_OK) {
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
	free(m.bytes);
	return 0;
}
