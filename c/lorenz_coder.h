/*
 * lorenz_coder.h - adaptive coding (section 9): the range coder, adaptive probabilities,
 * trees and mixing. Private to the library. Any mode may use it.
 */
#ifndef LORENZ_CODER_H
#define LORENZ_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A shift of a negative number rounds down, as the text wants it. C leaves this to the
 * compiler. */
_Static_assert(-3 >> 1 == -2, "the compiler must shift negative numbers arithmetically");

/* Before a loop with few, constant steps. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif

/* An adaptive probability of a 1: v in the upper 22 bits, and the count c in the lowest 7. */
typedef uint32_t probability;

/* The weights are wider than any stream can make them. */
typedef int64_t weight;

/* A mixture of probabilities: p in the upper 16 bits, and below them the probability for the coder. */
typedef uint32_t mixture;

/* The tables that mixing needs. They depend on nothing. */
typedef struct {
	int16_t stretch[4096];
	uint32_t rate[128];
	mixture squash[4097]; /* of -2048 to 2048, which stand for all numbers beyond them */
} coder_tables;

typedef struct {
	const uint8_t *p, *end; /* bytes not yet read */
	uint32_t low, high, x;
	uint32_t zeros; /* read after the last byte */
	const coder_tables *tables;
} coder;

static inline void probabilities_reset(probability *p, size_t count)
{
	/* Copies of a part are made faster than single values. */
	size_t n = count < 512 ? count : 512;
	for (size_t i = 0; i < n; i++)
		p[i] = UINT32_C(1) << 31;
	for (size_t at = n; at < count; at += n)
		memcpy(p + at, p, (count - at < n ? count - at : n) * sizeof *p);
}

/* Returns the nearest probability that the coder may have. */
static inline uint32_t coder_bound(uint32_t p)
{
	return p < 32 ? 32 : p > 65504 ? 65504 : p;
}

static inline void coder_tables_init(coder_tables *t)
{
	static const uint16_t squash[33] = {
		1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348,
		3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094
	};
	for (uint32_t i = 0; i < 32; i++)
		for (uint32_t f = 0; f < 128; f++) {
			uint32_t p = (squash[i] * (128 - f) + squash[i + 1] * f + 64) >> 7;
			t->squash[128 * i + f] = p << 16 | coder_bound(16 * p);
		}
	t->squash[4096] = UINT32_C(4095) << 16 | coder_bound(16 * 4095);
	uint32_t p = 0;
	for (int32_t x = -2047; x <= 2047; x++)
		for (uint32_t s = t->squash[x + 2048] >> 16; p <= s; p++)
			t->stretch[p] = (int16_t)x;
	for (; p < 4096; p++)
		t->stretch[p] = 2047;
	for (uint32_t c = 0; c < 128; c++)
		t->rate[c] = 131072 / (2 * c + 3);
}

static inline uint32_t coder_byte(coder *c)
{
	if (c->p < c->end)
		return *c->p++;
	c->zeros++;
	return 0;
}

static inline void coder_open(coder *c, const uint8_t *p, const uint8_t *end, const coder_tables *tables)
{
	c->p = p;
	c->end = end;
	c->low = 0;
	c->high = UINT32_MAX;
	c->x = 0;
	c->zeros = 0;
	c->tables = tables;
	for (int i = 0; i < 4; i++)
		c->x = c->x << 8 | coder_byte(c);
}

/* Reports whether the stream has been used up exactly. */
static inline bool coder_finished(const coder *c)
{
	return c->p == c->end && c->zeros == 3;
}

/* Decodes a bit that is 1 with the probability p / 65536, and returns it as a mask: all ones for a 1.
 * Bits are unpredictable, so that branches on them would be slow. */
static inline uint32_t coder_mask(coder *c, uint32_t p)
{
	uint32_t mid = c->low + (uint32_t)((uint64_t)(c->high - c->low) * p >> 16);
	uint32_t one = 0 - (uint32_t)(c->x <= mid);
	c->high ^= (c->high ^ mid) & one;
	c->low ^= (c->low ^ (mid + 1)) & ~one;
	while ((c->low ^ c->high) < 1u << 24) {
		c->low <<= 8;
		c->high = c->high << 8 | 255;
		c->x = c->x << 8 | coder_byte(c);
	}
	return one;
}

static inline uint32_t coder_bit(coder *c, uint32_t p)
{
	return coder_mask(c, p) & 1;
}

/* Returns the probability after a bit, given as a mask. */
static inline probability probability_next(probability p, uint32_t one, const coder_tables *t)
{
	int64_t target = one & ((1 << 22) - 1);
	uint32_t n = p & 127;
	return p + ((uint32_t)((target - (p >> 10)) * t->rate[n] >> 16) << 10) + (n < 127);
}

/* Decodes a bit with an adaptive probability, as a mask. */
static inline uint32_t coder_adaptive_mask(coder *c, probability *p)
{
	probability v = *p;
	uint32_t one = coder_mask(c, coder_bound(v >> 16));
	*p = probability_next(v, one, c->tables);
	return one;
}

static inline uint32_t coder_adaptive(coder *c, probability *p)
{
	return coder_adaptive_mask(c, p) & 1;
}

/* Decodes a number of k bits. The table has 2^k probabilities. */
static inline uint32_t coder_tree(coder *c, probability *table, unsigned k)
{
	uint32_t node = 1;
	for (unsigned i = 0; i < k; i++)
		node = 2 * node + coder_adaptive(c, &table[node]);
	return node - (1u << k);
}

/* Returns the mixture of count probabilities, at most 4, with a weight for each. */
static inline mixture mixture_of(const coder_tables *t, const probability *const *p, const weight *w, unsigned count)
{
	int64_t sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += w[i] * t->stretch[*p[i] >> 20];
	sum >>= 16;
	return t->squash[(sum > 2048 ? 2048 : sum < -2048 ? -2048 : sum) + 2048];
}

/* Decodes a bit with a mixture, as a mask, and updates what was mixed. */
static inline uint32_t coder_mixture(coder *c, mixture m, probability *const *p, weight *w, unsigned count, int32_t speed)
{
	const coder_tables *t = c->tables;
	uint32_t one = coder_mask(c, m & 0xFFFF);
	int32_t err = ((int32_t)(one & 4096) - (int32_t)(m >> 16)) * speed;
	for (unsigned i = 0; i < count; i++) {
		probability v = *p[i];
		w[i] += (t->stretch[v >> 20] * err + 32768) >> 16;
		*p[i] = probability_next(v, one, t);
	}
	return one;
}

/* Decodes a bit with count probabilities, as a mask. */
static inline uint32_t coder_mixed(coder *c, probability *const *p, weight *w, unsigned count, int32_t speed)
{
	return coder_mixture(c, mixture_of(c->tables, (const probability *const *)p, w, count), p, w, count, speed);
}

#endif
