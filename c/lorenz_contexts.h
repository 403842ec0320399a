/*
 * lorenz_contexts.h - what blocks in mode 8 have before their residuals (section 17): rows, tables
 * and columns. Private to lorenz.c.
 */
#ifndef LORENZ_CONTEXTS_H
#define LORENZ_CONTEXTS_H

#include "lorenz_streams.h"
#include "lorenz_zips.h"

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

/* Marks whose low bits are read at once. With AVX2, these are what contexts_at_once leaves. */
#ifdef LORENZ_AVX2
enum { AT_ONCE = 8 };
#else
enum { AT_ONCE = 64 };
#endif

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
	uint32_t slots[MOST_TABLES * SLOTS + 3];      /* magnitude << 22 | slots of the class - 1 << 11 | slots of it before this one */
	uint32_t signs[32];                         /* for the signs 9 N + 3 B + NW: 5 bits for each W and class 1, 16 bits above for others */
	int16_t bounds[MOST_TABLES][STRIPES];       /* for AVX2: boundaries + 2031 */
#ifdef __wasm_simd128__
	uint32_t places[EXPECTATIONS];              /* lut as addresses */
	uint8_t odds[2][3][2 * STRIPES];            /* for class 1 and others, the sign of W, and the numbers of the other signs */
#endif
	uint64_t upper[128];                        /* of the absolute values of each class: all bits but the low ones */
	uint64_t mask[128];                         /* of the low bits of each class */
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
	uint16_t longer16[STRIPES];                 /* all bits for stripes with an element in the other */
	uint32_t longer32[STRIPES];
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
#ifdef LORENZ_ZIPS
		lanes4 v = entry + (lanes4){0, 1, 2, 3};
		for (int32_t k = 0; k < size[i]; k += 4, v += 4)
			memcpy(slots + k, &v, sizeof v); /* some of the next class, too, which are written below */
#else
		for (int32_t k = 0; k < size[i]; k++)
			slots[k] = entry + (uint32_t)k;
#endif
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
			uint64_t next = bits_peek(&b), v = next & 1 ? next >> 1 & 31 : SIGN_SLOTS / 2;
			unsigned taken = next & 1 ? 6 : 1;
			if (taken > b.length - b.at || v == 0)
				return false;
			b.at += taken;
			c->signs[at] |= (uint32_t)v << (5 * west + 16 * k);
		}
	}
#ifdef __wasm_simd128__
	for (unsigned e = 0; e < EXPECTATIONS; e++)
		c->places[e] = (uint32_t)(uintptr_t)(c->slots + c->lut[e]);
	for (unsigned i = 0; i < 6 * 2 * STRIPES; i++)
		c->odds[i / 96][i / 32 % 3][i % 32] = c->signs[i % 32] >> (i / 32 % 3 * 5 + i / 96 * 16) & 31;
#endif
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
		c->mask[i] = ((uint64_t)1 << c->low_bits[i]) - 1;
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
	for (unsigned q = 0; q < STRIPES; q++) {
		c->longer32[q] = q < c->longer ? UINT32_MAX : 0;
		c->longer16[q] = (uint16_t)c->longer32[q];
	}
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

#endif
