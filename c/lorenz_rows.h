/*
 * lorenz_rows.h - the classes and signs of rows in mode 8 (section 17). Private to lorenz.c.
 */
#ifndef LORENZ_ROWS_H
#define LORENZ_ROWS_H

#include "lorenz_contexts.h"
#include "lorenz_zips.h"

#ifdef LORENZ_ZIPS
/* Marks the masked elements of eight steps. The kinds of the stripes begin at start. */
static inline void contexts_active8(uint16_t *active, const uint8_t *kinds, const uint64_t start[STRIPES])
{
	bytes16 a[8], b[8];
	for (unsigned i = 0; i < 8; i++)
		a[i] = LOWER8(load_bytes8(kinds + start[i]), load_bytes8(kinds + start[i + 8]));
	for (unsigned i = 0; i < 4; i++) {
		b[2 * i] = LOWER8(a[i], a[i + 4]);
		b[2 * i + 1] = UPPER8(a[i], a[i + 4]);
	}
	for (unsigned i = 0; i < 4; i++) {
		a[2 * i] = LOWER8(b[i], b[i + 4]);
		a[2 * i + 1] = UPPER8(b[i], b[i + 4]);
	}
	for (unsigned i = 0; i < 4; i++) {
		b[2 * i] = LOWER8(a[i], a[i + 4]);
		b[2 * i + 1] = UPPER8(a[i], a[i + 4]);
	}
	for (unsigned i = 0; i < 8; i++, active += STRIPES) {
		bytes16 coded = (bytes16)(b[i] == 0), low = LOWER8(coded, coded), high = UPPER8(coded, coded);
		memcpy(active, &low, sizeof low);
		memcpy(active + STRIPES / 2, &high, sizeof high);
	}
}
#endif

/* Marks the masked elements of a row, if there are any, and returns how many elements are not
 * masked. */
static uint64_t contexts_mask(contexts *c, uint64_t row, const uint8_t *kinds)
{
	const shape *s = &c->s;
	uint64_t first = row_element(s, row), step = s->turned ? s->rows : 1, unmasked = 0, done = 0;
	if (step == 1) {
		unmasked = count_unmasked(kinds + first, s->row);
		if (unmasked == 0 || unmasked == s->row)
			return unmasked;
	}
	uint64_t start[STRIPES];
	for (uint64_t q = 0; q < STRIPES; q++)
		start[q] = first + (q * c->whole + (q < c->longer ? q : c->longer)) * step;
#ifdef LORENZ_ZIPS
	while (step == 1 && c->whole >= 8 && done < c->whole) {
		done = done + 8 < c->whole ? done : c->whole - 8; /* the last ones again */
		contexts_active8(c->active + STRIPES * done, kinds + done, start);
		done += 8;
	}
#endif
	unmasked = step == 1 ? unmasked : 0;
	for (unsigned q = 0; q < STRIPES; q++)
		for (uint64_t j = done; j < c->whole + (q < c->longer); j++) {
			bool coded = kinds[start[q] + j * step] == 0;
			c->active[j * STRIPES + q] = coded ? 0xffff : 0;
			unmasked += step > 1 && coded;
		}
	for (uint64_t q = c->longer; c->longer > 0 && q < STRIPES; q++)
		c->active[c->whole * STRIPES + q] = 0;
	return unmasked;
}

/* Floats that are computed with at once. */
#ifdef LORENZ_AVX2
typedef float floats __attribute__((vector_size(32)));
#else
typedef float floats __attribute__((vector_size(16)));
#endif

/* Adds up the neighbours of a row in earlier rows. Products are exact: see section 17. */
static void contexts_sums(contexts *c, uint64_t row)
{
	const float *from[MOST_TAPS];
	unsigned taps = c->taps;
	for (unsigned i = 0; i < taps; i++)
		from[i] = c->mags + row_before(c, row, c->tap_rows[i]) + c->tap_columns[i] * STRIPES;
	const unsigned width = sizeof(floats) / sizeof(float);
	for (uint64_t at = 0; at < c->steps * STRIPES; at += 2 * width) {
		floats sum = {0}, next = {0}, v, w;
		for (unsigned i = 0; i < taps; i++) {
			const float weight = c->weights[2 + i];
			memcpy(&v, from[i] + at, sizeof v);
			memcpy(&w, from[i] + at + width, sizeof w);
			sum += v * weight;
			next += w * weight;
		}
		memcpy(c->sums + at, &sum, sizeof sum);
		memcpy(c->sums + at + width, &next, sizeof next);
	}
}

/* What is moved at once of the columns beside stripes. */
#ifdef LORENZ_ZIPS
typedef lanes2 chunk;
#else
typedef uint64_t chunk;
#endif

/* Copies the columns beside each stripe of a row to where they are stored with it. longer has all bits
 * of the stripes that have an element more. */
static ALWAYS_INLINE void contexts_edges_as(uint8_t *row, const unsigned size, const void *longer, uint64_t whole, bool any_longer)
{
	enum { MOST_CHUNKS = 4 * STRIPES / sizeof(chunk) };
	const unsigned chunks = size * STRIPES / sizeof(chunk);
	const size_t step = size * STRIPES, bytes = size;
	chunk mask[MOST_CHUNKS], a[MOST_CHUNKS], b[MOST_CHUNKS], d[MOST_CHUNKS];
	uint8_t first[4], last[4], *end = row + whole * step; /* the step after those that all stripes have */
	memcpy(mask, longer, step);
	memcpy(first, row, bytes);
	memcpy(last, end - bytes, bytes);
	for (unsigned k = HALO; k > 0; k--) {
		/* Of the stripe before, the last elements; of the first one, its first. */
		memcpy(a, end - k * step, step);
		memcpy(b, end - k * step + step, step);
		for (unsigned i = 0; i < chunks; i++)
			d[i] = (b[i] & mask[i]) | (a[i] & ~mask[i]);
		memcpy(row - k * step + bytes, d, step); /* and one behind them, which is written below */
		memcpy(row - k * step, first, bytes);
	}
	memcpy(row, first, bytes);
	/* Of the stripe after, the first elements; of the last one, its last. */
	memcpy(a, row + bytes, step);
	memcpy(b, row + step + bytes, step);
	memcpy(d, end, step);
	for (unsigned i = 0; i < chunks; i++)
		d[i] = (d[i] & mask[i]) | (a[i] & ~mask[i]);
	memcpy(end, d, step);
	if (any_longer)
		memcpy(end + 2 * step, b, step);
	for (unsigned i = 0; i < chunks; i++)
		d[i] = (a[i] & mask[i]) | (b[i] & ~mask[i]);
	memcpy(end + step, d, step);
	for (unsigned k = 1; k <= HALO; k++)
		memcpy(end + k * step - bytes, last, bytes);
}

static void contexts_edges(contexts *c, uint64_t at)
{
	contexts_edges_as((uint8_t *)(c->mags + at), sizeof *c->mags, c->longer32, c->whole, c->longer > 0);
	contexts_edges_as((uint8_t *)(c->marks + at), sizeof *c->marks, c->longer16, c->whole, c->longer > 0);
}

/* Sets a row of which all elements are masked. */
static void contexts_skip(contexts *c, uint64_t row)
{
	uint64_t at = row_at(c, row), north = row_before(c, row, 1);
	for (uint64_t j = 0; j < c->steps; j++)
		memcpy(c->mags + at + j * STRIPES, c->mags + north, STRIPES * sizeof *c->mags);
	for (uint64_t i = 0; i < c->steps * STRIPES; i++)
		c->marks[at + i] = NO_SIGN;
	contexts_edges(c, at);
}

/* Sees to it that a step can read words without looking where they end. Returns false if they
 * have ended. */
static inline bool contexts_ready(contexts *c)
{
	size_t rest = (size_t)(c->words_end - c->words);
	if (rest >= SPARE)
		return true;
	if (c->ending)
		return false;
	memset(c->ends, 0, sizeof c->ends);
	memcpy(c->ends, c->words, rest);
	c->words = c->ends;
	c->words_end = c->ends + rest + SPARE;
	c->ending = true;
	return true;
}

/* Decodes one step of a row, whose elements are at place at, with those of row - 1 at north
 * and those with the third sign at below. What differs from element to element is computed
 * without branches, which would be predicted badly. */
static ALWAYS_INLINE void contexts_step(contexts *c, uint64_t j, unsigned width, uint64_t at, uint64_t north, uint64_t below, bool masked)
{
	uint64_t o = j * STRIPES;
	const uint16_t *n = c->marks + north + o, *b = c->marks + below + o;
	const float *sums = c->sums + o;
	float *mags = c->mags + at + o;
	uint16_t *marks = c->marks + at + o;
	const float w = c->weights[0], ww = c->weights[1];
	const uint8_t *words = c->words;
	for (unsigned q = 0; q < width; q++) {
		if (masked && c->active[o + q] == 0) {
			mags[q] = c->before[1][q] = c->before[0][q];
			marks[q] = NO_SIGN;
			c->west[q] = 5;
			continue;
		}
		float v = sums[q] + ww * c->before[1][q];
		v += 1;
		v += w * c->before[0][q];
		uint32_t e, x = c->states[q];
		memcpy(&e, &v, 4);
		uint32_t t = c->slots[c->lut[((e >> 19) - 2032) % EXPECTATIONS] + x % SLOTS], m = t >> MAGNITUDE, f = m << MAGNITUDE;
		x = ((t >> 11) % SLOTS + 1) * (x >> 11) + t % SLOTS;
		uint32_t some = 0 - (uint32_t)(m != 0); /* all bits or none */
		uint32_t signs = (uint32_t)(n[q] >> SIGN) * 9 + (uint32_t)(b[q] >> SIGN) * 3 + (n[(int)q - STRIPES] >> SIGN);
		/* Class 0 is as if positive and sure. */
		uint32_t p = (c->signs[signs] >> (c->west[q] + (m >> 8 << 4))) % SIGN_SLOTS & some, z = x % SIGN_SLOTS;
		uint32_t negative = 0 - (uint32_t)(z < p);
		x = (((p ^ (SIGN_SLOTS - p)) & negative) ^ (SIGN_SLOTS - p)) * (x >> 5) + z - (p & ~negative);
		uint32_t sign = (~negative & some & 2) | (~some & 1), need = x >> 16 == 0;
		x = x << (need * 16) | ((words[0] | (uint32_t)words[1] << 8) & (0 - need));
		words += 2 * need;
		c->states[q] = x;
		c->before[1][q] = c->before[0][q];
		memcpy(&c->before[0][q], &f, 4);
		memcpy(&mags[q], &f, 4);
		c->west[q] = 5 * sign;
		marks[q] = (uint16_t)(sign << SIGN | ((m - 254) & some));
	}
	c->words = words;
}

#include "lorenz_steps.h"

/* Decodes the classes and signs of a row. */
static bool contexts_row(contexts *c, uint64_t row, bool masked)
{
	uint64_t at = row_at(c, row), north = row_before(c, row, 1);
	uint64_t below = c->s.dims == 1 ? north : row_before(c, row, c->s.dims == 2 ? 2 : c->s.plane);
	contexts_sums(c, row);
	for (unsigned q = 0; q < STRIPES; q++) {
		c->before[0][q] = c->before[1][q] = c->mags[north + q];
		c->west[q] = 5;
	}
	if (c->words_end - c->words < SPARE && !contexts_ready(c))
		return false;
	uint64_t j = masked ? contexts_steps(c, at, north, below, true) : contexts_steps(c, at, north, below, false);
	for (; j < c->steps; j++) {
		if (!contexts_ready(c))
			return false;
		if (masked || j == c->whole)
			contexts_step(c, j, j == c->whole ? (unsigned)c->longer : STRIPES, at, north, below, masked);
		else
			contexts_step(c, j, STRIPES, at, north, below, false);
	}
	contexts_edges(c, at);
	return true;
}

/* Writes the marks of a row in order to the memory of the sums, which are no longer needed, and
 * returns them. */
static const uint16_t *contexts_in_order(contexts *c, uint64_t row)
{
	const uint16_t *marks = c->marks + row_at(c, row);
	uint16_t *line = (uint16_t *)c->sums;
	uint64_t start[STRIPES], done = 0;
	for (uint64_t q = 0; q < STRIPES; q++)
		start[q] = q * c->whole + (q < c->longer ? q : c->longer);
#ifdef LORENZ_ZIPS
	while (c->whole >= 8 && done < c->whole) {
		done = done + 8 < c->whole ? done : c->whole - 8; /* the last ones again */
		for (unsigned q = 0; q < STRIPES; q += 8) {
			shorts8 r[8];
			for (unsigned j = 0; j < 8; j++)
				memcpy(&r[j], marks + STRIPES * (done + j) + q, sizeof r[j]);
			transpose_shorts8(r);
			for (unsigned j = 0; j < 8; j++)
				memcpy(line + start[q + j] + done, &r[j], sizeof r[j]);
		}
		done += 8;
	}
#endif
	for (unsigned q = 0; q < STRIPES; q++)
		for (uint64_t j = done; j < c->whole + (q < c->longer); j++)
			line[start[q] + j] = marks[STRIPES * j + q];
	return line;
}

/* Returns the highest class of AT_ONCE marks. */
static inline unsigned contexts_most(const uint16_t *marks)
{
	unsigned most = 0;
#ifdef LORENZ_ZIPS
	shorts8 m = {0}, v;
	for (unsigned i = 0; i < AT_ONCE; i += 8) {
		memcpy(&v, marks + i, sizeof v);
		v &= 127;
		shorts8 more = (shorts8)((words8)v > (words8)m);
		m = (v & more) | (m & ~more);
	}
	for (unsigned i = 0; i < 8; i++)
		most = m[i] > most ? m[i] : most;
#else
	for (unsigned i = 0; i < AT_ONCE; i++)
		most = (marks[i] & 127u) > most ? marks[i] & 127u : most;
#endif
	return most;
}

/* Gives the absolute values of AT_ONCE residuals the signs of their marks. */
#ifdef LORENZ_ZIPS
static inline void contexts_signs32(const uint16_t *marks, uint32_t *r)
{
	for (unsigned i = 0; i < AT_ONCE; i += 8) {
		shorts8 m;
		memcpy(&m, marks + i, sizeof m);
		m = (shorts8)(m >> SIGN == 0);
		lanes4 negative[2] = {(lanes4)LOWER16(m, m), (lanes4)UPPER16(m, m)}, v[2];
		memcpy(v, r + i, sizeof v);
		for (unsigned k = 0; k < 2; k++)
			v[k] = (v[k] ^ negative[k]) - negative[k];
		memcpy(r + i, v, sizeof v);
	}
}
#else
static inline void contexts_signs32(const uint16_t *marks, uint32_t *r)
{
	for (unsigned i = 0; i < AT_ONCE; i++) {
		uint32_t negative = 0 - (uint32_t)(marks[i] < NO_SIGN);
		r[i] = (r[i] ^ negative) - negative;
	}
}
#endif

#endif
