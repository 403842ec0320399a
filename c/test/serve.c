/*
 * serve.c - decodes the blocks that a test writes to standard input, until it ends. All
 * numbers are little-endian.
 *
 * Request: uint32 number of parameters, the parameters as uint32, uint64 first element,
 * uint64 number of elements, uint32 length of the block, the block. Instead of a number of
 * elements, 2^64 - 1 is a whole block, and 2^64 - 2 only reads the parameters. Answer: byte
 * lorenz_status, uint64 length, the decoded bytes.
 *
 * Each buffer is allocated for one block and as short as allowed, so that sanitizers see
 * every access outside of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lorenz.h"
#include "little.h"

static int get(void *p, size_t n)
{
	return n == 0 || fread(p, 1, n, stdin) == n;
}

static void *allocate(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);
	if (p == NULL) {
		fprintf(stderr, "serve: out of memory: %zu bytes\n", n);
		exit(1);
	}
	return p;
}

int main(void)
{
	uint64_t count;
	while (get_little(&count, 4)) {
		uint32_t *list = allocate(count * sizeof *list);
		uint64_t v, range[2], length;
		for (uint64_t i = 0; i < count; i++) {
			if (!get_little(&v, 4))
				return 1;
			list[i] = (uint32_t)v;
		}
		if (!get_little(&range[0], 8) || !get_little(&range[1], 8) || !get_little(&length, 4))
			return 1;
		unsigned char *block = allocate(length);
		if (!get(block, length))
			return 1;
		lorenz_params p;
		lorenz_status status = lorenz_parse(&p, list, count);
		unsigned char *out = NULL;
		uint64_t size = 0;
		if (status == LORENZ_OK && range[1] != UINT64_MAX - 1) {
			size = range[1] == UINT64_MAX ? lorenz_size(&p) : range[1] * p.size;
			size_t need = lorenz_scratch_size(&p);
			void *scratch = allocate(need);
			out = allocate(size);
			/* Whatever memory holds must not matter. */
			memset(out, 0xa5, size);
			memset(scratch, 0xff, need < 1 << 20 ? need : 1 << 20);
			status = range[1] == UINT64_MAX ? lorenz_decode(&p, block, length, out, size, scratch, need) :
				lorenz_decode_range(&p, block, length, range[0], range[1], out, size, scratch, need);
			free(scratch);
		}
		if (status != LORENZ_OK)
			size = 0;
		unsigned char code = (unsigned char)status;
		fwrite(&code, 1, 1, stdout);
		put_little(size, 8);
		if (size > 0)
			fwrite(out, 1, size, stdout);
		fflush(stdout);
		free(out);
		free(block);
		free(list);
	}
	return 0;
}
