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

/* Returns the number of states that a decoder keeps, for elements up to far before it. */
static uint64_t adaptive_states(uint64_t far)
{
	uint64_t ring = 16;
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
	unsigned s = state & 7;
	return s < 2 ? 0 : s == 2 ? 1 : 2;
}

static inline unsigned state_q(uint16_t state, int32_t e)
{
	int32_t q = state_size(state) - 2 * e + 4;
	return q < 0 ? 0 : q > 8 ? 8 : (unsigned)q;
}

/* Decodes the residual of an element, given the states around it, and returns the state
 * of the element in *state. */
static inline bool adaptive_residual(adaptive *a, unsigned width, uint64_t *r, uint16_t *state)
{
	const uint16_t *states = a->states;
	uint64_t ring = a->ring, i = a->i;
	uint16_t s1 = states[(i - 1) & ring], s2 = states[(i - 2) & ring];
	uint16_t sn = states[(i - a->n_distance) & ring], sb = states[(i - a->b_distance) & ring];
	uint16_t after = states[(i - a->n_distance + 1) & ring], before = states[(i - a->n_distance - 1) & ring];
	int32_t expected = 3 * state_size(s1) + state_size(s2) + 2 * state_size(sn) + state_size(after) + state_size(before);
	int32_t e = (expected + 8) >> 4, f = expected >> 1 & 7;
	unsigned z = e < 3 ? (unsigned)e : 3, used = z == 3 ? 2 : 4;

	probability *context[4];
	context[0] = a->contexts + CONTEXT_0 + ((e < 11 ? e : 11) * 8 + f) * NODES;
	context[1] = a->contexts + CONTEXT_1 + ((z * 9 + state_q(s1, e)) * 9 + state_q(sn, e)) * NODES;
	context[2] = context[3] = NULL;
	if (used == 4) {
		context[2] = a->contexts + CONTEXT_2 + ((z * 9 + state_q(sb, e)) * 9 + state_q(s2, e)) * NODES;
		context[3] = a->contexts + CONTEXT_3 + (((z * 5 + state_sign(s1)) * 5 + state_sign(sn)) * 3 + state_direction(sb)) * NODES;
	}
	int32_t k = e < (int32_t)width - 1 ? e : (int32_t)width - 1;
	bool first = true, up = false;
	unsigned b;
	for (;;) {
		int32_t node = k - e + 8;
		node = node < 0 ? 0 : node > 15 ? 15 : node;
		probability *p[4];
		for (unsigned j = 0; j < used; j++)
			p[j] = context[j] + node;
		bool above = coder_mixed(&a->c, p, a->weights[z][node], used, 6);
		if (first)
			up = above;
		first = false;
		if (above != up) {
			b = (unsigned)(up ? k : k + 1);
			break;
		}
		k += up ? 1 : -1;
		if (k < 0 || k == (int32_t)width) {
			b = (unsigned)(up ? k : 0);
			break;
		}
	}
	if (b == 0) {
		*r = 0;
		*state = 2;
		return true;
	}
	unsigned t = a->shift;
	unsigned signs = (state_direction(s1) * 3 + state_direction(sn)) * 3 + state_direction(sb);
	bool negative = coder_adaptive(&a->c, &a->sign[signs][(b < 3 ? b : 3) - 1]);
	uint64_t x = (uint64_t)1 << (b - 1);
	if (b >= t + 2) {
		int32_t nearby = (int32_t)b - e + 3;
		nearby = nearby < 0 ? 0 : nearby > 7 ? 7 : nearby;
		uint64_t bit = coder_adaptive(&a->c, &a->second[b < 8 ? b : 8][nearby][f]);
		x |= bit << (b - 2);
	}
	if (b >= t + 3) {
		uint64_t low;
		if (!bits_read(&a->low, b - 2 - t, &low))
			return false;
		x |= low << t;
	}
	unsigned size = 2 * b - 1 + (b >= 2 && x >> (b - 2) & 1);
	unsigned sign = x == 1 ? 1 : 2;
	*state = (uint16_t)(size << 3 | (negative ? 2 - sign : 2 + sign));
	*r = negative ? 0 - x : x;
	return true;
}

/* Decodes the next residual in lanes of width bits. */
static inline bool adaptive_next(adaptive *a, unsigned width, bool masked, uint64_t *r)
{
	uint16_t state = 2;
	*r = 0;
	if (masked) {
		state = (uint16_t)(state_size(a->states[(a->i - 1) & a->ring]) << 3 | 2);
	} else {
		if (a->unmasked % GROUP == 0) {
			a->empty = coder_adaptive(&a->c, &a->group[a->history]);
			a->history = (a->history << 1 | a->empty) & 7;
			if (a->zeros && !a->empty) {
				a->shift = coder_tree(&a->c, a->trailing[a->shift], 6);
				if (a->shift >= width)
					return false;
			}
		}
		a->unmasked++;
		if (!a->empty && !adaptive_residual(a, width, r, &state))
			return false;
	}
	a->states[a->i & a->ring] = state;
	a->i++;
	return a->c.zeros <= 3;
}

#endif
