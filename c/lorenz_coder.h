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

/* An adaptive probability of a 1. */
typedef struct {
	uint32_t v : 22;
	uint32_t c : 7; /* updates so far, at most 127 */
} probability;

/* The weights are wider than any stream can make them. */
typedef int64_t weight;

/* The tables that mixing needs. They depend on nothing. */
typedef struct {
	int16_t stretch[4096];
	uint32_t rate[128];
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
	for (size_t i = 0; i < n; i++) {
		p[i].v = 1u << 21;
		p[i].c = 0;
	}
	for (size_t at = n; at < count; at += n)
		memcpy(p + at, p, (count - at < n ? count - at : n) * sizeof *p);
}

static inline int32_t coder_squash(int32_t x)
{
	static const int16_t t[33] = {
		1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348,
		3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094
	};
	if (x > 2047)
		return 4095;
	if (x < -2047)
		return 1;
	int32_t f = x & 127, i = (x >> 7) + 16;
	return (t[i] * (128 - f) + t[i + 1] * f + 64) >> 7;
}

static inline void coder_tables_init(coder_tables *t)
{
	int32_t p = 0;
	for (int32_t x = -2047; x <= 2047; x++)
		for (int32_t s = coder_squash(x); p <= s; p++)
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

/* Decodes a bit that is 1 with the probability p / 65536. */
static inline uint32_t coder_bit(coder *c, uint32_t p)
{
	uint32_t mid = c->low + (uint32_t)((uint64_t)(c->high - c->low) * p >> 16);
	uint32_t b = c->x <= mid;
	if (b)
		c->high = mid;
	else
		c->low = mid + 1;
	while ((c->low ^ c->high) < 1u << 24) {
		c->low <<= 8;
		c->high = c->high << 8 | 255;
		c->x = c->x << 8 | coder_byte(c);
	}
	return b;
}

static inline uint32_t coder_bound(uint32_t p)
{
	return p < 32 ? 32 : p > 65504 ? 65504 : p;
}

static inline void probability_update(probability *p, uint32_t bit, const coder_tables *t)
{
	int64_t target = bit ? (1 << 22) - 1 : 0;
	p->v = (uint32_t)(p->v + ((target - p->v) * t->rate[p->c] >> 16));
	p->c += p->c < 127;
}

/* Decodes a bit with an adaptive probability. */
static inline uint32_t coder_adaptive(coder *c, probability *p)
{
	uint32_t b = coder_bit(c, coder_bound(p->v >> 6));
	probability_update(p, b, c->tables);
	return b;
}

/* Decodes a number of k bits. The table has 2^k probabilities. */
static inline uint32_t coder_tree(coder *c, probability *table, unsigned k)
{
	uint32_t node = 1;
	for (unsigned i = 0; i < k; i++)
		node = 2 * node + coder_adaptive(c, &table[node]);
	return node - (1u << k);
}

/* Decodes a bit with count probabilities, at most 4, and a weight for each. */
static inline uint32_t coder_mixed(coder *c, probability *const *p, weight *w, unsigned count, int32_t speed)
{
	int32_t t[4];
	int64_t sum = 0;
	for (unsigned i = 0; i < count; i++) {
		t[i] = c->tables->stretch[p[i]->v >> 10];
		sum += w[i] * t[i];
	}
	sum >>= 16;
	int32_t mix = coder_squash(sum > 2048 ? 2048 : sum < -2048 ? -2048 : (int32_t)sum);
	uint32_t b = coder_bit(c, coder_bound((uint32_t)(16 * mix)));
	int32_t err = ((int32_t)(4096 * b) - mix) * speed;
	for (unsigned i = 0; i < count; i++) {
		w[i] += (t[i] * err + 32768) >> 16;
		probability_update(p[i], b, c->tables);
	}
	return b;
}

#endif
