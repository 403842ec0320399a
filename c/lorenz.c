/*
 * lorenz.c - decoder of lorenz blocks. lorenz.h describes its use. Section numbers are
 * those of docs/LORENZ.md, and the order is that of this page.
 *
 * Internal functions return false if the block violates the format. Every number that
 * a block contains is compared with a bound before it is used.
 */
#include "lorenz.h"

#include <float.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* LORENZ_SMALL, for clang: what decodes few bytes of archives is short, and not fast. The loops over
 * elements, which are in lorenz_rows.h and lorenz_lanes.h, stay as they are. */
#ifdef LORENZ_SMALL
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif
#include "lorenz_adaptive.h"
#include "lorenz_coder.h"
#include "lorenz_matches.h"
#include "lorenz_streams.h"
#ifdef LORENZ_SMALL
#pragma clang attribute pop
#endif
#include "lorenz_rows.h"

/* The format rounds each operation to the type of the element. The x87 unit of 32-bit
 * x86 does not: compile with -msse2 -mfpmath=sse there. GCC for s390x does not, either,
 * with -std=c11: compile with -fexcess-precision=fast there. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "lorenz needs FLT_EVAL_METHOD 0: compile with -msse2 -mfpmath=sse on 32-bit x86, with -fexcess-precision=fast on s390x"
#endif
#ifdef __FAST_MATH__
#error "lorenz needs IEEE 754: compile without -ffast-math"
#endif
/* Compilers that fuse a * b + c need -ffp-contract=off as well: GCC ignores the pragma. No
 * expression below has this form, so that this is only a precaution. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

enum {
	PIECE = 4096,                      /* residuals decoded at once, a multiple of GROUP */
	MAX_DICTIONARY = 1 << 20,          /* entries (section 4) */
	TEXT_STREAMS = 16,                 /* streams of literals (section 12) */
	MAX_PARTS = 65536,                 /* (section 13) */
	SOURCES = TEXT_STREAMS + 3         /* the most that are open at once, in mode 6 */
};

/* lorenz_avx2.c compiles this file once more for processors with AVX2 and BMI2. If
 * LORENZ_DISPATCH is defined, that file is linked, and chosen when the processor has them. */
#if defined(LORENZ_AVX2) || defined(LORENZ_DISPATCH)
__attribute__((visibility("hidden"))) bool lorenz_decode_avx2(const lorenz_params *p, const uint8_t *src, size_t src_len,
	uint64_t first, uint64_t count, uint8_t *dst, uint8_t *scratch);
#endif

/* ---- The memory of a decoder ---- */

/* Distances used last, the latest first (section 7). */
typedef struct {
	uint64_t d[3];
} recent;

/* Returns the distance of a code, which is far for a code of 3 or more, and makes it the
 * latest. The caller refuses a distance of 0. */
static inline uint64_t recent_distance(recent *r, uint64_t code, uint64_t far)
{
	uint64_t d = code < 3 ? r->d[code] : far;
	if (code != 0) {
		if (code != 1)
			r->d[2] = r->d[1];
		r->d[1] = r->d[0];
		r->d[0] = d;
	}
	return d;
}

/* A part of mode 7. */
typedef struct {
	const uint8_t *block; /* NULL for a copy */
	uint64_t length;      /* of the block; of a copy, its source */
	uint32_t row;         /* the first row */
	uint32_t from, to;    /* the rows of this part that a range needs, counted from row */
} part;

/* The scratch memory, cut into its parts. */
typedef struct {
	const lorenz_params *p; /* of the block or the part */
	uint8_t *kinds;  /* of the elements (section 6) */
	void *lanes;
	uint8_t *entries; /* of a dictionary */
	part *parts;
	uint8_t *whole;  /* bytes of a block, of which a range is wanted */
	groups groups[2];
	source *sources; /* SOURCES */
	uint64_t *piece; /* PIECE lanes */
	adaptive *adaptive;
	contexts *contexts;
	matches *matches;
	coder_tables *tables;
	bool have_tables;
} space;

/* Returns the tables of the coder, which the first call makes. One that comes while they are made makes its own. */
static const coder_tables *tables_of(space *x)
{
	static coder_tables shared;
	static atomic_int made; /* 1 while a call makes them, 2 after that */
	int none = 0;
	if (atomic_load_explicit(&made, memory_order_acquire) == 2)
		return &shared;
	if (atomic_compare_exchange_strong(&made, &none, 1)) {
		coder_tables_init(&shared);
		atomic_store_explicit(&made, 2, memory_order_release);
		return &shared;
	}
	if (!x->have_tables)
		coder_tables_init(x->tables);
	x->have_tables = true;
	return x->tables;
}

static inline bool is_float(const lorenz_params *p)
{
	return p->type == LORENZ_FLOAT32 || p->type == LORENZ_FLOAT64;
}

/* Whether elements are in another byte order than the processor's. */
static inline bool swapped(const lorenz_params *p)
{
	return (p->little_endian != 0) != HOST_LITTLE;
}

/* ---- What depends on the width of lanes ---- */

/* Lanes of elements. A range needs only some cells of the first planes: lanes then has
 * only these. */
typedef struct {
	uint64_t plane, cell; /* elements (section 3) */
	uint64_t all_planes;  /* of the block */
	uint64_t planes;      /* that are needed */
	uint64_t left, width; /* first element of a plane that is needed, and how many are */
} view;

/* A place in the order of cells. */
typedef struct {
	uint64_t cell, plane, i;
} place;

/* 32 bytes that are computed with at once. Compilers for narrower vectors use several. */
typedef uint32_t lanes32 __attribute__((vector_size(32)));
typedef uint64_t lanes64 __attribute__((vector_size(32)));

#include "lorenz_simd.h"

#define BITS 32
#define LANE uint32_t
#define SIGNED int32_t
#define FLOAT float
#define VECTOR lanes32
#define LIMIT 1e37f
#define FN(name) name##32
#include "lorenz_lanes.h"

#define BITS 64
#define LANE uint64_t
#define SIGNED int64_t
#define FLOAT double
#define VECTOR lanes64
#define LIMIT 1e37
#define FN(name) name##64
#include "lorenz_lanes.h"

#ifdef LORENZ_SMALL
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

/* ---- Specials and patches (section 6) ---- */

/* Reads special values and the kinds of all elements. values then points at the values in
 * the block. */
static bool read_specials(space *x, reader *in, unsigned specials, const uint8_t **values)
{
	uint64_t n = x->p->elements, distance, count;
	if (specials * x->p->size > left(in))
		return false;
	*values = in->p;
	in->p += specials * x->p->size;
	source *runs = &x->sources[0];
	if (!read_uv(in, &distance) || distance >= n)
		return false;
	if (!read_uv(in, &count) || count < 1 || count > n + 1 || !source_open(in, runs, count, NUMBERS))
		return false;
	unsigned step = specials;
	uint64_t at = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t length;
		if (!source_number(runs, &length))
			return false;
		step++;
		if (specials == 2) {
			step += length & 1;
			length >>= 1;
		}
		step %= specials + 1;
		if ((length == 0 && i > 0) || length > n - at)
			return false;
		memset(x->kinds + at, (int)step, length);
		at += length;
	}
	if (at != n)
		return false;
	if (distance == 0)
		return true;
	uint64_t i = distance;
	for (; distance >= 8 && n - i >= 8; i += 8) { /* eight kinds at once */
		uint64_t kind = load64(x->kinds + i) + load64(x->kinds + i - distance);
		uint64_t over = (kind + EACH_BYTE * (7 - specials)) >> 3 & EACH_BYTE;
		store_element(x->kinds + i, kind - over * (specials + 1), 8, !HOST_LITTLE);
	}
	for (; i < n; i++) {
		unsigned kind = x->kinds[i] + x->kinds[i - distance];
		x->kinds[i] = (uint8_t)(kind > specials ? kind - specials - 1 : kind);
	}
	return true;
}

/* Writes the special values of the masked elements among count of size bytes. */
static ALWAYS_INLINE void write_kinds(const uint8_t *kinds, const uint64_t value[3], uint64_t count, unsigned size, uint8_t *out)
{
	const uint32_t narrow[3] = {0, (uint32_t)value[1], (uint32_t)value[2]};
	uint64_t i = 0;
	for (; count - i >= 8; i += 8) {
		if (load64(kinds + i) == 0)
			continue;
		if (size == 4) {
			write_eight32(load64(kinds + i), narrow, out + i * 4);
			continue;
		}
		for (uint64_t j = i; j < i + 8; j++)
			if (kinds[j] != 0)
				store_element(out + j * size, value[kinds[j]], size, false);
	}
	for (; i < count; i++)
		if (kinds[i] != 0)
			store_element(out + i * size, value[kinds[i]], size, false);
}

static void write_specials(const lorenz_params *p, unsigned specials, const uint8_t *kinds, const uint8_t *values, uint64_t count,
	uint8_t *out)
{
	uint64_t value[3] = {0};
	for (unsigned i = 0; i < specials; i++) {
		uint8_t b[8];
		copy_element(b, values + i * p->size, p->size, p->little_endian);
		value[i + 1] = load_element(b, p->size);
	}
	switch (p->size) {
	case 1: write_kinds(kinds, value, count, 1, out); break;
	case 2: write_kinds(kinds, value, count, 2, out); break;
	case 4: write_kinds(kinds, value, count, 4, out); break;
	default: write_kinds(kinds, value, count, 8, out);
	}
}

/* Patches that have been found but not written. */
typedef struct {
	uint64_t count;
	reader distances; /* at the stream */
	const uint8_t *elements;
} patches;

static bool read_patches(space *x, reader *in, patches *to)
{
	if (!read_uv(in, &to->count) || to->count > x->p->elements)
		return false;
	to->distances = *in;
	if (!source_open(in, &x->sources[0], to->count, NUMBERS) || to->count * x->p->size > left(in))
		return false;
	to->elements = in->p;
	in->p += to->count * x->p->size;
	return true;
}

/* Writes those of the elements first to first + count - 1. */
static bool write_patches(space *x, patches *from, uint64_t first, uint64_t count, uint8_t *out)
{
	const lorenz_params *p = x->p;
	source *s = &x->sources[0];
	uint64_t at = 0;
	if (!source_open(&from->distances, s, from->count, NUMBERS))
		return false;
	for (uint64_t i = 0; i < from->count; i++) {
		uint64_t distance;
		if (!source_number(s, &distance) || (distance == 0 && i > 0) || distance >= p->elements - at)
			return false;
		at += distance;
		if (at >= first && at - first < count)
			copy_element(out + (at - first) * p->size, from->elements + i * p->size, p->size, p->little_endian);
	}
	return true;
}

/* ---- Modes 2, 4, 5 and 8 (sections 3 to 5, 10, 11 and 17) ---- */

typedef enum { ORDER = 0, FIXED = 1, RATIO = 2, DICTIONARY = 3, SINGLE = 4 } transform;

/* What precedes the residuals. */
typedef struct {
	unsigned specials; /* number of special values */
	bool wide;         /* lanes of 64 bits */
	unsigned transform;
	uint64_t plane, cell;
	unsigned float_kind; /* of the float predictor, or 0 */
	uint64_t row, distance;
	unsigned strides;
	uint64_t stride[4];
	const uint8_t *values;  /* the special ones */
	double by;              /* of fixed and ratio */
	uint64_t entries;       /* of the dictionary */
	patches patches;
	bool has_repeats;
	uint64_t repeats;
} head;

static bool transform_allowed(const lorenz_params *p, unsigned transform, bool wide)
{
	switch (transform) {
	case ORDER:
		return wide == (p->size == 8);
	case FIXED:
	case RATIO:
		return is_float(p) && (p->size == 8 || !wide);
	case DICTIONARY:
		return !wide;
	case SINGLE:
		return p->type == LORENZ_FLOAT64 && !wide;
	default:
		return false;
	}
}

/* Reports whether a stride is allowed (section 3). */
static bool stride_allowed(const head *h, uint64_t n, uint64_t s)
{
	return s >= 1 && s < n && (s < h->cell || s % h->plane == 0);
}

/* Reads the predictor (section 5). */
static bool read_predictor(const lorenz_params *p, reader *in, head *h, bool floats)
{
	uint8_t b;
	if (!read_byte(in, &b))
		return false;
	if (!floats) {
		h->strides = b;
		if (b > 4)
			return false;
		for (unsigned i = 0; i < b; i++)
			if (!read_uv(in, &h->stride[i]) || !stride_allowed(h, p->elements, h->stride[i]))
				return false;
		return true;
	}
	h->float_kind = b;
	if (b < 1 || b > 5 || h->transform != ORDER || !is_float(p))
		return false;
	if (!read_uv(in, &h->row) || h->row < 1 || h->row > h->cell || (h->cell % h->row != 0 && h->cell != h->plane))
		return false;
	if (b >= 2 && b <= 4)
		return read_uv(in, &h->distance) && h->distance >= h->plane && h->distance < p->elements &&
			h->distance % h->plane == 0;
	return true;
}

static bool read_dictionary(space *x, reader *in, head *h)
{
	const lorenz_params *p = x->p;
	groups *g = &x->groups[0];
	if (!read_uv(in, &h->entries) || h->entries < 1 || h->entries > p->elements || h->entries > MAX_DICTIONARY)
		return false;
	/* The lanes of elements are not needed yet. */
	if (p->size == 8) {
		uint64_t *y = x->lanes, sum = 0;
		if (!groups_open(in, g, h->entries, 64) || !g->plain || !groups_read64(g, y, groups_of(h->entries)))
			return false;
		for (uint64_t i = 0; i < h->entries; i++)
			y[i] = sum += y[i];
		order64(y, h->entries, 8, is_float(p), swapped(p), x->entries);
	} else {
		uint32_t *y = x->lanes, sum = 0;
		if (!groups_open(in, g, h->entries, 32) || !g->plain || !groups_read32(g, y, groups_of(h->entries)))
			return false;
		for (uint64_t i = 0; i < h->entries; i++)
			y[i] = sum += y[i];
		order32(y, h->entries, p->size, is_float(p), swapped(p), x->entries);
	}
	return true;
}

/* Reads the parameters of the transform (section 4). */
static bool read_transform(space *x, reader *in, head *h)
{
	switch (h->transform) {
	case FIXED: {
		if (left(in) < 2)
			return false;
		int q = (int16_t)(uint16_t)(in->p[0] | in->p[1] << 8);
		in->p += 2;
		if (q < -1074 || q > 1023)
			return false;
		uint64_t power = q < -1022 ? (uint64_t)1 << (q + 1074) : (uint64_t)(q + 1023) << 52;
		memcpy(&h->by, &power, 8);
		return true;
	}
	case RATIO: {
		uint64_t d;
		if (!read_uv(in, &d) || d < 1 || d > (uint64_t)1 << 53)
			return false;
		h->by = (double)d;
		return true;
	}
	case DICTIONARY:
		return read_dictionary(x, in, h);
	default:
		return true;
	}
}

/* Reads everything before the residuals, for modes 2, 4, 5 and 8. */
static bool read_head(space *x, reader *in, unsigned mode, head *h)
{
	const lorenz_params *p = x->p;
	uint64_t n = p->elements;
	uint8_t flags, transform;
	if (!read_byte(in, &flags) || !read_byte(in, &transform) || flags & 8)
		return false;
	memset(h, 0, sizeof *h);
	h->specials = flags & 3;
	h->wide = flags & 128;
	h->transform = transform;
	h->has_repeats = flags & 16;
	if (h->specials == 3 || !transform_allowed(p, transform, h->wide))
		return false;
	bool cells = flags & 32;
	h->plane = h->cell = n;
	if (cells && (!read_uv(in, &h->plane) || !read_uv(in, &h->cell)))
		return false;
	if (h->plane < 1 || n % h->plane != 0 || h->cell < 1 || h->cell > h->plane)
		return false;
	if (h->has_repeats && (cells || mode != 2))
		return false;
	if (cells && (mode == 5 || (mode == 4 && h->cell != h->plane)))
		return false;
	if (!read_predictor(p, in, h, flags & 4))
		return false;
	if (h->specials > 0 && !read_specials(x, in, h->specials, &h->values))
		return false;
	if (!read_transform(x, in, h))
		return false;
	if (flags & 64 && !read_patches(x, in, &h->patches))
		return false;
	return true;
}

/* Returns N and B (section 10). */
static void adaptive_distances(const lorenz_params *p, uint64_t *n, uint64_t *b)
{
	uint64_t d1 = p->last_long[0], d2 = p->last_long[1];
	*n = 4;
	*b = 8;
	if (p->long_dims >= 2) {
		*n = d2 > 3 ? d2 : 3;
		*b = p->long_dims == 2 ? 2 * d2 : d1 * d2;
		*b = *b > 3 ? *b : 3;
	}
}

/* Returns the lanes that the elements first to first + count - 1 need. */
static view needed_lanes(const head *h, uint64_t n, uint64_t first, uint64_t count, bool any)
{
	view v = {h->plane, h->cell, n / h->plane, n / h->plane, 0, h->plane};
	if (!any || count == n)
		return v;
	uint64_t last = first + count - 1;
	v.planes = last / v.plane + 1;
	if (first / v.plane == last / v.plane) {
		v.left = first % v.plane / v.cell * v.cell;
		v.width = (last % v.plane / v.cell + 1) * v.cell;
		if (v.width > v.plane)
			v.width = v.plane;
		v.width -= v.left;
	}
	return v;
}

/* Decodes the residuals of a block in mode 2 that the view needs. */
static bool read_groups(space *x, reader *in, const head *h, const view *v, const uint8_t *kinds)
{
	groups *g = &x->groups[0];
	uint64_t n = x->p->elements, before = v->all_planes * v->left, m = n, wanted = v->all_planes * v->width;
	if (kinds != NULL && wanted == n) {
		m = wanted = count_unmasked(kinds, n);
	} else if (kinds != NULL) {
		m = count_unmasked(kinds, n);
		before = wanted = 0;
		for (uint64_t p = 0; p < v->all_planes; p++) {
			before += count_unmasked(kinds + p * v->plane, v->left);
			wanted += count_unmasked(kinds + p * v->plane + v->left, v->width);
		}
	}
	if (!groups_open(in, g, m, h->wide ? 64 : 32) || left(in) > 0)
		return false;
	return h->wide ? residuals64(x, g, v, kinds, before, wanted, x->lanes) :
		residuals32(x, g, v, kinds, before, wanted, x->lanes);
}

/* Decodes the residuals of a block with repeats or of mode 5. */
static bool read_copies(space *x, reader *in, unsigned mode, const head *h, const uint8_t *kinds)
{
	uint64_t n = x->p->elements, count, m = kinds ? count_unmasked(kinds, n) : n;
	bool ok;
	if (mode == 5) {
		ok = h->wide ? references64(x, in, m, x->lanes) : references32(x, in, m, x->lanes);
	} else {
		source *parts = &x->sources[12];
		if (!read_uv(in, &count) || count > m)
			return false;
		for (unsigned i = 0; i < 3; i++)
			if (!source_open(in, &parts[i], count, NUMBERS))
				return false;
		ok = h->wide ? repeats64(x, in, m, count, parts, x->lanes) : repeats32(x, in, m, count, parts, x->lanes);
	}
	if (!ok || left(in) > 0)
		return false;
	if (kinds != NULL && h->wide)
		spread64(kinds, n, m, x->lanes);
	else if (kinds != NULL)
		spread32(kinds, n, m, x->lanes);
	return true;
}

static bool read_adaptive(space *x, reader *in, const head *h, const uint8_t *kinds)
{
	uint64_t n = x->p->elements, n_distance, b_distance;
	adaptive_distances(x->p, &n_distance, &b_distance);
	adaptive *a = x->adaptive;
	if (!adaptive_open(a, in, n_distance, b_distance, tables_of(x)))
		return false;
	if (!(h->wide ? adaptive_read64(a, kinds, x->lanes, n) : adaptive_read32(a, kinds, x->lanes, n)))
		return false;
	return adaptive_finished(a);
}

/* Returns the rows of a block in mode 8. */
static shape shape_with(const lorenz_params *p, const head *h)
{
	shape s;
	shape_of(&s, p->elements, p->long_dims, p->first_long, p->last_long);
	if (h->cell < h->plane) {
		s.cut = true;
		s.jump = h->plane;
		s.cell = h->cell;
	}
	return s;
}

/* Decodes the residuals of a block in mode 8 that the view needs. */
static bool read_contexts(space *x, reader *in, const head *h, const view *v, const uint8_t *kinds)
{
	contexts *c = x->contexts;
	shape block = shape_with(x->p, h);
	unsigned width = h->wide ? 64 : 32;
	if (!shape_valid(&block) || (block.cut && shape_columns(&block) * LEAST_COLUMN > left(in)) || !contexts_open(c, in, &block, width))
		return false;
	for (uint64_t at = 0; at < v->width; at += v->cell) {
		if (!contexts_column(c, (v->left + at) / v->cell, width))
			return false;
		const shape *s = &c->s;
		uint64_t row = s->row, rows = v->planes * s->each; /* all that are left if planes are not cut */
		if (!block.cut)
			rows = (v->planes * v->width + row - 1) / row;
		else if (v->planes == 1 && v->width - at < s->each * row)
			rows = (v->width - at + row - 1) / row;
		if (!(h->wide ? contexts_read64(c, kinds, rows, (uint64_t *)x->lanes + at, v->width) :
			contexts_read32(c, kinds, rows, (uint32_t *)x->lanes + at, v->width)))
			return false;
		if (rows == s->rows && !contexts_finished(c))
			return false;
	}
	return true;
}

/* Turns residuals into lanes (section 5). */
static void predict(const head *h, const view *v, void *lanes)
{
	if (h->float_kind > 0 && h->wide)
		float_predictor64(v, h->float_kind, h->row, h->distance, lanes);
	else if (h->float_kind > 0)
		float_predictor32(v, h->float_kind, h->row, h->distance, lanes);
	for (unsigned i = 0; i < h->strides; i++)
		if (h->wide)
			stride64(v, h->stride[i], lanes);
		else
			stride32(v, h->stride[i], lanes);
}

/* The transform dictionary. */
static ALWAYS_INLINE void look_up(const uint32_t *y, uint64_t count, const uint8_t *entries, uint64_t entry_count, unsigned size,
	uint8_t *out)
{
	for (uint64_t i = size == 4 ? look_up_eights32(y, count, entries, entry_count, out) : 0; i < count; i++) {
		uint64_t entry = y[i] < entry_count ? y[i] : 0;
		store_element(out + i * size, load_element(entries + entry * size, size), size, false);
	}
}

/* Turns count lanes, from lane at on, into elements (section 4). */
static void write_elements(const space *x, const head *h, uint64_t at, uint64_t count, uint8_t *out)
{
	const lorenz_params *p = x->p;
	const uint32_t *narrow = (const uint32_t *)x->lanes + at;
	const uint64_t *wide = (const uint64_t *)x->lanes + at;
	bool swap = swapped(p);
	switch (h->transform) {
	case ORDER:
		if (h->wide)
			order64(wide, count, p->size, is_float(p), swap, out);
		else
			order32(narrow, count, p->size, is_float(p), swap, out);
		break;
	case FIXED:
	case RATIO:
		if (h->wide)
			scaled64(wide, count, h->transform == RATIO, h->by, p->size, swap, out);
		else
			scaled32(narrow, count, h->transform == RATIO, h->by, p->size, swap, out);
		break;
	case DICTIONARY:
		switch (p->size) {
		case 1: look_up(narrow, count, x->entries, h->entries, 1, out); break;
		case 2: look_up(narrow, count, x->entries, h->entries, 2, out); break;
		case 4: look_up(narrow, count, x->entries, h->entries, 4, out); break;
		default: look_up(narrow, count, x->entries, h->entries, 8, out);
		}
		break;
	default:
		for (uint64_t i = 0; i < count; i++) {
			double v = float_of32(narrow[i]);
			uint64_t bits;
			memcpy(&bits, &v, sizeof bits);
			store_element(out + i * 8, bits, 8, swap);
		}
	}
}

/* Decodes the elements first to first + count - 1 of a block in the modes 2, 4, 5 and 8. */
static bool decode_lanes(space *x, reader *in, unsigned mode, uint64_t first, uint64_t count, uint8_t *out)
{
	const lorenz_params *p = x->p;
	uint64_t n = p->elements;
	head h;
	if (!read_head(x, in, mode, &h))
		return false;
	const uint8_t *kinds = h.specials > 0 ? x->kinds : NULL;
	bool copies = mode == 5 || h.has_repeats;
	/* Without a predictor, any few groups are a cell. */
	if (mode == 2 && !copies && h.strides == 0 && h.float_kind == 0 && h.cell == n && n > GROUP)
		h.cell = GROUP;
	shape rows = shape_with(p, &h);
	view v = needed_lanes(&h, n, first, count, (mode == 2 && !copies) || (mode == 8 && !rows.turned));
	if (mode == 8 && !rows.turned && rows.row > 0 && v.planes == 1 && count < n) { /* whole rows are decoded, as far as the last element */
		uint64_t row = rows.dims == 1 ? v.cell : rows.row, end = ((first + count - 1) % v.plane - v.left) / row * row + row;
		v.width = end < v.width ? end : v.width;
	}
	if (!(copies ? read_copies(x, in, mode, &h, kinds) :
		mode == 4 ? read_adaptive(x, in, &h, kinds) : mode == 8 ? read_contexts(x, in, &h, &v, kinds) : read_groups(x, in, &h, &v, kinds)))
		return false;
	predict(&h, &v, x->lanes);
	write_elements(x, &h, first / v.plane * v.width + first % v.plane - v.left, count, out);
	if (kinds != NULL)
		write_specials(p, h.specials, kinds + first, h.values, count, out);
	return h.patches.count == 0 || write_patches(x, &h.patches, first, count, out);
}

/* ---- Mode 6, text (section 12) ---- */

/* Turns count big-endian elements into elements of the order of the block. */
static void reverse_elements(const lorenz_params *p, uint64_t count, uint8_t *out)
{
	if (!p->little_endian || p->size == 1)
		return;
	for (uint64_t i = 0; i < count * p->size; i += p->size)
		for (unsigned j = 0; j < p->size / 2; j++) {
			uint8_t b = out[i + j];
			out[i + j] = out[i + p->size - 1 - j];
			out[i + p->size - 1 - j] = b;
		}
}

/* Decodes the whole block to out. */
static bool decode_text(space *x, reader *in, uint8_t *out)
{
	const lorenz_params *p = x->p;
	uint64_t size = p->elements * p->size, row, repeats;
	source *streams = x->sources, *parts = x->sources + TEXT_STREAMS;
	uint8_t options;
	if (!read_byte(in, &options) || !read_uv(in, &row) || row < 1 || row > size)
		return false;
	unsigned kind = options & 3, count = (options >> 2) + 1;
	if (count > TEXT_STREAMS || (kind == 0 && count > 1) || (kind == 3 && row > 256))
		return false;
	uint8_t stream_of[256] = {0};
	if (kind > 0) {
		unsigned contexts = kind == 3 ? (unsigned)row : 256;
		if (!source_open(in, &parts[0], contexts, NUMBERS))
			return false;
		for (unsigned i = 0; i < contexts; i++) {
			uint64_t v;
			if (!source_number(&parts[0], &v) || v >= count)
				return false;
			stream_of[i] = (uint8_t)v;
		}
	}
	if (!read_uv(in, &repeats) || repeats > size / 2)
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (!source_open(in, &parts[i], repeats, NUMBERS))
			return false;
	uint64_t all = 0;
	for (unsigned i = 0; i < count; i++) {
		uint64_t n;
		if (!read_uv(in, &n) || n > size - all || !source_open(in, &streams[i], n, SYMBOLS))
			return false;
		all += n;
	}
	if (left(in) > 0)
		return false;

	recent distances = {{1, row, 2 * row}};
	uint64_t at = 0;
	for (uint64_t i = 0; i <= repeats; i++) {
		uint64_t literals = size - at, length = 0, code = 0;
		if (i < repeats && (!source_number(&parts[0], &literals) || !source_number(&parts[1], &length) ||
			!source_number(&parts[2], &code)))
			return false;
		if (literals > size - at)
			return false;
		for (uint64_t end = at + literals; at < end; at++) {
			unsigned context = 0;
			if (kind == 1)
				context = at > 0 ? out[at - 1] : 0;
			else if (kind == 2)
				context = at >= distances.d[0] ? out[at - distances.d[0]] : 0;
			else if (kind == 3)
				context = (unsigned)(at % row);
			source *s = &streams[stream_of[context]];
			if (s->at == s->have && (s->left == 0 || !source_fill(s)))
				return false;
			out[at] = s->symbols[s->at++];
		}
		if (i == repeats)
			break;
		uint64_t d = recent_distance(&distances, code, code < 67 ? (code - 2) * row : code - 66);
		if (d > at || length > size - at || size - at - length < 2)
			return false;
		for (uint64_t end = at + length + 2; at < end; at++)
			out[at] = out[at - d];
	}
	for (unsigned i = 0; i < count; i++)
		if (streams[i].left > 0 || streams[i].at < streams[i].have)
			return false;
	reverse_elements(p, p->elements, out);
	return true;
}

/* ---- Mode 3, matches (section 12) ---- */

/* Writes the elements first to first + count - 1 of a block, and decodes none after them. whole has the size of the
 * block, and may be where they are written if they are all. */
static bool decode_matches(space *x, reader *in, uint64_t first, uint64_t count, uint8_t *whole, uint8_t *out)
{
	const lorenz_params *p = x->p;
	uint64_t values = 0, size = p->elements * p->size, need = (first + count) * p->size;
	uint8_t options;
	if (!read_byte(in, &options) || options & ~31u)
		return false;
	bool dictionary = options & 8, has_table = options & 16;
	const uint8_t *table = NULL;
	if (has_table) {
		if (!read_uv(in, &values) || values > 256 || values * p->size > left(in))
			return false;
		table = in->p;
		in->p += values * p->size;
		size = p->elements;
		need = first + count;
	}
	if (size > MAX_MATCHES)
		return false;
	uint8_t *coded = has_table ? x->kinds : whole;
	if (!matches_decode(x->matches, in->p, in->end, (options & 7) + 1, dictionary, size, need, coded, tables_of(x)))
		return false;
	if (!has_table) {
		if (whole != out)
			memcpy(out, whole + first * p->size, count * p->size);
		reverse_elements(p, count, out);
		return true;
	}
	for (uint64_t i = 0; i < need; i++)
		if (coded[i] >= values)
			return false;
	for (uint64_t i = 0; i < count; i++)
		copy_element(out + i * p->size, table + coded[first + i] * p->size, p->size, p->little_endian);
	return true;
}

/* ---- Mode 7, parts (section 13) ---- */

static bool decode_block(space *x, reader *in, bool is_part, uint64_t first, uint64_t count, uint8_t *out);

/* Returns the parameters of a part with some rows of the block p. */
static lorenz_params part_params(const lorenz_params *p, uint32_t rows)
{
	lorenz_params q = *p;
	q.elements = p->elements / p->first_long * rows;
	if (rows > 1) {
		q.first_long = rows;
		if (p->long_dims <= 2)
			q.last_long[2 - p->long_dims] = rows;
	} else {
		q.long_dims--;
		q.first_long = p->second_long;
	}
	return q;
}

/* Reads the heads, and returns the number of parts, or 0 if they are corrupt. x->parts[i]
 * is then part i, and a part with the row first_long follows the last one. */
static size_t read_parts(space *x, reader *in)
{
	const lorenz_params *p = x->p;
	uint32_t k = p->first_long, row = 0;
	size_t count = 0;
	if (p->long_dims == 0)
		return 0;
	uint64_t total = 0;
	while (row < k) {
		uint64_t rows, length, from = 0;
		if (count == MAX_PARTS || !read_uv(in, &rows) || !read_uv(in, &length))
			return 0;
		if (rows < 1 || rows > k - 1 || rows > k - row || length > left(in))
			return 0;
		if (length == 0 && !read_uv(in, &from))
			return 0;
		part *at = &x->parts[count++];
		*at = (part){NULL, length ? length : from, row, 0, 0};
		at->block = length ? in->p : NULL; /* moved behind the heads below */
		total += length;
		row += (uint32_t)rows;
	}
	x->parts[count] = (part){NULL, 0, row, 0, 0};
	if (total != left(in))
		return 0;
	const uint8_t *block = in->p;
	for (size_t i = 0; i < count; i++) {
		part *at = &x->parts[i];
		if (at->block != NULL) {
			at->block = block;
			block += at->length;
		}
	}
	in->p = in->end;
	return count;
}

/* Returns the part, before part i, of which the part i is a copy, or NULL if it is a copy
 * of anything else. */
static part *part_source(space *x, size_t i)
{
	part *copy = &x->parts[i];
	uint64_t from = copy->length;
	if (from >= copy->row)
		return NULL;
	size_t low = 0, high = i; /* parts[low].row <= from < parts[high].row */
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		if (x->parts[mid].row <= from)
			low = mid;
		else
			high = mid;
	}
	part *s = &x->parts[low];
	return s->block != NULL && from + (copy[1].row - copy[0].row) <= s[1].row ? s : NULL;
}

/* Decodes some rows of a part, counted from its first one, or of these some elements. */
static bool decode_part(space *x, const part *at, uint64_t first, uint64_t count, uint8_t *out)
{
	const lorenz_params *p = x->p;
	lorenz_params q = part_params(p, at[1].row - at[0].row);
	reader in = {at->block, at->block + at->length};
	x->p = &q;
	bool ok = decode_block(x, &in, true, first, count, out);
	x->p = p;
	return ok;
}

static bool decode_parts(space *x, reader *in, uint64_t first, uint64_t count, uint8_t *out)
{
	const lorenz_params *p = x->p;
	size_t parts = read_parts(x, in);
	if (parts == 0)
		return false;
	uint64_t row = p->elements / p->first_long, row_size = row * p->size;
	if (count == p->elements) {
		for (size_t i = 0; i < parts; i++) {
			const part *at = &x->parts[i];
			uint64_t rows = at[1].row - at->row;
			if (at->block != NULL) {
				if (!decode_part(x, at, 0, rows * row, out + at->row * row_size))
					return false;
			} else {
				if (part_source(x, i) == NULL)
					return false;
				memcpy(out + at->row * row_size, out + at->length * row_size, rows * row_size);
			}
		}
		return true;
	}
	/* Each part is decoded once to x->whole, with all rows of it that the range and its
	 * copies need. */
	uint32_t from = (uint32_t)(first / row), to = (uint32_t)((first + count - 1) / row) + 1;
	for (size_t i = 0; i < parts; i++) {
		part *at = &x->parts[i], *s = at;
		uint32_t low = at->row > from ? at->row : from, high = at[1].row < to ? at[1].row : to;
		if (at->block == NULL) {
			s = part_source(x, i);
			if (s == NULL)
				return false;
		}
		if (low >= high)
			continue;
		low -= at->row;
		high -= at->row;
		if (at->block == NULL) {
			uint32_t moved = (uint32_t)at->length - s->row;
			low += moved;
			high += moved;
		}
		if (s->from == s->to) {
			s->from = low;
			s->to = high;
		} else {
			s->from = low < s->from ? low : s->from;
			s->to = high > s->to ? high : s->to;
		}
	}
	for (size_t i = 0; i < parts; i++) {
		const part *at = &x->parts[i];
		if (at->from < at->to &&
		    !decode_part(x, at, at->from * row, (at->to - at->from) * row, x->whole + (at->row + at->from) * row_size))
			return false;
	}
	for (size_t i = 0; i < parts; i++) {
		const part *at = &x->parts[i];
		uint64_t low = at->row * row, high = at[1].row * row;
		low = low > first ? low : first;
		high = high < first + count ? high : first + count;
		if (low >= high)
			continue;
		uint64_t stored = at->block ? low : low - at->row * row + at->length * row;
		memcpy(out + (low - first) * p->size, x->whole + stored * p->size, (high - low) * p->size);
	}
	return true;
}

/* ---- Blocks (section 2) ---- */

/* Decodes the elements first to first + count - 1 of a block. count is 0 only if the block
 * has no elements. */
static bool decode_block(space *x, reader *in, bool is_part, uint64_t first, uint64_t count, uint8_t *out)
{
	const lorenz_params *p = x->p;
	uint8_t mode;
	if (!read_byte(in, &mode) || (mode != 0 && p->elements == 0))
		return false;
	switch (mode) {
	case 0:
		if (left(in) != p->elements * p->size)
			return false;
		if (count > 0)
			memcpy(out, in->p + first * p->size, count * p->size);
		return true;
	case 1:
		if (left(in) != p->size)
			return false;
		if (count > 0)
			memcpy(out, in->p, p->size);
		for (uint64_t done = 1; done < count; done *= 2) /* what is there is copied behind itself */
			memcpy(out + done * p->size, out, (done < count - done ? done : count - done) * p->size);
		return true;
	case 2:
	case 4:
	case 5:
	case 8:
		return decode_lanes(x, in, mode, first, count, out);
	case 3:
		return decode_matches(x, in, first, count, count == p->elements ? out : x->lanes, out);
	case 6:
		if (count == p->elements)
			return decode_text(x, in, out);
		if (!decode_text(x, in, x->lanes))
			return false;
		memcpy(out, (const uint8_t *)x->lanes + first * p->size, count * p->size);
		return true;
	case 7:
		return !is_part && decode_parts(x, in, first, count, out);
	default:
		return false;
	}
}

/* ---- Scratch memory (section 14) ---- */

/* Cuts size bytes from scratch memory that begins at base. */
static void *cut(uint8_t *base, uint64_t *at, uint64_t size)
{
	uint8_t *p = base ? base + *at : NULL;
	*at += (size + 63) / 64 * 64;
	return p;
}

/* Returns the elements that blocks with these parameters, or parts of them, keep around those
 * that they decode in mode 8, and sets the most that a row takes. */
static uint64_t contexts_storage(const lorenz_params *p, uint64_t *row)
{
	uint32_t z = p->last_long[1], k = p->first_long, turned = z > 0 ? MOST_ROW / z : 0;
	/* Parts have one row, or some along the last dimension, or so many that they are along the
	 * first one. */
	const uint32_t rows[] = {k, 1, 2, k - 1 < turned ? k - 1 : turned};
	uint64_t most = 0;
	*row = 0;
	for (unsigned i = 0; i < (p->long_dims > 0 ? 4 : 0); i++) {
		shape s;
		lorenz_params q = i == 0 || rows[i] < 1 || rows[i] >= k ? *p : part_params(p, rows[i]);
		shape_of(&s, q.elements, q.long_dims, q.first_long, q.last_long);
		if (s.row < LEAST_ROW || (s.row > MOST_ROW && s.dims > 1))
			continue;
		/* Columns may keep the bounds where the block does not. */
		s.row = s.row < MOST_ROW ? s.row : MOST_ROW;
		s.plane = s.plane < MOST_ROW / s.row ? s.plane : MOST_ROW / s.row;
		uint64_t ring, stride = shape_storage(&s, &ring);
		*row = stride > *row ? stride : *row;
		most = ring * stride > most ? ring * stride : most;
	}
	return most;
}

/* Cuts scratch memory for blocks with parameters p into parts, and returns the bytes that
 * it needs. If base is NULL, it only returns the bytes. */
static uint64_t lay_out(space *x, const lorenz_params *p, uint8_t *base)
{
	uint64_t n = p->elements, at = 0, padded = groups_of(n) * GROUP, count = groups_of(n);
	uint64_t entries = n < MAX_DICTIONARY ? n : MAX_DICTIONARY;
	uint64_t ring = adaptive_states(n + 8), parts = p->long_dims == 0 ? 0 : p->first_long < MAX_PARTS ? p->first_long : MAX_PARTS;
	memset(x, 0, sizeof *x);
	x->p = p;
	x->tables = cut(base, &at, sizeof *x->tables);
	x->sources = cut(base, &at, SOURCES * sizeof *x->sources);
	x->piece = cut(base, &at, PIECE * sizeof *x->piece);
	x->adaptive = cut(base, &at, sizeof *x->adaptive);
	uint16_t *states = cut(base, &at, ring * sizeof *states);
	uint64_t row, stored = contexts_storage(p, &row);
	contexts *c = x->contexts = cut(base, &at, sizeof *x->contexts);
	float *mags = cut(base, &at, stored * sizeof *mags), *sums = cut(base, &at, row * sizeof *sums);
	uint16_t *marks = cut(base, &at, stored * sizeof *marks), *active = cut(base, &at, row * sizeof *active);
	uint8_t *zeros = cut(base, &at, count);
	x->matches = cut(base, &at, sizeof *x->matches);
	probability *hashed = cut(base, &at, ((size_t)3 * GROUP_SLOTS << (matches_bits(n * p->size) - 16)) * sizeof *hashed);
	if (base != NULL) {
		x->adaptive->states = states;
		c->mags = mags;
		c->sums = sums;
		c->marks = marks;
		c->active = active;
		c->zeros = zeros;
		x->matches->hashed = hashed;
	}
	for (unsigned i = 0; i < 2; i++) {
		x->groups[i].classes = cut(base, &at, count);
		x->groups[i].shifts = cut(base, &at, count);
		x->groups[i].sources = base ? x->sources + 6 * i : NULL;
	}
	x->parts = cut(base, &at, (parts + 1) * sizeof *x->parts);
	x->entries = cut(base, &at, entries * p->size);
	x->kinds = cut(base, &at, n + 8);
	x->lanes = cut(base, &at, padded * (p->size < 4 ? 4 : p->size));
	x->whole = cut(base, &at, parts > 0 ? n * p->size : 0);
	return at;
}

/* Decodes a range of a block. Nothing but the block may be wrong. */
static bool decode(const lorenz_params *p, const uint8_t *src, size_t src_len, uint64_t first, uint64_t count,
	uint8_t *dst, uint8_t *scratch)
{
	space x;
	if (src_len == 0)
		return false;
	lay_out(&x, p, scratch + (-(uintptr_t)scratch & 63));
	reader in = {src, src + src_len};
	return decode_block(&x, &in, false, first, count, dst);
}

#ifdef LORENZ_AVX2
bool lorenz_decode_avx2(const lorenz_params *p, const uint8_t *src, size_t src_len, uint64_t first, uint64_t count,
	uint8_t *dst, uint8_t *scratch)
{
	return decode(p, src, src_len, first, count, dst, scratch);
}
#else
/* ---- Rounding ---- */

/* Sets the default floating-point modes, and *before to those of the caller. Returns false
 * if it cannot, and they are others. The instructions do not pass each other or accesses of
 * memory. */
static bool floats_set(uint32_t *before)
{
#if defined(__SSE2__) && defined(__GNUC__)
	uint32_t usual = 0x1f80;
	__asm__ volatile("stmxcsr %0" : "=m"(*before) : : "memory");
	__asm__ volatile("ldmxcsr %0" : : "m"(usual) : "memory");
	return true;
#elif defined(__aarch64__) && defined(__GNUC__)
	uint64_t modes;
	__asm__ volatile("mrs %0, fpcr" : "=r"(modes) : : "memory");
	*before = (uint32_t)modes;
	__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
	return true;
#else
	volatile double least = DBL_MIN, one = 1, little = DBL_EPSILON * 0.75;
	*before = 0;
	return least / 2 > 0 && one + little > one && one + little / 2 == one && -one - little / 2 == -one;
#endif
}

static void floats_restore(uint32_t before)
{
#if defined(__SSE2__) && defined(__GNUC__)
	__asm__ volatile("ldmxcsr %0" : : "m"(before) : "memory");
#elif defined(__aarch64__) && defined(__GNUC__)
	__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)before) : "memory");
#else
	(void)before;
#endif
}

/* ---- The public functions ---- */

const char *lorenz_version(void)
{
	return LORENZ_VERSION;
}

const char *lorenz_strerror(lorenz_status status)
{
	switch (status) {
	case LORENZ_OK:
		return "no error";
	case LORENZ_PARAMETERS:
		return "lorenz: these are no parameters of a block";
	case LORENZ_CORRUPT:
		return "lorenz: the block is corrupt";
	case LORENZ_RANGE:
		return "lorenz: the range exceeds the block";
	case LORENZ_DESTINATION:
		return "lorenz: the destination has another size than the elements";
	case LORENZ_SCRATCH:
		return "lorenz: too little scratch memory";
	case LORENZ_FLOATS:
		return "lorenz: the processor does not round to nearest, or flushes subnormal numbers to zero";
	}
	return "lorenz: unknown error";
}

lorenz_status lorenz_parse(lorenz_params *p, const uint32_t *list, size_t count)
{
	static const uint8_t sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
	memset(p, 0, sizeof *p);
	p->size = 1;
	p->type = LORENZ_INT8;
	if (count < 4 || list[0] != 1 || list[1] < 1 || list[1] > 11 || list[2] > 1)
		return LORENZ_PARAMETERS;
	size_t dims = list[3];
	if (dims > count - 4 || count - 4 - dims > 1)
		return LORENZ_PARAMETERS;
	if (count - 4 > dims && (list[count - 1] & ~UINT32_C(4)) > 2) /* the effort */
		return LORENZ_PARAMETERS;
	lorenz_params q = {1, sizes[list[1]], list[1], list[2], 0, 0, 0, {0, 0}};
	uint64_t most = ((uint64_t)1 << 30) / q.size;
	bool empty = false;
	for (size_t i = 0; i < dims; i++) {
		if (list[4 + i] > 1u << 30)
			return LORENZ_PARAMETERS;
		empty |= list[4 + i] == 0;
	}
	for (size_t i = 0; i < dims && !empty; i++) {
		uint32_t d = list[4 + i];
		q.elements *= d;
		if (q.elements > most)
			return LORENZ_PARAMETERS;
		if (d == 1)
			continue;
		if (q.long_dims == 0)
			q.first_long = d;
		else if (q.long_dims == 1)
			q.second_long = d;
		q.long_dims += q.long_dims < 4;
		q.last_long[0] = q.last_long[1];
		q.last_long[1] = d;
	}
	if (empty)
		q.elements = 0;
	*p = q;
	return LORENZ_OK;
}

size_t lorenz_size(const lorenz_params *p)
{
	return (size_t)(p->elements * p->size);
}

size_t lorenz_scratch_size(const lorenz_params *p)
{
	space x;
	uint64_t need = lay_out(&x, p, NULL) + 63;
	return need > SIZE_MAX ? SIZE_MAX : (size_t)need;
}

lorenz_status lorenz_decode_range(const lorenz_params *p, const void *src, size_t src_len,
	uint64_t first, uint64_t count, void *dst, size_t dst_len, void *scratch, size_t scratch_len)
{
	if (first > p->elements || count > p->elements - first)
		return LORENZ_RANGE;
	if (dst_len != count * p->size)
		return LORENZ_DESTINATION;
	if (count == 0 && p->elements > 0)
		return LORENZ_OK;
	if (scratch_len < lorenz_scratch_size(p))
		return LORENZ_SCRATCH;
	uint32_t mode;
	if (!floats_set(&mode))
		return LORENZ_FLOATS;
	bool ok;
#ifdef LORENZ_DISPATCH
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		ok = lorenz_decode_avx2(p, src, src_len, first, count, dst, scratch);
	else
#endif
		ok = decode(p, src, src_len, first, count, dst, scratch);
	floats_restore(mode);
	return ok ? LORENZ_OK : LORENZ_CORRUPT;
}

lorenz_status lorenz_decode(const lorenz_params *p, const void *src, size_t src_len,
	void *dst, size_t dst_len, void *scratch, size_t scratch_len)
{
	return lorenz_decode_range(p, src, src_len, 0, p->elements, dst, dst_len, scratch, scratch_len);
}
#endif

#ifdef LORENZ_SMALL
#pragma clang attribute pop
#endif
