/*
 * lorenz_contexts.h - residuals with the fixed tables of a block (section 17). Private to
 * lorenz.c.
 */
#ifndef LORENZ_CONTEXTS_H
#define LORENZ_CONTEXTS_H

#ifdef LORENZ_AVX2
#include <immintrin.h>
#endif

#include "lorenz_streams.h"

enum {
	STRIPES = 16,
	LEAST_ROW = 32,
	MOST_ROW = 1 << 20, /* C, and R x C */
	SHORT_ROW = 64,
	MOST_TABLES = 16,
	SLOTS = 2048,
	SIGN_SLOTS = 32,
	EXPECTATIONS = 2048, /* E is below this */
	MOST_LEVEL = 39,
	MOST_TAPS = 10, /* neighbours in earlier rows */
	HALO = 2,       /* columns beside a stripe that are stored with it */
	EDGE = HALO * STRIPES,
	LEAST_COLUMN = 4 * STRIPES + 2, /* bytes of a column and its place in the directory */
	SPARE = 2 * STRIPES, /* bytes of words that a step may take */
	MAGNITUDE = 22, /* where the magnitude of a slot is: the float without the bits that are 0 */
	/* The sign in a mark, above the class. */
	SIGN = 14,
	NEGATIVE = 0 << SIGN,
	NO_SIGN = 1 << SIGN,
	POSITIVE = 2 << SIGN
};

/* The rows of a block, or of one of its columns. */
typedef struct {
	uint64_t row, rows, plane; /* C, n / C, R */
	unsigned dims;             /* D, at most 3 */
	bool turned;               /* rows are along the first dimension */
	bool cut;                  /* into columns, whose cells are shorter than planes: */
	uint64_t jump, cell;       /* elements of such a plane and of a cell */
	uint64_t first, each;      /* of a column: its first element, and its rows in a plane */
} shape;

typedef struct {
	uint32_t lut[EXPECTATIONS];                 /* the first slot of the table for each E */
	uint32_t slots[MOST_TABLES * SLOTS];        /* magnitude << 22 | slots of the class - 1 << 11 | slots of it before this one */
	uint32_t signs[32];                         /* for the signs 9 N + 3 B + NW: 5 bits for each W and class 1, 16 bits above for others */
	int16_t bounds[MOST_TABLES][STRIPES];       /* for AVX2: boundaries + 2031 */
	uint64_t upper[128];                        /* of the absolute values of each class: all bits but the low ones */
	uint8_t low_bits[128];                      /* how many these are */
	uint32_t states[STRIPES];
	float before[2][STRIPES];                   /* magnitudes of W and WW */
	uint32_t west[STRIPES];                     /* 5 times the sign of W */
	float weights[2 + MOST_TAPS];
	uint64_t tap_rows[MOST_TAPS];
	uint8_t tap[MOST_TAPS]; /* which neighbours these are */
	int tap_columns[MOST_TAPS];
	unsigned taps;                              /* that have a weight */
	unsigned count;                             /* of tables */
	shape block;
	reader directory, columns; /* of the columns from the next one on */
	uint64_t column;           /* the next one */
	shape s;                   /* of a column, or of the block, as all that follows */
	uint64_t steps, whole, longer;              /* of a row: all, those with 16 elements, elements of the other */
	uint64_t stride, ring;                      /* elements of a row that are stored, and rows */
	const uint8_t *words, *words_end;
	uint8_t ends[4 * SPARE];                    /* the last words, with others after them */
	bool ending;                                /* words are these, and words_end is SPARE bytes late */
	bits low;
	bool has_zeros;
	/* Scratch memory. */
	float *mags;      /* magnitudes of the rows: 16 for each step, with HALO steps before and after them */
	uint16_t *marks;  /* signs and classes of the same */
	float *sums;      /* of the neighbours in earlier rows */
	uint16_t *active; /* of a row: 0xffff for coded elements, 0 for masked ones */
	uint8_t *zeros;   /* trailing zeros of the groups */
} contexts;

/* Finds the rows of a block of n elements, given its dimensions longer than 1: how many, the
 * first and the last two. */
static void shape_of(shape *s, uint64_t n, unsigned dims, uint64_t first, const uint32_t last[2])
{
	memset(s, 0, sizeof *s);
	if (dims == 0)
		return;
	s->dims = dims < 3 ? dims : 3;
	s->turned = last[1] < SHORT_ROW && last[1] < first;
	s->row = s->turned ? first : last[1];
	s->plane = dims < 3 ? 1 : s->turned ? last[1] : last[0];
	s->rows = s->each = n / s->row;
}

static uint64_t shape_columns(const shape *s)
{
	return s->cut ? (s->jump - 1) / s->cell + 1 : 1;
}

/* Returns the rows of a column of a block. */
static shape shape_column(const shape *block, uint64_t column)
{
	shape s = *block;
	if (!s.cut)
		return s;
	uint64_t planes = s.row * s.rows / s.jump;
	s.first = column * s.cell;
	uint64_t width = s.jump - s.first < s.cell ? s.jump - s.first : s.cell;
	if (s.dims == 1)
		s.row = width;
	s.each = width / s.row;
	s.rows = planes * s.each;
	if (s.dims == 3 && s.plane > s.each)
		s.plane = s.each < 2 ? 2 : s.each;
	s.cut = false;
	return s;
}

/* Whether a block can have the mode. */
static bool shape_valid(const shape *s)
{
	if (!s->cut)
		return s->row >= LEAST_ROW && s->row <= MOST_ROW && s->plane <= MOST_ROW / s->row;
	if (s->dims == 0 || s->turned || (s->dims == 1 ? s->jump < s->row : s->jump % s->row > 0 || s->cell % s->row > 0))
		return false;
	shape first = shape_column(s, 0), last = shape_column(s, shape_columns(s) - 1);
	return shape_valid(&first) && shape_valid(&last);
}

/* Returns the elements of a row that are stored, and how many rows are. */
static uint64_t shape_storage(const shape *s, uint64_t *ring)
{
	static const uint8_t rings[3] = {0, 2, 3};
	*ring = s->dims < 3 ? rings[s->dims] : s->plane + 2;
	return ((s->row + STRIPES - 1) / STRIPES + 2 * HALO) * STRIPES;
}

/* Reads a difference of levels or trailing zeros. */
static bool read_difference(bits *b, unsigned k, int *d)
{
	uint64_t u = 0, low = 0;
	for (unsigned ones = 40; ones == 40;) {
		ones = (unsigned)__builtin_ctzll(~bits_peek(b) | (uint64_t)1 << 40);
		if (ones >= b->length - b->at)
			return false;
		b->at += ones;
		u += ones;
		if (u > 128) /* no difference is as long */
			return false;
	}
	b->at++;
	if (k > 0 && !bits_read(b, k, &low))
		return false;
	u = u << k | low;
	*d = (int)(u >> 1) ^ -(int)(u & 1);
	return true;
}

/* Reads the table of a context. */
static bool read_table(bits *b, uint32_t *slots, unsigned classes)
{
	uint64_t v;
	if (!bits_read(b, 14, &v))
		return false;
	unsigned first = v & 127, count = (unsigned)(v >> 7) + 1, top = 0;
	if (first + count > classes)
		return false;
	int32_t level[128] = {0}, size[128] = {0}, sum = 0, last = 16, d;
	if (count > 1) {
		if (!bits_read(b, 3, &v))
			return false;
		for (unsigned i = 0; i < count; i++) {
			if (!read_difference(b, (unsigned)v, &d))
				return false;
			last += d;
			if (last < 0 || last > MOST_LEVEL)
				return false;
			level[i] = last;
			size[i] = last < 4 ? last : (4 + (last & 3)) << ((last >> 2) - 1);
			sum += size[i];
			if (last > level[top])
				top = i;
		}
	}
	size[top] += SLOTS - sum;
	if (size[top] < 1)
		return false;
	for (unsigned i = 0; i < count; i++) {
		uint32_t magnitude = first + i == 0 ? 0 : first + i + 254, entry = magnitude << MAGNITUDE | (uint32_t)(size[i] - 1) << 11;
		for (int32_t k = 0; k < size[i]; k++)
			slots[k] = entry + (uint32_t)k;
		slots += size[i];
	}
	return true;
}

/* Reads the trailing zeros of the groups of n positions. */
static bool read_zeros(contexts *c, bits *b, unsigned width, uint64_t n)
{
	uint64_t k;
	int t = 0, d;
	if (!bits_read(b, 3, &k))
		return false;
	for (uint64_t g = 0; g < (n + GROUP - 1) / GROUP; g++) {
		if (!read_difference(b, (unsigned)k, &d))
			return false;
		t += d;
		if (t < 0 || t >= (int)width)
			return false;
		c->zeros[g] = (uint8_t)t;
	}
	return true;
}

/* Reads what precedes the states or the directory. */
static bool read_tables(contexts *c, reader *in, unsigned width, uint64_t n)
{
	static const int8_t columns[2][MOST_TAPS] = {{-2, -1, 0, 1, 2, -1, 0, 1}, {-2, -1, 0, 1, 2, -1, 0, 1, 0, 0}};
	const shape *s = &c->block;
	unsigned taps = s->dims == 1 ? 0 : s->dims == 2 ? 8 : 10;
	uint8_t options, count;
	if (!read_byte(in, &options) || options & ~1u || left(in) < 2 + taps)
		return false;
	c->weights[0] = in->p[0];
	c->weights[1] = in->p[1];
	c->taps = 0;
	for (unsigned i = 0; i < taps; i++) {
		if (in->p[2 + i] == 0)
			continue;
		c->weights[2 + c->taps] = in->p[2 + i];
		c->tap_columns[c->taps] = columns[s->dims - 2][i];
		c->tap[c->taps++] = (uint8_t)i;
	}
	in->p += 2 + taps;
	if (!read_byte(in, &count) || count < 1 || count > MOST_TABLES)
		return false;
	uint64_t from = 0, to;
	for (uint32_t k = 0; k < count; k++, from = to) {
		to = EXPECTATIONS;
		if (k + 1 < count && (!read_uv(in, &to) || to <= from || to >= EXPECTATIONS))
			return false;
		for (uint64_t e = from; e < to; e++)
			c->lut[e] = k * SLOTS;
		for (unsigned q = 0; q < STRIPES; q++)
			c->bounds[k][q] = (int16_t)(to + 2031);
	}
	for (unsigned k = count - 1; k < MOST_TABLES; k++)
		for (unsigned q = 0; q < STRIPES; q++)
			c->bounds[k][q] = INT16_MAX;
	c->count = count;
	bits b = {in->p, 0, (uint64_t)left(in) * 8};
	for (unsigned k = 0; k < count; k++)
		if (!read_table(&b, c->slots + k * SLOTS, 2 * width))
			return false;
	memset(c->signs, 0, sizeof c->signs);
	for (unsigned i = 0; i < (s->dims == 1 ? 3 : 81); i++) {
		/* With one dimension, the other three signs are always zero. */
		unsigned at = s->dims == 1 ? 13 : i % 27, west = s->dims == 1 ? i : i / 27;
		for (unsigned k = 0; k < 2; k++) {
			uint64_t set, v = SIGN_SLOTS / 2;
			if (!bits_read(&b, 1, &set) || (set && (!bits_read(&b, 5, &v) || v == 0)))
				return false;
			c->signs[at] |= (uint32_t)v << (5 * west + 16 * k);
		}
	}
	c->has_zeros = options & 1;
	if (c->has_zeros && !s->cut && !read_zeros(c, &b, width, n))
		return false;
	in->p += (b.at + 7) / 8;
	return true;
}

static uint32_t load_state(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Returns the place of the first element of a row in mags and marks. */
static uint64_t row_at(const contexts *c, uint64_t row)
{
	return row % c->ring * c->stride + EDGE;
}

/* The same of the row that is some rows before another one, or of what takes its place. */
static uint64_t row_before(const contexts *c, uint64_t row, uint64_t rows)
{
	if (row == 0)
		return (c->ring - 1) * c->stride + EDGE;
	return row_at(c, rows > row ? row - 1 : row - rows);
}

/* Reads the tables and the directory of a block with lanes of width bits. */
static bool contexts_open(contexts *c, reader *in, const shape *s, unsigned width)
{
	c->block = *s;
	for (unsigned i = 0; i < 128; i++) {
		c->low_bits[i] = (uint8_t)(i < 4 ? 0 : i / 2 - 1);
		c->upper[i] = (uint64_t)(i - 2 * c->low_bits[i]) << c->low_bits[i];
	}
	if (!read_tables(c, in, width, s->row * s->rows))
		return false;
	c->directory = *in;
	uint64_t words, low, sum = 0;
	for (uint64_t i = 0; s->cut && i < shape_columns(s); i++) {
		if (!read_uv(in, &words) || !read_uv(in, &low) || words > left(in) / 2 || low > left(in))
			return false;
		sum += 4 * STRIPES + 2 * words + low;
	}
	c->columns = *in;
	c->column = 0;
	in->p = in->end;
	return !s->cut || sum == left(&c->columns);
}

/* Prepares to decode a column with lanes of width bits, which must not be before the last one. */
static bool contexts_column(contexts *c, uint64_t column, unsigned width)
{
	uint64_t words, low;
	const uint8_t *states;
	for (;;) {
		reader *in = &c->columns;
		if (left(in) < 4 * STRIPES)
			return false;
		states = in->p;
		in->p += 4 * STRIPES;
		if (!read_uv(c->block.cut ? &c->directory : in, &words) || words > left(in) / 2)
			return false;
		c->words = in->p;
		in->p += 2 * words;
		c->words_end = in->p;
		c->ending = false;
		low = left(in);
		if (c->block.cut && (!read_uv(&c->directory, &low) || low > left(in)))
			return false;
		c->low = (bits){in->p, 0, low * 8};
		in->p += low;
		if (c->column++ == column)
			break;
	}
	for (unsigned q = 0; q < STRIPES; q++) {
		c->states[q] = load_state(states + 4 * q);
		if (c->states[q] >> 16 == 0)
			return false;
	}
	shape *s = &c->s;
	*s = shape_column(&c->block, column);
	c->stride = shape_storage(s, &c->ring);
	c->whole = s->row / STRIPES;
	c->longer = s->row % STRIPES;
	c->steps = c->whole + (c->longer > 0);
	for (unsigned k = 0; k < c->taps; k++) {
		unsigned i = c->tap[k];
		c->tap_rows[k] = i < 5 ? 1 : s->dims == 2 ? 2 : i < 8 ? s->plane : i == 8 ? s->plane + 1 : s->plane - 1;
	}
	if (c->has_zeros && c->block.cut && !read_zeros(c, &c->low, width, s->row * s->rows))
		return false;
	uint64_t first = (c->ring - 1) * c->stride; /* row -1 */
	for (uint64_t i = first; i < first + c->stride; i++) {
		c->mags[i] = 0;
		c->marks[i] = NO_SIGN;
	}
	return true;
}

static bool contexts_finished(const contexts *c)
{
	for (unsigned q = 0; q < STRIPES; q++)
		if (c->states[q] != 1 << 16)
			return false;
	return c->words_end - c->words == (c->ending ? SPARE : 0) && c->low.length - c->low.at < 8;
}

/* Returns the first element of a row. */
static uint64_t row_element(const shape *s, uint64_t row)
{
	return s->turned ? row : s->first + row / s->each * s->jump + row % s->each * s->row;
}

#ifdef LORENZ_AVX2
/* Marks the masked elements of eight steps. The kinds of the stripes begin at start. */
static inline void contexts_active8(uint16_t *active, const uint8_t *kinds, const uint64_t start[STRIPES])
{
	__m128i a[8], b[8];
	for (unsigned i = 0; i < 8; i++)
		a[i] = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(kinds + start[i])), _mm_loadl_epi64((const __m128i *)(kinds + start[i + 8])));
	for (unsigned i = 0; i < 4; i++) {
		b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 4]);
		b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 4]);
	}
	for (unsigned i = 0; i < 4; i++) {
		a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 4]);
		a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 4]);
	}
	for (unsigned i = 0; i < 4; i++) {
		b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 4]);
		b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 4]);
	}
	for (unsigned i = 0; i < 8; i++) {
		__m128i coded = _mm_cmpeq_epi8(b[i], _mm_setzero_si128());
		_mm256_storeu_si256((__m256i *)(active + STRIPES * i), _mm256_cvtepi8_epi16(coded));
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
#ifdef LORENZ_AVX2
	for (; step == 1 && c->whole - done >= 8; done += 8)
		contexts_active8(c->active + STRIPES * done, kinds + done, start);
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

/* Copies the columns beside each stripe of a row to where they are stored with it. */
static ALWAYS_INLINE void contexts_edges_as(void *elements, unsigned size, uint64_t whole, uint64_t longer)
{
	uint8_t *row = elements;
#define AT(j, q) (row + ((int64_t)(j) * STRIPES + (int64_t)(q)) * size)
	for (int64_t k = 1; k <= HALO; k++) {
		/* Of the stripe before, the last elements; of the first one, its first. */
		for (uint64_t q = STRIPES - 1; q > 0; q--)
			memcpy(AT(-k, q), AT((int64_t)(whole + (q <= longer)) - k, q - 1), size);
		memcpy(AT(-k, 0), row, size);
	}
	for (uint64_t k = 0; k < HALO; k++) {
		/* Of the stripe after, the first elements; of the last one, its last. */
		for (uint64_t q = 0; q < STRIPES - 1; q++)
			memcpy(AT(whole + (q < longer) + k, q), AT(k, q + 1), size);
		memcpy(AT(whole + k, STRIPES - 1), AT(whole - 1, STRIPES - 1), size);
	}
#undef AT
}

static void contexts_edges(contexts *c, uint64_t at)
{
	contexts_edges_as(c->mags + at, sizeof *c->mags, c->whole, c->longer);
	contexts_edges_as(c->marks + at, sizeof *c->marks, c->whole, c->longer);
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

#ifdef LORENZ_AVX2
/* For each set of lanes, which of the next words each of them gets. */
#define MOVE(i, k) ((i) >> (k) & 1 ? __builtin_popcount((i) & ((1 << (k)) - 1)) : 0)
#define MOVES1(i) {MOVE(i, 0), MOVE(i, 1), MOVE(i, 2), MOVE(i, 3), MOVE(i, 4), MOVE(i, 5), MOVE(i, 6), MOVE(i, 7)}
#define MOVES4(i) MOVES1(i), MOVES1((i) + 1), MOVES1((i) + 2), MOVES1((i) + 3)
#define MOVES16(i) MOVES4(i), MOVES4((i) + 4), MOVES4((i) + 8), MOVES4((i) + 12)
#define MOVES64(i) MOVES16(i), MOVES16((i) + 16), MOVES16((i) + 32), MOVES16((i) + 48)
static const uint8_t moves[256][8] = {MOVES64(0), MOVES64(64), MOVES64(128), MOVES64(192)};

/* Half of a step: eight stripes in registers. */
typedef struct {
	__m256i x, west; /* 5 times the sign */
	__m256 m1, m2;
} half;

/* Adds what is known of the expectations from the row itself to sums of neighbours, and returns their upper bits. */
static ALWAYS_INLINE __m256i contexts_expect(const contexts *c, const half *h, const float *sums)
{
	__m256 v = _mm256_add_ps(_mm256_loadu_ps(sums), _mm256_mul_ps(_mm256_set1_ps(c->weights[1]), h->m2));
	v = _mm256_add_ps(v, _mm256_set1_ps(1.0f));
	v = _mm256_add_ps(v, _mm256_mul_ps(_mm256_set1_ps(c->weights[0]), h->m1));
	return _mm256_srli_epi32(_mm256_castps_si256(v), 19);
}

/* Chooses the eighths of a, or of b where the sign of mask is set. */
static ALWAYS_INLINE __m256i choose8(__m256i a, __m256i b, __m256i mask)
{
	return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(mask)));
}

/* Decodes half of a step, given - 2048 times the contexts, and the numbers of the signs. Returns
 * 254 more than the classes, or 0, and the signs << 14. */
static ALWAYS_INLINE __m256i contexts_half(const contexts *c, half *h, __m256i context, __m256i signs, const uint8_t **words, bool masked,
	__m256i active)
{
	const __m256i zero = _mm256_setzero_si256(), slot = _mm256_set1_epi32(SLOTS - 1), last = _mm256_set1_epi32(SIGN_SLOTS - 1);
	__m256i t = _mm256_i32gather_epi32((const int *)c->slots, _mm256_sub_epi32(_mm256_and_si256(h->x, slot), context), 4);
	const __m256i *table = (const __m256i *)c->signs;
	__m256i third = _mm256_slli_epi32(signs, 28), p;
	p = choose8(choose8(_mm256_permutevar8x32_epi32(_mm256_loadu_si256(table), signs),
		_mm256_permutevar8x32_epi32(_mm256_loadu_si256(table + 1), signs), third),
		choose8(_mm256_permutevar8x32_epi32(_mm256_loadu_si256(table + 2), signs),
		_mm256_permutevar8x32_epi32(_mm256_loadu_si256(table + 3), signs), third), _mm256_slli_epi32(signs, 27));
	p = _mm256_srlv_epi32(p, h->west);
	__m256i x = _mm256_srli_epi32(h->x, 11);
	__m256i y = _mm256_mullo_epi32(_mm256_and_si256(_mm256_srli_epi32(t, 11), slot), x);
	y = _mm256_add_epi32(y, _mm256_add_epi32(x, _mm256_and_si256(t, slot)));
	__m256i f = _mm256_and_si256(t, _mm256_set1_epi32(511 << MAGNITUDE)), none = _mm256_cmpeq_epi32(f, zero);
	/* The second highest bit is that of classes above 1. Class 0 is as if positive and sure. */
	p = choose8(p, _mm256_srli_epi32(p, 16), _mm256_add_epi32(t, t));
	p = _mm256_andnot_si256(none, _mm256_and_si256(p, last));
	__m256i z = _mm256_and_si256(y, last), part = _mm256_mullo_epi32(_mm256_srli_epi32(y, 5), p), negative = _mm256_cmpgt_epi32(p, z);
	y = choose8(_mm256_sub_epi32(_mm256_sub_epi32(y, part), p), _mm256_add_epi32(part, z), negative);
	__m256i west = choose8(_mm256_andnot_si256(negative, _mm256_set1_epi32(10)), _mm256_set1_epi32(5), none);
	__m256i need = _mm256_cmpeq_epi32(_mm256_srli_epi32(y, 16), zero);
	if (masked) {
		need = _mm256_and_si256(need, active);
		t = _mm256_and_si256(t, active);
		y = choose8(h->x, y, active);
		f = choose8(_mm256_castps_si256(h->m1), f, active);
		west = choose8(_mm256_set1_epi32(5), west, active);
	}
	unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(need));
	__m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)*words));
	w = _mm256_permutevar8x32_epi32(w, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)moves[mask])));
	*words += 2 * __builtin_popcount(mask);
	h->x = choose8(y, _mm256_or_si256(_mm256_slli_epi32(y, 16), w), need);
	h->m2 = h->m1;
	h->m1 = _mm256_castsi256_ps(f);
	h->west = west;
	return _mm256_or_si256(_mm256_srli_epi32(t, MAGNITUDE), _mm256_slli_epi32(west, 12));
}

/* Decodes steps of a row while there are surely words for them, and returns how many. In the
 * last one, stripes without an element are as if masked; contexts_edges replaces what that writes. */
static ALWAYS_INLINE uint64_t contexts_steps(contexts *c, uint64_t at, uint64_t north, uint64_t below, bool masked)
{
	uint16_t tail[STRIPES];
	for (unsigned q = 0; q < STRIPES; q++)
		tail[q] = q < c->longer ? 0xffff : 0;
	half h[2];
	for (unsigned k = 0; k < 2; k++) {
		h[k].x = _mm256_loadu_si256((const __m256i *)(c->states + 8 * k));
		h[k].m1 = _mm256_loadu_ps(c->before[0] + 8 * k);
		h[k].m2 = _mm256_loadu_ps(c->before[1] + 8 * k);
		h[k].west = _mm256_set1_epi32(5);
	}
	const uint8_t *words = c->words;
	uint64_t j = 0;
	for (; j < c->steps && c->words_end - words >= SPARE; j++) {
		uint64_t o = j * STRIPES;
		__m256i n = _mm256_srli_epi16(_mm256_loadu_si256((const __m256i *)(c->marks + north + o)), SIGN);
		__m256i b = _mm256_srli_epi16(_mm256_loadu_si256((const __m256i *)(c->marks + below + o)), SIGN);
		__m256i signs = _mm256_srli_epi16(_mm256_loadu_si256((const __m256i *)(c->marks + north + o - STRIPES)), SIGN);
		signs = _mm256_add_epi16(signs, _mm256_mullo_epi16(n, _mm256_set1_epi16(9)));
		signs = _mm256_add_epi16(signs, _mm256_mullo_epi16(b, _mm256_set1_epi16(3)));
		__m256i signs0 = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(signs));
		__m256i signs1 = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(signs, 1));
		/* The context is the number of boundaries that are not above the expectation. */
		__m256i e = _mm256_packus_epi32(contexts_expect(c, &h[0], c->sums + o), contexts_expect(c, &h[1], c->sums + o + 8));
		__m256i even = _mm256_setzero_si256(), odd = even;
		const __m256i *bound = (const __m256i *)c->bounds;
		for (unsigned k = 0; k + 1 < c->count; k += 4, bound += 4) {
			even = _mm256_add_epi16(even, _mm256_cmpgt_epi16(e, _mm256_loadu_si256(bound)));
			odd = _mm256_add_epi16(odd, _mm256_cmpgt_epi16(e, _mm256_loadu_si256(bound + 1)));
			even = _mm256_add_epi16(even, _mm256_cmpgt_epi16(e, _mm256_loadu_si256(bound + 2)));
			odd = _mm256_add_epi16(odd, _mm256_cmpgt_epi16(e, _mm256_loadu_si256(bound + 3)));
		}
		e = _mm256_add_epi16(even, odd);
		__m256i context0 = _mm256_srai_epi32(_mm256_unpacklo_epi16(_mm256_setzero_si256(), e), 5);
		__m256i context1 = _mm256_srai_epi32(_mm256_unpackhi_epi16(_mm256_setzero_si256(), e), 5);
		__m256i low, high;
		if (masked || j == c->whole) {
			__m256i active = _mm256_loadu_si256((const __m256i *)(masked ? c->active + o : tail));
			low = contexts_half(c, &h[0], context0, signs0, &words, true, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(active)));
			high = contexts_half(c, &h[1], context1, signs1, &words, true, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(active, 1)));
		} else {
			low = contexts_half(c, &h[0], context0, signs0, &words, false, n);
			high = contexts_half(c, &h[1], context1, signs1, &words, false, n);
		}
		_mm256_storeu_ps(c->mags + at + o, h[0].m1);
		_mm256_storeu_ps(c->mags + at + o + 8, h[1].m1);
		__m256i marks = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
		__m256i class = _mm256_subs_epu16(_mm256_and_si256(marks, _mm256_set1_epi16(511)), _mm256_set1_epi16(254));
		marks = _mm256_or_si256(class, _mm256_and_si256(marks, _mm256_set1_epi16((int16_t)(3 << SIGN))));
		_mm256_storeu_si256((__m256i *)(c->marks + at + o), marks);
	}
	for (unsigned k = 0; k < 2; k++) {
		_mm256_storeu_si256((__m256i *)(c->states + 8 * k), h[k].x);
		_mm256_storeu_si256((__m256i *)(c->west + 8 * k), h[k].west);
		_mm256_storeu_ps(c->before[0] + 8 * k, h[k].m1);
		_mm256_storeu_ps(c->before[1] + 8 * k, h[k].m2);
	}
	c->words = words;
	return j;
}
#elif defined(__GNUC__)
/* The same with vectors of four, which most processors have. */
typedef uint32_t lanes4 __attribute__((vector_size(16)));
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef uint16_t shorts4 __attribute__((vector_size(8)));

/* A quarter of a step. The signs of W are masks. */
typedef struct {
	lanes4 x, negative, positive;
	floats m1, m2;
} quarter;

/* Chooses a where the mask is set, and b elsewhere. */
static ALWAYS_INLINE lanes4 choose4(lanes4 mask, lanes4 a, lanes4 b)
{
	return (a & mask) | (b & ~mask);
}

/* Returns the elements of a table at four places. */
static ALWAYS_INLINE lanes4 take4(const uint32_t *table, lanes4 at)
{
	return (lanes4){table[at[0]], table[at[1]], table[at[2]], table[at[3]]};
}

/* Appends the next words to the lanes that need one. */
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#define MOVE(i, k) ((i) >> (k) & 1 ? 2 * __builtin_popcount((i) & ((1 << (k)) - 1)) : 128)
#define MOVES(i, k) (uint8_t)MOVE(i, k), (uint8_t)(MOVE(i, k) + 1), 128, 128
#define MOVES1(i) {MOVES(i, 0), MOVES(i, 1), MOVES(i, 2), MOVES(i, 3)}
#define MOVES4(i) MOVES1(i), MOVES1((i) + 1), MOVES1((i) + 2), MOVES1((i) + 3)
/* For each set of lanes, where in the next words each of them has its own. */
static const uint8_t moves[16][16] = {MOVES4(0), MOVES4(4), MOVES4(8), MOVES4(12)};

static ALWAYS_INLINE lanes4 append4(lanes4 x, lanes4 need, const uint8_t **words)
{
	uint32_t mask = wasm_i32x4_bitmask((v128_t)need);
	v128_t w = wasm_i8x16_swizzle(wasm_v128_load64_zero(*words), wasm_v128_load(moves[mask]));
	*words += 2 * __builtin_popcount(mask);
	return choose4(need, x << 16 | (lanes4)w, x);
}
#else
static ALWAYS_INLINE lanes4 append4(lanes4 x, lanes4 need, const uint8_t **words)
{
	for (unsigned k = 0; k < 4; k++) {
		const uint8_t *w = *words;
		x[k] = x[k] << (need[k] & 16) | ((w[0] | (uint32_t)w[1] << 8) & need[k]);
		*words += need[k] & 2;
	}
	return x;
}
#endif

static ALWAYS_INLINE void contexts_quarter(contexts *c, quarter *h, uint64_t o, uint64_t at, lanes4 signs, const uint8_t **words,
	bool masked, const uint16_t *actives)
{
	floats v, sums;
	lanes4 e, active = {0};
	memcpy(&sums, c->sums + o, sizeof sums);
	v = sums + c->weights[1] * h->m2;
	v = v + 1.0f;
	v = v + c->weights[0] * h->m1;
	memcpy(&e, &v, sizeof e);
	lanes4 x = h->x, t = take4(c->slots, take4(c->lut, ((e >> 19) - 2032) % EXPECTATIONS) + x % SLOTS), up = x >> 11;
	lanes4 y = (t >> 11) % SLOTS * up + up + t % SLOTS, f = t & 511u << MAGNITUDE, none = (lanes4)(f == 0);
	lanes4 word = take4(c->signs, signs);
	lanes4 p = choose4(h->negative, word, choose4(h->positive, word >> 10, word >> 5));
	/* The second highest bit is that of classes above 1. Class 0 is as if positive and sure. */
	p = choose4((lanes4)((ints4)(t + t) >> 31), p >> 16, p) % SIGN_SLOTS & ~none;
	lanes4 z = y % SIGN_SLOTS, part = (y >> 5) * p, negative = (lanes4)((ints4)p > (ints4)z);
	y = choose4(negative, part + z, y - part - p);
	lanes4 positive = ~(negative | none), need = (lanes4)(y >> 16 == 0), class = ((t >> MAGNITUDE) - 254) & ~none;
	if (masked) {
		shorts4 coded;
		memcpy(&coded, actives, sizeof coded);
		active = (lanes4)(__builtin_convertvector(coded, lanes4) != 0);
		lanes4 before;
		memcpy(&before, &h->m1, sizeof before);
		need &= active;
		class &= active;
		negative &= active;
		positive &= active;
		none |= ~active;
		y = choose4(active, y, x);
		f = choose4(active, f, before);
	}
	h->x = append4(y, need, words);
	h->negative = negative;
	h->positive = positive;
	h->m2 = h->m1;
	memcpy(&h->m1, &f, sizeof f);
	memcpy(c->mags + at + o, &f, sizeof f);
	shorts4 marks = __builtin_convertvector(class | (none & NO_SIGN) | (positive & POSITIVE), shorts4);
	memcpy(c->marks + at + o, &marks, sizeof marks);
}

static ALWAYS_INLINE uint64_t contexts_steps(contexts *c, uint64_t at, uint64_t north, uint64_t below, bool masked)
{
	uint16_t tail[STRIPES];
	for (unsigned q = 0; q < STRIPES; q++)
		tail[q] = q < c->longer ? 0xffff : 0;
	quarter h[4];
	for (unsigned k = 0; k < 4; k++) {
		memcpy(&h[k].x, c->states + 4 * k, sizeof h[k].x);
		memcpy(&h[k].m1, c->before[0] + 4 * k, sizeof h[k].m1);
		h[k].m2 = h[k].m1;
		h[k].negative = h[k].positive = (lanes4){0};
	}
	const uint8_t *words = c->words;
	uint64_t j = 0;
	for (; j < c->steps && c->words_end - words >= SPARE; j++) {
		for (unsigned k = 0; k < 4; k++) {
			uint64_t o = j * STRIPES + 4 * k;
			shorts4 n, b, nw;
			memcpy(&n, c->marks + north + o, sizeof n);
			memcpy(&b, c->marks + below + o, sizeof b);
			memcpy(&nw, c->marks + north + o - STRIPES, sizeof nw);
			lanes4 signs = __builtin_convertvector((n >> SIGN) * 9 + (b >> SIGN) * 3 + (nw >> SIGN), lanes4);
			if (masked || j == c->whole)
				contexts_quarter(c, &h[k], o, at, signs, &words, true, masked ? c->active + o : tail + 4 * k);
			else
				contexts_quarter(c, &h[k], o, at, signs, &words, false, tail);
		}
	}
	for (unsigned k = 0; k < 4; k++) {
		lanes4 west = (h[k].positive & 10) | (~(h[k].negative | h[k].positive) & 5);
		memcpy(c->states + 4 * k, &h[k].x, sizeof h[k].x);
		memcpy(c->before[0] + 4 * k, &h[k].m1, sizeof h[k].m1);
		memcpy(c->before[1] + 4 * k, &h[k].m2, sizeof h[k].m2);
		memcpy(c->west + 4 * k, &west, sizeof west);
	}
	c->words = words;
	return j;
}
#else
static uint64_t contexts_steps(contexts *c, uint64_t at, uint64_t north, uint64_t below, bool masked)
{
	(void)c, (void)at, (void)north, (void)below, (void)masked;
	return 0;
}
#endif

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

#ifdef LORENZ_AVX2
/* Writes the marks of eight steps of eight stripes to eight places. */
static ALWAYS_INLINE void contexts_order8(const uint16_t *marks, uint16_t *line, const uint64_t start[8])
{
	__m128i a[8], b[8];
	for (unsigned j = 0; j < 8; j++)
		a[j] = _mm_loadu_si128((const __m128i *)(marks + STRIPES * j));
	for (unsigned i = 0; i < 4; i++) {
		b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
		b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 2; k++) {
			a[4 * i + 2 * k] = _mm_unpacklo_epi32(b[4 * i + k], b[4 * i + 2 + k]);
			a[4 * i + 2 * k + 1] = _mm_unpackhi_epi32(b[4 * i + k], b[4 * i + 2 + k]);
		}
	for (unsigned i = 0; i < 4; i++) {
		_mm_storeu_si128((__m128i *)(line + start[2 * i]), _mm_unpacklo_epi64(a[i], a[4 + i]));
		_mm_storeu_si128((__m128i *)(line + start[2 * i + 1]), _mm_unpackhi_epi64(a[i], a[4 + i]));
	}
}

/* Writes the marks of a row in order to the memory of the sums, which are no longer needed. */
static bool contexts_in_order(contexts *c, const uint16_t *marks)
{
	uint16_t *line = (uint16_t *)c->sums;
	uint64_t start[STRIPES], done = 0;
	for (uint64_t q = 0; q < STRIPES; q++)
		start[q] = q * c->whole + (q < c->longer ? q : c->longer);
	while (c->whole >= 8 && done < c->whole) {
		done = done + 8 < c->whole ? done : c->whole - 8; /* the last ones again */
		contexts_order8(marks + STRIPES * done, line + done, start);
		contexts_order8(marks + STRIPES * done + 8, line + done, start + 8);
		done += 8;
	}
	for (unsigned q = 0; q < STRIPES; q++)
		for (uint64_t j = done; j < c->whole + (q < c->longer); j++)
			line[start[q] + j] = marks[STRIPES * j + q];
	return true;
}
#else
static bool contexts_in_order(contexts *c, const uint16_t *marks)
{
	(void)c, (void)marks;
	return false;
}
#endif

#endif
