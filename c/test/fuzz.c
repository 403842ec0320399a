/*
 * fuzz.c - a target for libFuzzer: decodes the files of lorenz/testdata/vectors and blocks, and
 * whatever the fuzzer makes of them
 *
 * An input begins with lines, of which "parameters: " has the parameters in decimal, and an
 * empty line. The block follows. If it decodes, all ranges must be those of the whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lorenz.h"

enum { MOST = 1 << 18 }; /* bytes of a decoded block, so that an input takes little time */

static size_t parameters(const uint8_t *data, size_t size, uint32_t *list, size_t most)
{
	static const char name[] = "parameters: ";
	size_t count = 0, at = sizeof name - 1;
	if (size < at || memcmp(data, name, at) != 0)
		return 0;
	while (count < most && at < size && data[at] >= '0' && data[at] <= '9') {
		uint32_t v = 0;
		while (at < size && data[at] >= '0' && data[at] <= '9')
			v = v * 10 + (data[at++] - '0');
		list[count++] = v;
		at += at < size && data[at] == ' ';
	}
	return count;
}

static void decode_range(const lorenz_params *p, const uint8_t *block, size_t length, uint64_t first, uint64_t count,
	const uint8_t *whole)
{
	size_t size = (size_t)count * p->size, need = lorenz_scratch_size(p);
	uint8_t *out = malloc(size + 1), *scratch = malloc(need);
	if (out == NULL || scratch == NULL)
		abort();
	if (lorenz_decode_range(p, block, length, first, count, out, size, scratch, need) != LORENZ_OK ||
	    memcmp(out, whole + first * p->size, size) != 0) {
		fprintf(stderr, "fuzz: the %llu elements from %llu on are others\n", (unsigned long long)count, (unsigned long long)first);
		abort();
	}
	free(out);
	free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t list[16];
	size_t count = parameters(data, size, list, 16), at = 0;
	while (at + 2 <= size && (data[at] != '\n' || data[at + 1] != '\n'))
		at++;
	lorenz_params p;
	if (at + 2 > size || lorenz_parse(&p, list, count) != LORENZ_OK || lorenz_size(&p) > MOST)
		return 0;
	const uint8_t *given = data + at + 2;
	size_t length = size - at - 2, need = lorenz_scratch_size(&p);
	uint8_t *block = malloc(length + !length), *out = malloc(lorenz_size(&p) + 1), *scratch = malloc(need);
	if (block == NULL || out == NULL || scratch == NULL)
		abort();
	memcpy(block, given, length);
	if (lorenz_decode(&p, block, length, out, lorenz_size(&p), scratch, need) == LORENZ_OK) {
		uint64_t n = p.elements;
		decode_range(&p, block, length, n / 2, n > 0, out);
		decode_range(&p, block, length, n / 3, n - n / 3, out);
		decode_range(&p, block, length, n / 5, n / 7, out);
	}
	free(block);
	free(out);
	free(scratch);
	return 0;
}
