/*
 * lorenz_zips.h - vectors of 16 bytes, and how elements of two rows are put in turns, with which rows
 * become columns. Private to lorenz.c.
 */
#ifndef LORENZ_ZIPS_H
#define LORENZ_ZIPS_H

#include <stdint.h>
#include <string.h>

#include "lorenz_streams.h"

#if defined(__GNUC__)
#define LORENZ_ZIPS

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef int16_t words8 __attribute__((vector_size(16)));
typedef uint16_t shorts8 __attribute__((vector_size(16)));
typedef uint32_t lanes4 __attribute__((vector_size(16)));
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef uint64_t lanes2 __attribute__((vector_size(16)));

#ifdef __clang__
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

/* The elements of the lower or the upper halves of a and b in turns. */
#define LOWER8(a, b) SHUFFLE(bytes16, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER8(a, b) SHUFFLE(bytes16, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOWER16(a, b) SHUFFLE(shorts8, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER16(a, b) SHUFFLE(shorts8, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOWER32(a, b) SHUFFLE(lanes4, a, b, 0, 4, 1, 5)
#define UPPER32(a, b) SHUFFLE(lanes4, a, b, 2, 6, 3, 7)
#define LOWER64(a, b) SHUFFLE(lanes2, a, b, 0, 2)
#define UPPER64(a, b) SHUFFLE(lanes2, a, b, 1, 3)

/* Eight bytes, of which the others are 0. */
static ALWAYS_INLINE bytes16 load_bytes8(const uint8_t *p)
{
	lanes2 v = {0};
	memcpy(&v, p, 8);
	return (bytes16)v;
}

/* Swaps the rows and columns of eight vectors. */
static ALWAYS_INLINE void transpose_shorts8(shorts8 r[8])
{
	shorts8 a[8];
	lanes4 b[8];
	for (unsigned i = 0; i < 4; i++) {
		a[2 * i] = LOWER16(r[2 * i], r[2 * i + 1]);
		a[2 * i + 1] = UPPER16(r[2 * i], r[2 * i + 1]);
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 2; k++) {
			b[4 * i + 2 * k] = LOWER32((lanes4)a[4 * i + k], (lanes4)a[4 * i + 2 + k]);
			b[4 * i + 2 * k + 1] = UPPER32((lanes4)a[4 * i + k], (lanes4)a[4 * i + 2 + k]);
		}
	for (unsigned i = 0; i < 4; i++) {
		r[2 * i] = (shorts8)LOWER64((lanes2)b[i], (lanes2)b[4 + i]);
		r[2 * i + 1] = (shorts8)UPPER64((lanes2)b[i], (lanes2)b[4 + i]);
	}
}
#endif

#endif
