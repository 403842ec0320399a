/*
 * lorenz_adaptive.h - adaptive residuals (section 10). Private to lorenz.c.
 */
#ifndef LORENZ_ADAPTIVE_H
#define LORENZ_ADAPTIVE_H

#include "lorenz_coder.h"
#include "lorenz_streams.h"

enum {
	MAX_DISTANCE = 1 << 20, /* N and B */
	NODES = 16,             /* questions */
	/* The probabilities of the four contexts follow each other. */
	CONTEXT_0 = 0,
	CONTEXT_1 = CONTEXT_0 + 12 * 8 * NODES,
	CONTEXT_2 = CONTEXT_1 + 4 * 9 * 9 * NODES,
	CONTEXT_3 = CONTEXT_2 + 3 * 9 * 9 * NODES,
	CONTEXTS = CONTEXT_3 + 3 * 5 * 5 * 3 * NODES
};

/* The state of adaptive residuals. */
typedef struct {
	coder c;
	bits low;
	bool zeros;
	uint64_t i;         /* of the element */
	uint64_t unmasked;  /* elements before it that are not masked */
	uint64_t n_distance, b_distance;
	unsigned shift;     /* t, the trailing zeros of the last group that is not empty */
	bool empty;         /* all residuals of the group are 0 */
	unsigned history;   /* h */
	uint16_t *states;   /* a ring: size m << 3 | sign s + 2 */
	uint64_t ring;      /* its length - 1 */
	probability group[8];
	probability trailing[64][64];
	probability contexts[CONTEXTS];
	weight weights[4][NODES][4];
	probability sign[3 * 3 * 3][3];
	probability second[9][8][8];
} adaptive;

/* Returns the number of states that a decoder keeps: those of a group, and of elements up to far before it. */
static uint64_t adaptive_states(uint64_t far)
{
	uint64_t ring = GROUP;
	while (ring <= far && ring <= MAX_DISTANCE + 1)
		ring *= 2;
	return ring;
}

/* Reads options and length, and prepares to decode what follows. The states are those of
 * elements around the distances N and B: see adaptive_states. */
static bool adaptive_open(adaptive *a, reader *in, uint64_t n_distance, uint64_t b_distance, const coder_tables *tables)
{
	uint8_t options;
	uint64_t length;
	if (!read_byte(in, &options) || options & ~1u || !read_uv(in, &length) || length > left(in))
		return false;
	if (n_distance > MAX_DISTANCE || b_distance > MAX_DISTANCE)
		return false;
	coder_open(&a->c, in->p, in->p + length, tables);
	in->p += length;
	a->low = (bits){in->p, 0, (uint64_t)left(in) * 8};
	in->p = in->end;
	a->zeros = options & 1;
	a->i = a->unmasked = 0;
	a->n_distance = n_distance;
	a->b_distance = b_distance;
	a->shift = a->history = 0;
	a->empty = false;
	a->ring = adaptive_states(n_distance + 1 > b_distance ? n_distance + 1 : b_distance);
	for (uint64_t i = 0; i < a->ring; i++)
		a->states[i] = 2;
	a->ring--;
	probabilities_reset(a->group, 8);
	if (a->zeros)
		probabilities_reset(a->trailing[0], 64 * 64);
	probabilities_reset(a->contexts, CONTEXTS);
	for (unsigned z = 0; z < 4; z++)
		for (unsigned node = 0; node < NODES; node++)
			for (unsigned i = 0; i < 4; i++)
				a->weights[z][node][i] = z == 3 ? 39320 : 19660;
	probabilities_reset(a->sign[0], 3 * 3 * 3 * 3);
	probabilities_reset(a->second[0][0], 9 * 8 * 8);
	return true;
}

static bool adaptive_finished(adaptive *a)
{
	uint64_t rest = a->low.length - a->low.at;
	return coder_finished(&a->c) && rest < 8 && bits_peek(&a->low) == 0;
}

static inline int32_t state_size(uint16_t state)
{
	return state >> 3;
}

/* The sign number plus 2. */
static inline unsigned state_sign(uint16_t state)
{
	return state & 7;
}

/* 0, 1 or 2 for a sign number below, equal to or above 0. */
static inline unsigned state_direction(uint16_t state)
{
	return 0x290 >> (2 * (state & 7)) & 3;
}

static inline unsigned state_q(uint16_t state, int32_t e)
{
	int32_t q = state_size(state) - 2 * e + 4;
	return q < 0 ? 0 : q > 8 ? 8 : (unsigned)q;
}

/* Decodes what precedes the residuals of a group. */
static bool adaptive_group(adaptive *a, unsigned width)
{
	a->empty = coder_adaptive(&a->c, &a->group[a->history]);
	a->history = (a->history << 1 | a->empty) & 7;
	if (a->zeros && !a->empty)
		a->shift = coder_tree(&a->c, a->trailing[a->shift], 6);
	return a->shift < width && a->c.zeros <= 3;
}

/* Decodes the states of the next n elements, which are in one group and not masked. Nothing depends on their
 * low bits. */
static bool adaptive_run(adaptive *a, int32_t width, uint64_t n)
{
	coder c = a->c; /* in registers */
	uint16_t *states = a->states;
	uint64_t ring = a->ring, i = a->i;
	uint16_t s1 = states[(i - 1) & ring], s2 = states[(i - 2) & ring];
	for (uint64_t end = i + n; i < end; i++) {
		uint16_t sn = states[(i - a->n_distance) & ring], sb = states[(i - a->b_distance) & ring];
		uint16_t after = states[(i - a->n_distance + 1) & ring], before = states[(i - a->n_distance - 1) & ring];
		int32_t expected = 3 * state_size(s1) + state_size(s2) + 2 * state_size(sn) + state_size(after) + state_size(before);
		int32_t e = (expected + 8) >> 4, f = expected >> 1 & 7;
		unsigned z = e < 3 ? (unsigned)e : 3;
		probability *context[4];
		context[0] = a->contexts + CONTEXT_0 + ((e < 11 ? e : 11) * 8 + f) * NODES;
		context[1] = a->contexts + CONTEXT_1 + ((z * 9 + state_q(s1, e)) * 9 + state_q(sn, e)) * NODES;
		context[2] = context[3] = NULL;
		if (z < 3) {
			context[2] = a->contexts + CONTEXT_2 + ((z * 9 + state_q(sb, e)) * 9 + state_q(s2, e)) * NODES;
			context[3] = a->contexts + CONTEXT_3 + (((z * 5 + state_sign(s1)) * 5 + state_sign(sn)) * 3 + state_direction(sb)) * NODES;
		}
		weight (*weights)[4] = a->weights[z];

		int32_t k = e < width - 1 ? e : width - 1, step = 0, b = -1;
		if (z == 3 && e + 1 < width) {
			/* There is a second question after any answer to the first. It is mixed for both answers before
			 * that is known. */
			probability *p[2] = {context[0] + 8, context[1] + 8};
			const probability *p7[2] = {context[0] + 7, context[1] + 7}, *p9[2] = {context[0] + 9, context[1] + 9};
			mixture m7 = mixture_of(c.tables, p7, weights[7], 2), m9 = mixture_of(c.tables, p9, weights[9], 2);
			uint32_t first = coder_mixed(&c, p, weights[8], 2, 6);
			unsigned node = 7 + (first & 2);
			p[0] = context[0] + node;
			p[1] = context[1] + node;
			uint32_t second = coder_mixture(&c, m7 ^ ((m7 ^ m9) & first), p, weights[node], 2, 6);
			step = (int32_t)(first & 2) - 1;
			k += step;
			if (first != second)
				b = k + (step < 0);
			else if ((k += step) == width)
				b = k;
		}
		while (b < 0) {
			int32_t node = k - e + 8;
			node = node < 0 ? 0 : node > 15 ? 15 : node;
			uint32_t above;
			if (z == 3) {
				probability *p[2] = {context[0] + node, context[1] + node};
				above = coder_mixed(&c, p, weights[node], 2, 6);
			} else {
				probability *p[4] = {context[0] + node, context[1] + node, context[2] + node, context[3] + node};
				above = coder_mixed(&c, p, weights[node], 4, 6);
			}
			int32_t answer = (int32_t)(above & 2) - 1;
			if (step == 0)
				step = answer;
			else if (answer != step) {
				b = k + (step < 0);
				break;
			}
			k += step;
			if (k < 0 || k == width)
				b = k + (step < 0);
		}

		uint16_t state = 2;
		if (b > 0) {
			unsigned signs = (state_direction(s1) * 3 + state_direction(sn)) * 3 + state_direction(sb);
			uint32_t negative = coder_adaptive_mask(&c, &a->sign[signs][(b < 3 ? b : 3) - 1]);
			uint32_t size = 2 * (uint32_t)b - 1, sign = b == 1 ? 1 : 2;
			if (b >= (int32_t)a->shift + 2) {
				int32_t nearby = b - e + 3;
				nearby = nearby < 0 ? 0 : nearby > 7 ? 7 : nearby;
				size += coder_adaptive(&c, &a->second[b < 8 ? b : 8][nearby][f]);
			}
			state = (uint16_t)(size << 3 | (2 + ((sign ^ negative) - negative)));
		}
		states[i & ring] = state;
		s2 = s1;
		s1 = state;
	}
	a->c = c;
	a->i = i;
	return c.zeros <= 3;
}

/* Reads the low bits of the residual of an element and returns it. Branches on the size would be unpredictable. */
static inline bool adaptive_residual(bits *low, unsigned shift, uint16_t state, uint64_t *r)
{
	uint32_t size = state >> 3, b = (size + 1) >> 1, count = b > shift + 2 ? b - 2 - shift : 0;
	uint64_t rest, negative = 0 - (uint64_t)(state_sign(state) < 2);
	if (!bits_read(low, count, &rest))
		return false;
	uint64_t top = (uint64_t)(3 ^ (size & 1)) << 62 >> ((64 - b) & 63) & (0 - (uint64_t)(b > 0));
	*r = ((top | rest << shift) ^ negative) - negative;
	return true;
}

#endif
