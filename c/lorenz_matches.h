/*
 * lorenz_matches.h - bytes coded as literals and repeats (section 12, mode 3). Private to
 * lorenz.c.
 */
#ifndef LORENZ_MATCHES_H
#define LORENZ_MATCHES_H

#include "lorenz_coder.h"

enum {
	MAX_MATCHES = 1 << 24,     /* bytes that are coded (section 14) */
	SMALL_MATCHES = 1 << 16,   /* up to as many bytes, tables of literals are short */
	DICTIONARY_BYTES = 42527,
	FEW_MATCHES = 1 << 10,     /* bytes whose hashed probabilities are reset when they are needed */
	TOGETHER = 8,              /* probabilities that are reset at once then */
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
	uint64_t reset[(3 << 16) / TOGETHER / 64]; /* a bit for each of them that was, if few bytes are coded */
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

static uint64_t matches_reverse(coder *c, probability *table, unsigned k)
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

/* Decodes a number, at most 2^32 - 1. */
static uint64_t matches_number(coder *c, match_numbers *n)
{
	unsigned slot = coder_tree(c, n->slots, 6);
	if (slot < 4)
		return slot;
	unsigned more = (slot >> 1) - 1;
	uint64_t v = (uint64_t)(2 + (slot & 1)) << more;
	if (slot < 14)
		return v + matches_reverse(c, n->near[slot], more);
	for (unsigned i = more - 1; i >= 4; i--)
		v += (uint64_t)coder_bit(c, 32768) << i;
	return v + matches_reverse(c, n->low, 4);
}

static inline probability *matches_slot(matches *m, unsigned table, uint32_t key, unsigned node, bool few)
{
	size_t place = ((size_t)table << (32 - m->shift)) + ((key | node << 16) * UINT32_C(2654435761) >> m->shift);
	if (few) {
		size_t group = place / TOGETHER;
		uint64_t bit = UINT64_C(1) << group % 64;
		if ((m->reset[group / 64] & bit) == 0) {
			m->reset[group / 64] |= bit;
			probabilities_reset(m->hashed + group * TOGETHER, TOGETHER);
		}
	}
	return m->hashed + place;
}

static inline uint8_t matches_literal(matches *m, const uint8_t *out, uint64_t at, unsigned column, bool few)
{
	unsigned expected = matches_byte(m, out, at, m->d[0]);
	uint32_t keys[3] = {
		column << 24 | matches_byte(m, out, at, m->unit),
		column << 24 | (uint32_t)matches_byte(m, out, at, 2) << 8 | matches_byte(m, out, at, 1),
		(uint32_t)m->kind << 28 | column << 24 | expected
	};
	weight *w = m->weights[m->kind][column];
	unsigned node = 1;
	for (int i = 7; i >= 0; i--) {
		unsigned agreement = 0;
		if (node == (expected | 256) >> (i + 1))
			agreement = 1 + (expected >> i & 1);
		probability *p[4] = {
			matches_slot(m, 0, keys[0], node, few), matches_slot(m, 1, keys[1], node, few), matches_slot(m, 2, keys[2], node, few),
			&m->fourth[m->kind][agreement][node]
		};
		node = 2 * node + (coder_mixed(&m->c, p, w, 4, 14) & 1);
	}
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
	if (few)
		memset(m->reset, 0, sizeof m->reset);
	else
		probabilities_reset(m->hashed, (size_t)3 << matches_bits(size));

	for (uint64_t at = 0; at < need;) {
		unsigned column = (unsigned)(at % unit), history = 3 * m->before + m->kind, kind = 0;
		uint64_t length = 1;
		if (!coder_adaptive(&m->c, &m->copy[history][column])) {
			out[at] = few ? matches_literal(m, out, at, column, true) : matches_literal(m, out, at, column, false);
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
			for (uint64_t i = at; i < at + length; i++)
				out[i] = matches_byte(m, out, i, m->d[0]);
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
