/*
 * lorenz_steps.h - steps of rows in mode 8 with vectors (section 17). contexts_step of lorenz_rows.h is
 * what they do. Private to lorenz_rows.h.
 */
#ifdef LORENZ_AVX2
#include <immintrin.h>

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
	const uint16_t *tail = c->longer16;
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
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>

#define MOVE(i, k) ((i) >> (k) & 1 ? 2 * __builtin_popcount((i) & ((1 << (k)) - 1)) : 128)
#define MOVES(i, k) (uint8_t)MOVE(i, k), (uint8_t)(MOVE(i, k) + 1), 128, 128
#define MOVES1(i) {MOVES(i, 0), MOVES(i, 1), MOVES(i, 2), MOVES(i, 3)}
#define MOVES4(i) MOVES1(i), MOVES1((i) + 1), MOVES1((i) + 2), MOVES1((i) + 3)
/* For each set of lanes, where in the next words each of them has its own. */
static const uint8_t moves[16][16] = {MOVES4(0), MOVES4(4), MOVES4(8), MOVES4(12)};

/* Bytes of a and b in turns, and the same for elements of 16 bits. */
#define ZIP_LOW8(a, b) wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH8(a, b) wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define ZIP_LOW16(a, b) wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH16(a, b) wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* Returns the numbers of the signs of eight elements. */
static ALWAYS_INLINE v128_t contexts_numbers(const uint16_t *n, const uint16_t *b)
{
	v128_t high = wasm_i16x8_mul(wasm_u16x8_shr(wasm_v128_load(n), SIGN), wasm_i16x8_splat(9));
	v128_t middle = wasm_i16x8_mul(wasm_u16x8_shr(wasm_v128_load(b), SIGN), wasm_i16x8_splat(3));
	return wasm_i16x8_add(wasm_i16x8_add(high, middle), wasm_u16x8_shr(wasm_v128_load(n - STRIPES), SIGN));
}

/* Returns the probabilities of the numbers of 16 elements, given also those less 16, for a sign of W. */
static ALWAYS_INLINE v128_t contexts_odds(const uint8_t odds[32], v128_t numbers, v128_t over)
{
	return wasm_v128_or(wasm_i8x16_swizzle(wasm_v128_load(odds), numbers), wasm_i8x16_swizzle(wasm_v128_load(odds + 16), over));
}

/* Returns four entries of the tables, given the places in lut and the bytes of the slots in each table. Only one
 * lane after the other can be looked up. */
static ALWAYS_INLINE v128_t contexts_entries(v128_t place, v128_t slot)
{
#define AT(k) (const uint8_t *)(wasm_i32x4_extract_lane(slot, k) + *(const uint32_t *)wasm_i32x4_extract_lane(place, k))
	v128_t t = wasm_v128_load32_zero(AT(0));
	t = wasm_v128_load32_lane(AT(1), t, 1);
	t = wasm_v128_load32_lane(AT(2), t, 2);
	return wasm_v128_load32_lane(AT(3), t, 3);
#undef AT
}

/* Decodes a quarter of a step in the states x, given its probabilities: a byte of 0, those for class 1
 * and for others, and a byte of 0. Writes the magnitudes, sets *negative, and returns the entries. */
static ALWAYS_INLINE v128_t contexts_quarter(const contexts *c, v128_t *x, const float *sums, float *mags, v128_t odds,
	const uint8_t **words, v128_t *negative, const bool masked, const uint16_t *actives)
{
	v128_t before = wasm_v128_load(mags - STRIPES), v = wasm_v128_load(sums);
	v = wasm_f32x4_add(v, wasm_f32x4_mul(wasm_v128_load(mags - 2 * STRIPES), wasm_f32x4_splat(c->weights[1])));
	v = wasm_f32x4_add(v, wasm_f32x4_splat(1));
	v = wasm_f32x4_add(v, wasm_f32x4_mul(before, wasm_f32x4_splat(c->weights[0])));
	/* The expectation may be any number for stripes without an element. */
	v128_t place = wasm_i32x4_sub(wasm_u32x4_shr(v, 17), wasm_i32x4_splat(4 * 2032));
	place = wasm_v128_and(place, wasm_i32x4_splat(4 * (EXPECTATIONS - 1)));
	place = wasm_i32x4_add(place, wasm_i32x4_splat((int32_t)(uintptr_t)c->places));
	v128_t slot = wasm_v128_and(wasm_i32x4_shl(*x, 2), wasm_i32x4_splat(4 * (SLOTS - 1)));
	v128_t t = contexts_entries(place, slot), active = wasm_i32x4_splat(0);
	if (masked) {
		active = wasm_i32x4_load16x4(actives);
		t = wasm_v128_and(t, active);
	}
	const v128_t field = wasm_i32x4_splat(SLOTS - 1);
	v128_t y = wasm_u32x4_shr(*x, 11), f = wasm_v128_and(t, wasm_i32x4_splat(511 << MAGNITUDE));
	y = wasm_i32x4_add(wasm_i32x4_mul(wasm_v128_and(wasm_u32x4_shr(t, 11), field), y), wasm_i32x4_add(y, wasm_v128_and(t, field)));
	if (masked)
		wasm_v128_store(mags, wasm_v128_bitselect(f, before, active));
	else
		wasm_v128_store(mags, f);
	/* The upper three bits are 0 for class 0, 1 for class 1 and 2 for others. Class 0 is as if positive
	 * and sure. */
	const v128_t bytes = wasm_i32x4_const((int)0x80808000, (int)0x80808004, (int)0x80808008, (int)0x8080800c);
	v128_t p = wasm_i8x16_swizzle(odds, wasm_i32x4_add(wasm_u32x4_shr(t, 29), bytes));
	v128_t z = wasm_v128_and(y, wasm_i32x4_splat(SIGN_SLOTS - 1)), part = wasm_i32x4_mul(wasm_u32x4_shr(y, 5), p);
	*negative = wasm_i32x4_shr(wasm_i32x4_sub(z, p), 31);
	y = wasm_v128_bitselect(wasm_i32x4_add(part, z), wasm_i32x4_sub(y, wasm_i32x4_add(part, p)), *negative);
	/* States below 2^16 need a word. */
	v128_t need = wasm_i32x4_shr(wasm_i32x4_sub(wasm_u32x4_shr(y, 16), wasm_i32x4_splat(1)), 31);
	if (masked) {
		need = wasm_v128_and(need, active);
		y = wasm_v128_bitselect(y, *x, active);
	}
	uint32_t mask = wasm_i32x4_bitmask(need);
	v128_t w = wasm_i8x16_swizzle(wasm_v128_load64_zero(*words), wasm_v128_load(moves[mask]));
	*words += 2 * __builtin_popcount(mask);
	*x = wasm_v128_bitselect(wasm_v128_or(wasm_i32x4_shl(y, 16), w), y, need);
	return wasm_u32x4_shr(t, MAGNITUDE);
}

/* Decodes steps of a row while there are surely words for them, and returns how many. In the
 * last one, stripes without an element are as if masked; contexts_edges replaces what that writes. */
static ALWAYS_INLINE uint64_t contexts_steps(contexts *c, uint64_t at, uint64_t north, uint64_t below, const bool masked)
{
	const uint16_t *tail = c->longer16;
	const uint16_t *n = c->marks + north, *b = c->marks + below, *active = c->active;
	const float *sums = c->sums;
	uint16_t *marks = c->marks + at;
	float *mags = c->mags + at;
	v128_t x[4], negative[4], t[4], negatives = wasm_i32x4_splat(0), none = wasm_i32x4_splat(-1);
	const v128_t zero = negatives;
	/* The magnitudes of W and WW are in the row. contexts_edges replaces the first ones. */
	memcpy(mags - STRIPES, c->before[0], sizeof c->before[0]);
	memcpy(mags - 2 * STRIPES, c->before[1], sizeof c->before[1]);
	memcpy(x, c->states, sizeof x);
	const uint8_t *words = c->words, *words_end = c->words_end;
	uint32_t j = 0, steps = (uint32_t)c->steps, whole = (uint32_t)c->whole;
	for (; j < steps && words_end - words >= SPARE; j++) {
		v128_t numbers = wasm_u8x16_narrow_i16x8(contexts_numbers(n, b), contexts_numbers(n + 8, b + 8));
		v128_t over = wasm_i8x16_sub(numbers, wasm_i8x16_splat(16)), p[2];
		for (unsigned k = 0; k < 2; k++)
			p[k] = wasm_v128_bitselect(contexts_odds(c->odds[k][0], numbers, over), wasm_v128_bitselect(
				contexts_odds(c->odds[k][1], numbers, over), contexts_odds(c->odds[k][2], numbers, over), none), negatives);
		v128_t first = ZIP_LOW8(zero, p[0]), others = ZIP_LOW8(p[1], zero);
		v128_t first2 = ZIP_HIGH8(zero, p[0]), others2 = ZIP_HIGH8(p[1], zero);
		const v128_t odds[4] = {ZIP_LOW16(first, others), ZIP_HIGH16(first, others), ZIP_LOW16(first2, others2), ZIP_HIGH16(first2, others2)};
		if (masked || j == whole) {
			const uint16_t *actives = masked ? active : tail;
#pragma clang loop unroll(full)
			for (unsigned k = 0; k < 4; k++)
				t[k] = contexts_quarter(c, &x[k], sums + 4 * k, mags + 4 * k, odds[k], &words, &negative[k], true, actives + 4 * k);
		} else {
#pragma clang loop unroll(full)
			for (unsigned k = 0; k < 4; k++)
				t[k] = contexts_quarter(c, &x[k], sums + 4 * k, mags + 4 * k, odds[k], &words, &negative[k], false, tail);
		}
		v128_t low = wasm_u16x8_narrow_i32x4(t[0], t[1]), high = wasm_u16x8_narrow_i32x4(t[2], t[3]);
		none = wasm_i8x16_narrow_i16x8(wasm_i16x8_eq(low, zero), wasm_i16x8_eq(high, zero));
		negatives = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(negative[0], negative[1]), wasm_i16x8_narrow_i32x4(negative[2], negative[3]));
		v128_t sign = wasm_i8x16_add(wasm_i8x16_add(negatives, negatives), wasm_i8x16_add(none, wasm_i8x16_splat(2)));
		sign = wasm_i16x8_shl(sign, SIGN - 8);
		low = wasm_u16x8_sub_sat(low, wasm_i16x8_splat(254));
		high = wasm_u16x8_sub_sat(high, wasm_i16x8_splat(254));
		wasm_v128_store(marks, wasm_v128_or(low, ZIP_LOW8(zero, sign)));
		wasm_v128_store(marks + 8, wasm_v128_or(high, ZIP_HIGH8(zero, sign)));
		n += STRIPES, b += STRIPES, marks += STRIPES, sums += STRIPES, mags += STRIPES;
		active += STRIPES;
	}
	memcpy(c->states, x, sizeof x);
	memcpy(c->before[0], mags - STRIPES, sizeof c->before[0]);
	memcpy(c->before[1], mags - 2 * STRIPES, sizeof c->before[1]);
	if (j > 0)
		for (unsigned q = 0; q < STRIPES; q++)
			c->west[q] = 5u * (marks[(int)q - STRIPES] >> SIGN);
	c->words = words;
	return j;
}
#elif defined(__GNUC__)
/* The same with vectors of four, which most processors have. */
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
static ALWAYS_INLINE lanes4 append4(lanes4 x, lanes4 need, const uint8_t **words)
{
	for (unsigned k = 0; k < 4; k++) {
		const uint8_t *w = *words;
		x[k] = x[k] << (need[k] & 16) | ((w[0] | (uint32_t)w[1] << 8) & need[k]);
		*words += need[k] & 2;
	}
	return x;
}

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
	const uint16_t *tail = c->longer16;
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
