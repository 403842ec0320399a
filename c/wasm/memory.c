/*
 * memory.c - memcpy and memset for WebAssembly without a C library. Compile it with
 * -fno-builtin: otherwise the loops become calls of these functions.
 */
#include "string.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t count)
{
	unsigned char *to = dst;
	const unsigned char *from = src;
	while (count-- > 0)
		*to++ = *from++;
	return dst;
}

void *memset(void *dst, int byte, size_t count)
{
	unsigned char *to = dst;
	while (count-- > 0)
		*to++ = (unsigned char)byte;
	return dst;
}
