/*
 * lorenz_matches.h - bytes coded as literals and repeats (section 12, mode 3). Private to
 * lorenz.c.
 */
#ifndef LORENZ_MATCHES_H
#define LORENZ_MATCHES_H

#include "lorenz_coder.h"
#include "lorenz_streams.h"

enum {
	MAX_MATCHES = 1 << 24,     /* bytes that are coded (section 14) */
	SMALL_MATCHES = 1 << 16,   /* up to as many bytes, tables of literals are short */
	DICTIONARY_BYTES = 42527,
	FEW_MATCHES = 1 << 12,     /* bytes whose hashed probabilities are reset when they are needed */
	FIRST_BITS = 5,
	TOGETHER = 1 << FIRST_BITS, /* probabilities that are reset at once then, those of the first bits of a literal */
	ROW_SLOTS = 256,           /* probabilities of a literal in a hashed table */
	GROUP_SLOTS = (1 << 16) + ROW_SLOTS, /* see matches_row */
	UNITS = 8,
	SORTS = 6                  /* of numbers: again, match and four of distance */
};

/* The dictionary, which the build makes from lorenz/internal/matches/dictionary1.bin. */
__attribute__((visibility("hidden"))) extern const uint8_t lorenz_dictionary1[DICTIONARY_BYTES];

/* The probabilities of the numbers of a sort. */
typedef struct {
	probability slots[64];
	probability near[14][32]; /* from slot 4 on */
	probability low[16];
} match_numbers;

/* The state of a decoder. */
typedef struct {
	coder c;
	unsigned unit;
	const uint8_t *dictionary; /* its end */
	uint64_t dictionary_size;  /* D, which is 0 without one */
	unsigned kind, before;     /* of the last step and the one before it */
	uint64_t d[3];             /* distances used last, the latest first */
	probability copy[9][UNITS], again[9], older[9], oldest[9];
	match_numbers numbers[SORTS];
	weight weights[3][UNITS][4];
	probability fourth[3][3][256];
	unsigned shift;            /* s */
	probability *hashed;       /* first, second and third */
	probability initial[TOGETHER];
	uint64_t fresh[3 * GROUP_SLOTS / TOGETHER / 64 + 1]; /* a bit for each TOGETHER of them that were reset, if few bytes are coded */
} matches;

/* Returns the bits of a position in each of the hashed tables, for size coded bytes. */
static inline unsigned matches_bits(uint64_t size)
{
	return size <= SMALL_MATCHES ? 16 : 18;
}

/* Returns the byte d before out[at], or 0 if there is none. */
static inline uint8_t matches_byte(const matches *m, const uint8_t *out, uint64_t at, uint64_t d)
{
	if (d <= at)
		return out[at - d];
	return d - at <= m->dictionary_size ? *(m->dictionary - (d - at)) : 0;
}

/* Copies length bytes from d before out[at], which are there. */
static inline void matches_copy(const matches *m, uint8_t *out, uint64_t at, uint64_t d, uint64_t length)
{
	uint64_t i = 0;
	if (d > at) { /* the dictionary, and after its end the first bytes of out */
		uint64_t n = d - at < length ? d - at : length;
		memcpy(out + at, m->dictionary - (d - at), n);
		i = n;
	}
	for (uint8_t *to = out + at; i < length; i++)
		to[i] = out[at + i - d];
}

static inline uint64_t matches_reverse(coder *c, probability *table, unsigned k)
{
	uint64_t v = 0;
	unsigned node = 1;
	for (unsigned i = 0; i < k; i++) {
		unsigned b = coder_adaptive(c, &table[node]);
		v |= (uint64_t)b << i;
		node = 2 * node + b;
	}
	return v;
}

/* Decodes a number, at most 2^32 - 1. The coder is a copy, which stays in registers. */
static uint64_t matches_number(coder *from, match_numbers *n)
{
	coder c = *from;
	unsigned slot = coder_tree(&c, n->slots, 6), more = (slot >> 1) - 1;
	uint64_t v = slot;
	if (slot >= 4) {
		v = (uint64_t)(2 + (slot & 1)) << more;
		for (unsigned i = more - 1; slot >= 14 && i >= 4; i--)
			v += (uint64_t)coder_bit(&c, 32768) << i;
		v += slot < 14 ? matches_reverse(&c, n->near[slot], more) : matches_reverse(&c, n->low, 4);
	}
	*from = c;
	return v;
}

/* Resets the count probabilities from p on, and some beside them, unless they were. */
static inline void matches_fresh(matches *m, const probability *p, unsigned count)
{
	size_t first = (size_t)(p - m->hashed) / TOGETHER, last = (size_t)(p + count - 1 - m->hashed) / TOGETHER;
	for (size_t i = first; i <= last; i++) {
		uint64_t bit = UINT64_C(1) << i % 64;
		if ((m->fresh[i / 64] & bit) == 0) {
			m->fresh[i / 64] |= bit;
			memcpy(m->hashed + i * TOGETHER, m->initial, sizeof m->initial);
		}
	}
}

/* Returns the row of a literal in a hashed table: row[node] is the probability of a node. In section 12 they are
 * further apart: the upper 16 bits of slot(key, node) are those of slot(key, 0) plus node times an odd number. Multiplied
 * by its inverse, they are side by side, which needs less memory. A group has the 2^16 slots of the same lower bits, and
 * after them its first ones again, for rows that begin at its end: see matches_wrap. */
static inline probability *matches_row(matches *m, unsigned table, uint32_t key)
{
	enum { INVERSE = 0x2f51 }; /* of 2654435761 modulo 2^16 */
	uint32_t hash = key * UINT32_C(2654435761);
	size_t group = (size_t)table << (16 - m->shift) | (hash & 0xFFFF) >> m->shift;
	return m->hashed + group * GROUP_SLOTS + ((hash >> 16) * INVERSE & 0xFFFF);
}

/* For a row that begins at the end of a group: copies the first probabilities of the group there, or back. */
static void matches_wrap(matches *m, probability *row, bool few, bool back)
{
	probability *group = m->hashed + (size_t)(row - m->hashed) / GROUP_SLOTS * GROUP_SLOTS;
	probability *end = group + (GROUP_SLOTS - ROW_SLOTS);
	if (row + ROW_SLOTS <= end)
		return;
	if (few) {
		matches_fresh(m, group, ROW_SLOTS);
		matches_fresh(m, end, ROW_SLOTS);
	}
	memcpy(back ? group : end, back ? end : group, ROW_SLOTS * sizeof *group);
}

/* Decodes a literal. The coder is a copy, and loops have a number of steps that the compiler knows: both stay in
 * registers so. */
static ALWAYS_INLINE uint8_t matches_literal(matches *m, coder *from, const uint8_t *out, uint64_t at, unsigned column, bool few)
{
	uint32_t expected = matches_byte(m, out, at, m->d[0]), kind = m->kind;
	probability *rows[3] = {
		matches_row(m, 0, column << 24 | matches_byte(m, out, at, m->unit)),
		matches_row(m, 1, column << 24 | (uint32_t)matches_byte(m, out, at, 2) << 8 | matches_byte(m, out, at, 1)),
		matches_row(m, 2, kind << 28 | column << 24 | expected)
	};
	coder c = *from;
	const coder_tables *t = c.tables;
	weight *weights = m->weights[kind][column], w[4];
	probability v[4], (*fourth)[256] = m->fourth[kind], *place = &fourth[1 + (expected >> 7)][1];
	UNROLL
	for (unsigned i = 0; i < 3; i++)
		matches_wrap(m, rows[i], few, false);
	UNROLL
	for (unsigned i = 0; i < 3; i++) {
		if (few)
			matches_fresh(m, rows[i], 1 << FIRST_BITS);
		v[i] = rows[i][1];
	}
	v[3] = *place;
	UNROLL
	for (unsigned i = 0; i < 4; i++)
		w[i] = weights[i];
	uint32_t node = 1, agrees = ~UINT32_C(0);
	for (unsigned bit = 8; bit-- > 0;) {
		int64_t s[4], sum = 0;
		UNROLL
		for (unsigned i = 0; i < 4; i++) {
			s[i] = t->stretch[v[i] >> 20];
			sum += w[i] * s[i];
		}
		sum >>= 16;
		mixture mix = t->squash[(sum > 2048 ? 2048 : sum < -2048 ? -2048 : sum) + 2048];
		/* Both nodes that may follow are read before the bit is known. */
		uint64_t pairs[3];
		uint32_t e = expected >> bit & 1, after = (expected << 1 >> bit & 1) + 1, child = bit > 0 ? 2 * node : 0;
		UNROLL
		for (unsigned i = 0; i < 3; i++) {
			if (few && bit > 0 && bit <= 8 - FIRST_BITS)
				matches_fresh(m, rows[i] + child, 2);
			memcpy(&pairs[i], rows[i] + child, sizeof pairs[i]);
		}
		probability *same = &fourth[agrees & after][child + e], *other = &fourth[0][child + (e ^ 1)];
		probability v_same = *same, v_other = *other;

		uint32_t b = coder_mask(&c, mix & 0xFFFF), differs = (0 - e) ^ b;
		int32_t err = ((int32_t)(b & 4096) - (int32_t)(mix >> 16)) * 14;
		UNROLL
		for (unsigned i = 0; i < 4; i++)
			w[i] += (s[i] * err + 32768) >> 16;
		UNROLL
		for (unsigned i = 0; i < 3; i++) {
			rows[i][node] = probability_next(v[i], b, t);
			v[i] = (probability)(pairs[i] >> ((HOST_LITTLE ? b : ~b) & 32));
		}
		*place = probability_next(v[3], b, t);
		v[3] = differs ? v_other : v_same;
		place = differs ? other : same;
		agrees &= ~differs;
		node = 2 * node + (b & 1);
	}
	UNROLL
	for (unsigned i = 0; i < 4; i++)
		weights[i] = w[i];
	UNROLL
	for (unsigned i = 0; i < 3; i++)
		matches_wrap(m, rows[i], few, true);
	*from = c;
	return (uint8_t)node;
}

/* Decodes the first need bytes, or some more, of the size bytes that the stream codes to out, which has room for size.
 * m->hashed has memory for size bytes. */
static bool matches_decode(matches *m, const uint8_t *p, const uint8_t *end, unsigned unit, bool dictionary, uint64_t size,
	uint64_t need, uint8_t *out, const coder_tables *tables)
{
	enum { AGAIN, MATCH, DISTANCE };
	coder_open(&m->c, p, end, tables);
	m->unit = unit;
	m->dictionary = lorenz_dictionary1 + DICTIONARY_BYTES;
	m->dictionary_size = dictionary ? DICTIONARY_BYTES : 0;
	m->kind = m->before = 0;
	m->d[0] = 1;
	m->d[1] = unit;
	m->d[2] = 2 * unit;
	probabilities_reset(m->copy[0], 9 * UNITS);
	probabilities_reset(m->again, 9);
	probabilities_reset(m->older, 9);
	probabilities_reset(m->oldest, 9);
	for (unsigned i = 0; i < SORTS; i++) {
		probabilities_reset(m->numbers[i].slots, 64);
		probabilities_reset(m->numbers[i].near[0], 14 * 32);
		probabilities_reset(m->numbers[i].low, 16);
	}
	for (unsigned i = 0; i < 3 * UNITS; i++)
		for (unsigned j = 0; j < 4; j++)
			m->weights[i / UNITS][i % UNITS][j] = 19660;
	probabilities_reset(m->fourth[0][0], 3 * 3 * 256);
	m->shift = 32 - matches_bits(size);
	/* The tables take longer to reset than a short header of netCDF to decode. */
	bool few = need <= FEW_MATCHES && size <= SMALL_MATCHES;
	if (few) {
		memset(m->fresh, 0, sizeof m->fresh);
		probabilities_reset(m->initial, TOGETHER);
	} else
		probabilities_reset(m->hashed, (size_t)3 * GROUP_SLOTS << (matches_bits(size) - 16));

	for (uint64_t at = 0; at < need;) {
		unsigned column = (unsigned)(at % unit), history = 3 * m->before + m->kind, kind = 0;
		uint64_t length = 1;
		if (!coder_adaptive(&m->c, &m->copy[history][column])) {
			out[at] = few ? matches_literal(m, &m->c, out, at, column, true) : matches_literal(m, &m->c, out, at, column, false);
		} else if (coder_adaptive(&m->c, &m->again[history])) {
			kind = 1;
			unsigned i = coder_adaptive(&m->c, &m->older[history]);
			if (i == 1)
				i += coder_adaptive(&m->c, &m->oldest[history]);
			uint64_t d = m->d[i];
			for (; i > 0; i--)
				m->d[i] = m->d[i - 1];
			m->d[0] = d;
			length = matches_number(&m->c, &m->numbers[AGAIN]) + 1;
		} else {
			kind = 2;
			uint64_t k = matches_number(&m->c, &m->numbers[MATCH]);
			m->d[2] = m->d[1];
			m->d[1] = m->d[0];
			m->d[0] = matches_number(&m->c, &m->numbers[DISTANCE + (k < 3 ? k : 3)]) + 1;
			length = k + 2;
		}
		if (kind != 0) {
			if (m->d[0] > m->dictionary_size + at || length > size - at)
				return false;
			matches_copy(m, out, at, m->d[0], length);
		}
		at += length;
		m->before = m->kind;
		m->kind = kind;
		if (m->c.zeros > 3) /* the end of a damaged stream need not be decoded */
			return false;
	}
	return need < size || coder_finished(&m->c);
}

#endif
