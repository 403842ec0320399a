/* What lorenz.c needs of string.h, for compilers without a C library. */
#ifndef LORENZ_WASM_STRING_H
#define LORENZ_WASM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t count);
void *memset(void *dst, int byte, size_t count);

#endif
