/*
 * lorenz_simd.h - the loops that gain most from AVX2 or the vectors of WebAssembly, and what stands for
 * them elsewhere. Private to lorenz.c.
 */

#ifdef __wasm_simd128__
#include <wasm_simd128.h>

#define SWAP32(v) wasm_i8x16_shuffle(v, v, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)
#define SWAP64(v) wasm_i8x16_shuffle(v, v, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8)
#endif
#ifdef LORENZ_AVX2
#include <immintrin.h>

/* Makes the values of a group without extra bits of its numbers and its low bits. Returns
 * false, and does nothing, if the low bits are too many or too near to the end. */
static ALWAYS_INLINE bool group_at_once32(groups *g, const uint8_t *numbers, unsigned class, unsigned shift, uint32_t *out)
{
	unsigned k = class > 5 ? class - 5 : 0;
	const uint8_t *low = g->low;
	if (k > 25 || (size_t)(g->limit - low) < 4 * k + 16)
		return false;
	g->low += 4 * k;
	/* Eight values begin at a whole byte, and the last four of them at a whole byte, too, or
	 * four bits after it. Each value is moved to a lane of its own and shifted there. */
	__m256i at = _mm256_mullo_epi32(_mm256_set1_epi32((int)k), _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3));
	at = _mm256_add_epi32(at, _mm256_slli_epi32(_mm256_setr_epi32(0, 0, 0, 0, (int)(k & 1), (int)(k & 1), (int)(k & 1), (int)(k & 1)), 2));
	__m256i bytes = _mm256_add_epi8(_mm256_mullo_epi32(_mm256_srli_epi32(at, 3), _mm256_set1_epi32(0x01010101)),
		_mm256_set1_epi32(0x03020100));
	__m256i right = _mm256_and_si256(at, _mm256_set1_epi32(7)), mask = _mm256_set1_epi32((int)((1u << k) - 1));
	__m128i left = _mm_cvtsi32_si128((int)k), zeros = _mm_cvtsi32_si128((int)shift);
	for (unsigned i = 0; i < GROUP; i += 8, low += k) {
		__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(numbers + i)));
		if (k > 0) {
			__m256i b = _mm256_loadu2_m128i((const __m128i *)(low + k / 2), (const __m128i *)low);
			b = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(b, bytes), right), mask);
			v = _mm256_or_si256(_mm256_sll_epi32(v, left), b);
		}
		if (!g->plain)
			v = _mm256_xor_si256(_mm256_srli_epi32(v, 1),
				_mm256_sub_epi32(_mm256_setzero_si256(), _mm256_and_si256(v, _mm256_set1_epi32(1))));
		_mm256_storeu_si256((__m256i *)(out + i), _mm256_sll_epi32(v, zeros));
	}
	return true;
}

/* Adds up the lanes at y, beginning with the one before, and returns how many it has done. */
static inline uint64_t add_up32(uint32_t *y, uint64_t count)
{
	uint64_t i = 0;
	__m256i sum = _mm256_set1_epi32((int)y[-1]);
	for (; count - i >= 8; i += 8) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(y + i));
		v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
		v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8)); /* each half on its own */
		__m256i half = _mm256_permute2x128_si256(v, v, 0x08);
		v = _mm256_add_epi32(v, _mm256_shuffle_epi32(half, 0xff));
		_mm256_storeu_si256((__m256i *)(y + i), _mm256_add_epi32(v, sum));
		sum = _mm256_add_epi32(sum, _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(7)));
	}
	return i;
}
/* Puts residuals where the eight kinds of a word are 0, and zeros elsewhere. Returns how many
 * it took. Eight can be read. */
static inline unsigned place_eight32(uint64_t kinds, const uint32_t *r, uint32_t *dst)
{
	uint64_t unmasked = ((kinds | kinds >> 1) & EACH_BYTE) ^ EACH_BYTE;
	uint64_t up_to = unmasked * EACH_BYTE; /* bytes: unmasked elements up to this one */
	__m256i from = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)(up_to - unmasked)));
	__m256i mask = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128((long long)(unmasked * 255)));
	__m256i v = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)r), from);
	_mm256_storeu_si256((__m256i *)dst, _mm256_and_si256(v, mask));
	return (unsigned)(up_to >> 56);
}

/* Writes special values over those of eight elements whose kind is not 0. */
static inline void write_eight32(uint64_t kinds, const uint32_t value[3], uint8_t *out)
{
	__m256i kind = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)kinds));
	__m256i values = _mm256_setr_epi32(0, (int)value[1], (int)value[2], 0, 0, 0, 0, 0);
	__m256i v = _mm256_loadu_si256((const __m256i *)out);
	v = _mm256_blendv_epi8(_mm256_permutevar8x32_epi32(values, kind), v, _mm256_cmpeq_epi32(kind, _mm256_setzero_si256()));
	_mm256_storeu_si256((__m256i *)out, v);
}

/* Writes elements of the transforms fixed and ratio, and returns how many. */
static ALWAYS_INLINE uint64_t scaled_eights32(const uint32_t *y, uint64_t count, bool ratio, double by, bool swap, uint8_t *out)
{
	const __m256d factor = _mm256_set1_pd(by);
	const __m256i bytes = _mm256_setr_epi32(0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f);
	uint64_t i = 0;
	for (; count - i >= 8; i += 8) {
		__m256d low = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(y + i)));
		__m256d high = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(y + i + 4)));
		low = ratio ? _mm256_div_pd(low, factor) : _mm256_mul_pd(low, factor);
		high = ratio ? _mm256_div_pd(high, factor) : _mm256_mul_pd(high, factor);
		__m256i v = _mm256_castps_si256(_mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)));
		_mm256_storeu_si256((__m256i *)(out + 4 * i), swap ? _mm256_shuffle_epi8(v, bytes) : v);
	}
	return i;
}

/* Writes entries of a dictionary, and returns how many. */
static ALWAYS_INLINE uint64_t look_up_eights32(const uint32_t *y, uint64_t count, const uint8_t *entries, uint64_t entry_count, uint8_t *out)
{
	const __m256i last = _mm256_set1_epi32((int)(entry_count - 1));
	uint64_t i = 0;
	for (; count - i >= 8; i += 8) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(y + i));
		v = _mm256_and_si256(v, _mm256_cmpeq_epi32(_mm256_min_epu32(v, last), v));
		_mm256_storeu_si256((__m256i *)(out + 4 * i), _mm256_i32gather_epi32((const int *)entries, v, 4));
	}
	return i;
}

/* Swaps the rows and columns of eight vectors. */
static ALWAYS_INLINE void transpose8(__m256 r[8])
{
	__m256 t[8], u[8];
	for (unsigned i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (unsigned i = 0; i < 8; i += 4)
		for (unsigned j = 0; j < 2; j++) {
			u[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + 2 + j], 0x44);
			u[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + 2 + j], 0xee);
		}
	for (unsigned i = 0; i < 4; i++) {
		r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
		r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
	}
}

/* Returns the floats that transform 0 makes of lanes. */
static ALWAYS_INLINE __m256 floats_of(__m256i y)
{
	__m256i high = _mm256_srai_epi32(y, 31), top = _mm256_set1_epi32(INT32_MIN);
	return _mm256_castsi256_ps(_mm256_xor_si256(_mm256_xor_si256(y, top), _mm256_andnot_si256(high, _mm256_set1_epi32(INT32_MAX))));
}

/* Loads lanes of eight rows, of which each begins an element behind the one before it, by column. */
static ALWAYS_INLINE void load_rows(__m256 r[8], const uint32_t *y, uint64_t row)
{
	for (uint64_t k = 0; k < 8; k++)
		r[k] = _mm256_loadu_ps((const float *)(y + k * (row - 1)));
	transpose8(r);
}

/* Applies the float predictor to elements i to end of eight rows of a cell, of which each is an
 * element behind the one before it, and returns how many it has done. */
static ALWAYS_INLINE uint64_t float_eights32(const unsigned kind, uint32_t *y, uint64_t row, uint64_t past, uint64_t i, uint64_t end)
{
	const bool has_north = kind == 1 || kind == 4, has_past = past > 0 && (kind == 2 || kind == 4);
	const __m256i up = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6), top = _mm256_set1_epi32(INT32_MIN);
	uint64_t first = i;
	__m256 r[8], b[8], w, ww, nw, pw, pnw;
	/* The elements before. That of a row is beside that of the row before it. */
	if (end - i < 8)
		return 0;
	load_rows(r, y + i - 1, row);
	w = floats_of(_mm256_castps_si256(r[0]));
	load_rows(r, y + i - 2, row);
	ww = floats_of(_mm256_castps_si256(r[0]));
	load_rows(r, y + i - 1 - row, row);
	nw = has_north ? floats_of(_mm256_castps_si256(r[0])) : _mm256_setzero_ps();
	pw = pnw = _mm256_setzero_ps();
	if (has_past) {
		load_rows(r, y + i - 1 - past, row);
		pw = floats_of(_mm256_castps_si256(r[0]));
		if (has_north) {
			load_rows(r, y + i - 1 - past - row, row);
			pnw = floats_of(_mm256_castps_si256(r[0]));
		}
	}
	for (; end - i >= 8; i += 8) {
		float n0[8], bn0[8];
		load_rows(r, y + i, row);
		if (has_past)
			load_rows(b, y + i - past, row);
		if (has_north)
			_mm256_storeu_ps(n0, floats_of(_mm256_loadu_si256((const __m256i *)(y + i - row))));
		if (has_north && has_past)
			_mm256_storeu_ps(bn0, floats_of(_mm256_loadu_si256((const __m256i *)(y + i - row - past))));
		for (unsigned j = 0; j < 8; j++) {
			__m256 n = nw, p, past_step = _mm256_setzero_ps(), v = pw, vn = pnw;
			if (has_past) {
				v = floats_of(_mm256_castps_si256(b[j]));
				past_step = _mm256_sub_ps(v, pw);
			}
			if (has_north)
				n = _mm256_blend_ps(_mm256_permutevar8x32_ps(w, up), _mm256_set1_ps(n0[j]), 1);
			if (has_north && has_past) {
				vn = _mm256_blend_ps(_mm256_permutevar8x32_ps(pw, up), _mm256_set1_ps(bn0[j]), 1);
				past_step = _mm256_sub_ps(past_step, _mm256_sub_ps(vn, pnw));
			}
			switch (kind) {
			case 1: p = _mm256_add_ps(w, _mm256_sub_ps(n, nw)); break;
			case 2: p = _mm256_add_ps(w, past_step); break;
			case 4: p = _mm256_add_ps(w, _mm256_add_ps(_mm256_sub_ps(n, nw), past_step)); break;
			default: p = _mm256_add_ps(w, _mm256_sub_ps(w, ww));
			}
			__m256 size = _mm256_andnot_ps(_mm256_castsi256_ps(top), p);
			p = _mm256_and_ps(p, _mm256_cmp_ps(size, _mm256_set1_ps(1e37f), _CMP_LE_OQ));
			__m256i bits = _mm256_castps_si256(p);
			bits = _mm256_xor_si256(bits, _mm256_or_si256(_mm256_srai_epi32(bits, 31), top));
			bits = _mm256_add_epi32(bits, _mm256_castps_si256(r[j]));
			r[j] = _mm256_castsi256_ps(bits);
			ww = w;
			w = floats_of(bits);
			nw = n;
			pw = v;
			pnw = vn;
		}
		transpose8(r);
		for (uint64_t k = 0; k < 8; k++)
			_mm256_storeu_ps((float *)(y + i + k * (row - 1)), r[k]);
	}
	return i - first;
}

/* Makes residuals of marks in mode 8 in order, of their low bits and of t trailing zeros, and
 * returns how many it has done. */
static inline uint64_t contexts_at_once32(bits *low, const uint16_t *marks, uint64_t count, unsigned t, uint32_t *r)
{
	const __m256i one = _mm256_set1_epi32(1), zeros = _mm256_set1_epi32((int)t), seven = _mm256_set1_epi32(7);
	const __m256i first = _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404, 0x08080808, 0x0c0c0c0c);
	uint64_t at = low->at, done = 0;
	for (; count - done >= 8 && low->length - at >= 8 * 30 + 128; done += 8) {
		__m256i mark = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(marks + done)));
		__m256i class = _mm256_and_si256(mark, _mm256_set1_epi32(255)), negative = _mm256_cmpgt_epi32(_mm256_set1_epi32(NO_SIGN), mark);
		__m256i b = _mm256_sub_epi32(_mm256_max_epi32(_mm256_srli_epi32(class, 1), one), one);
		__m256i x = _mm256_sllv_epi32(_mm256_sub_epi32(class, _mm256_add_epi32(b, b)), b);
		b = _mm256_sub_epi32(_mm256_max_epi32(b, zeros), zeros);
		/* Where the low bits of each begin, in bits from the byte of the first one on. */
		__m256i sum = _mm256_add_epi32(b, _mm256_slli_si256(b, 4));
		sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));
		sum = _mm256_add_epi32(sum, _mm256_permute2x128_si256(_mm256_shuffle_epi32(sum, 0xff), sum, 0x08));
		unsigned all = (unsigned)_mm256_extract_epi32(sum, 7), half = (unsigned)_mm256_extract_epi32(sum, 3);
		__m256i from = _mm256_add_epi32(_mm256_sub_epi32(sum, b), _mm256_set1_epi32((int)(at & 7)));
		const uint8_t *p = low->p + (at >> 3);
		__m256i bytes = _mm256_loadu2_m128i((const __m128i *)(p + ((half + (at & 7)) >> 3)), (const __m128i *)p);
		/* The same in the halves of these bytes: four take at most 127 bits. */
		__m256i byte = _mm256_sub_epi32(_mm256_srli_epi32(from, 3), _mm256_srli_epi32(_mm256_shuffle_epi32(from, 0), 3));
		byte = _mm256_add_epi8(_mm256_shuffle_epi8(byte, first), _mm256_set1_epi32(0x03020100));
		__m256i right = _mm256_and_si256(from, seven);
		__m256i y = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, byte), right);
		bytes = _mm256_shuffle_epi8(bytes, _mm256_add_epi8(byte, _mm256_set1_epi32(0x04040404)));
		y = _mm256_or_si256(y, _mm256_sllv_epi32(bytes, _mm256_sub_epi32(_mm256_set1_epi32(32), right)));
		y = _mm256_and_si256(y, _mm256_sub_epi32(_mm256_sllv_epi32(one, b), one));
		x = _mm256_add_epi32(x, _mm256_sllv_epi32(y, zeros));
		_mm256_storeu_si256((__m256i *)(r + done), _mm256_sub_epi32(_mm256_xor_si256(x, negative), negative));
		at += all;
	}
	low->at = at;
	return done;
}

/* It ends before four of which one has more than 57 low bits. */
static inline uint64_t contexts_at_once64(bits *low, const uint16_t *marks, uint64_t count, unsigned t, uint64_t *r)
{
	const __m256i one = _mm256_set1_epi64x(1), zeros = _mm256_set1_epi64x(t), seven = _mm256_set1_epi64x(7);
	const __m256i first = _mm256_setr_epi32(0, 0, 0x08080808, 0x08080808, 0, 0, 0x08080808, 0x08080808);
	uint64_t at = low->at, done = 0;
	for (; count - done >= 4 && low->length - at >= 4 * 57 + 128; done += 4) {
		__m256i mark = _mm256_cvtepu16_epi64(_mm_loadl_epi64((const __m128i *)(marks + done)));
		__m256i class = _mm256_and_si256(mark, _mm256_set1_epi64x(255)), negative = _mm256_cmpgt_epi64(_mm256_set1_epi64x(NO_SIGN), mark);
		__m256i b = _mm256_sub_epi64(_mm256_max_epi32(_mm256_srli_epi64(class, 1), one), one);
		__m256i x = _mm256_sllv_epi64(_mm256_sub_epi64(class, _mm256_add_epi64(b, b)), b);
		b = _mm256_sub_epi64(_mm256_max_epi32(b, zeros), zeros);
		if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(b, _mm256_set1_epi64x(57))) != 0)
			break;
		__m256i sum = _mm256_add_epi64(b, _mm256_slli_si256(b, 8));
		sum = _mm256_add_epi64(sum, _mm256_permute2x128_si256(_mm256_permute4x64_epi64(sum, 0x55), sum, 0x08));
		unsigned all = (unsigned)_mm256_extract_epi32(sum, 6), half = (unsigned)_mm256_extract_epi32(sum, 2);
		__m256i from = _mm256_add_epi64(_mm256_sub_epi64(sum, b), _mm256_set1_epi64x((int)(at & 7)));
		const uint8_t *p = low->p + (at >> 3);
		__m256i bytes = _mm256_loadu2_m128i((const __m128i *)(p + ((half + (at & 7)) >> 3)), (const __m128i *)p);
		__m256i byte = _mm256_sub_epi64(_mm256_srli_epi64(from, 3), _mm256_srli_epi64(_mm256_shuffle_epi32(from, 0x44), 3));
		byte = _mm256_add_epi8(_mm256_shuffle_epi8(byte, first), _mm256_set1_epi64x(0x0706050403020100));
		__m256i y = _mm256_srlv_epi64(_mm256_shuffle_epi8(bytes, byte), _mm256_and_si256(from, seven));
		y = _mm256_and_si256(y, _mm256_sub_epi64(_mm256_sllv_epi64(one, b), one));
		x = _mm256_add_epi64(x, _mm256_sllv_epi64(y, zeros));
		_mm256_storeu_si256((__m256i *)(r + done), _mm256_sub_epi64(_mm256_xor_si256(x, negative), negative));
		at += all;
	}
	low->at = at;
	return done;
}
#else
#ifdef __wasm_simd128__
static ALWAYS_INLINE uint64_t scaled_eights32(const uint32_t *y, uint64_t count, bool ratio, double by, bool swap, uint8_t *out)
{
	const v128_t factor = wasm_f64x2_splat(by);
	uint64_t i = 0;
	for (; count - i >= 8; i += 8) {
		v128_t r[4];
		for (unsigned k = 0; k < 4; k++) {
			v128_t v = wasm_f64x2_convert_low_i32x4(wasm_v128_load64_zero(y + i + 2 * k));
			r[k] = wasm_f32x4_demote_f64x2_zero(ratio ? wasm_f64x2_div(v, factor) : wasm_f64x2_mul(v, factor));
		}
		for (unsigned k = 0; k < 2; k++) {
			v128_t v = wasm_i64x2_shuffle(r[2 * k], r[2 * k + 1], 0, 2);
			wasm_v128_store(out + 4 * (i + 4 * k), swap ? SWAP32(v) : v);
		}
	}
	return i;
}
#else
static inline uint64_t scaled_eights32(const uint32_t *y, uint64_t count, bool ratio, double by, bool swap, uint8_t *out)
{
	(void)y, (void)count, (void)ratio, (void)by, (void)swap, (void)out;
	return 0;
}
#endif

static inline uint64_t look_up_eights32(const uint32_t *y, uint64_t count, const uint8_t *entries, uint64_t entry_count, uint8_t *out)
{
	(void)y, (void)count, (void)entries, (void)entry_count, (void)out;
	return 0;
}

static inline uint64_t float_eights32(unsigned kind, uint32_t *y, uint64_t row, uint64_t past, uint64_t i, uint64_t end)
{
	(void)kind, (void)y, (void)row, (void)past, (void)i, (void)end;
	return 0;
}

static inline uint64_t contexts_at_once32(bits *low, const uint16_t *marks, uint64_t count, unsigned t, uint32_t *r)
{
	(void)low, (void)marks, (void)count, (void)t, (void)r;
	return 0;
}

static inline uint64_t contexts_at_once64(bits *low, const uint16_t *marks, uint64_t count, unsigned t, uint64_t *r)
{
	(void)low, (void)marks, (void)count, (void)t, (void)r;
	return 0;
}

static inline void write_eight32(uint64_t kinds, const uint32_t value[3], uint8_t *out)
{
	uint32_t element[8];
	uint8_t kind[8];
	memcpy(element, out, sizeof element);
	store_element(kind, kinds, 8, !HOST_LITTLE);
	for (unsigned i = 0; i < 8; i++) {
		uint32_t first = 0 - (uint32_t)(kind[i] & 1), second = 0 - (uint32_t)(kind[i] >> 1);
		element[i] = (element[i] & ~(first | second)) | (value[1] & first) | (value[2] & second);
	}
	memcpy(out, element, sizeof element);
}

static inline unsigned place_eight32(uint64_t kinds, const uint32_t *r, uint32_t *dst)
{
	unsigned taken = 0;
	for (unsigned i = 0; i < 8; i++, kinds >>= 8) {
		uint32_t unmasked = (kinds & 3) == 0;
		dst[i] = r[taken] & (0 - unmasked);
		taken += unmasked;
	}
	return taken;
}

static inline bool group_at_once32(groups *g, const uint8_t *numbers, unsigned class, unsigned shift, uint32_t *out)
{
	(void)g, (void)numbers, (void)class, (void)shift, (void)out;
	return false;
}

static inline uint64_t add_up32(uint32_t *y, uint64_t count)
{
	uint64_t i = 0;
#ifdef LORENZ_ZIPS
	const lanes4 zero = {0};
	lanes4 v, sum = zero + y[-1];
	for (; count - i >= 4; i += 4) {
		memcpy(&v, y + i, sizeof v);
		v += SHUFFLE(lanes4, v, zero, 4, 0, 1, 2);
		v += SHUFFLE(lanes4, v, zero, 4, 5, 0, 1);
		v += sum;
		memcpy(y + i, &v, sizeof v);
		sum = SHUFFLE(lanes4, v, v, 3, 3, 3, 3);
	}
#else
	(void)y, (void)count;
#endif
	return i;
}
#endif

/* Reverses the bytes of 16 lanes. */
#ifdef __wasm_simd128__
static ALWAYS_INLINE void swap_lanes32(uint32_t v[16])
{
	for (unsigned i = 0; i < 16; i += 4)
		wasm_v128_store(v + i, SWAP32(wasm_v128_load(v + i)));
}

static ALWAYS_INLINE void swap_lanes64(uint64_t v[16])
{
	for (unsigned i = 0; i < 16; i += 2)
		wasm_v128_store(v + i, SWAP64(wasm_v128_load(v + i)));
}
#else
static ALWAYS_INLINE void swap_lanes32(uint32_t v[16])
{
	for (unsigned i = 0; i < 16; i++)
		v[i] = __builtin_bswap32(v[i]);
}

static ALWAYS_INLINE void swap_lanes64(uint64_t v[16])
{
	for (unsigned i = 0; i < 16; i++)
		v[i] = __builtin_bswap64(v[i]);
}
#endif

/* What the float predictor keeps of the elements before. */
enum { W, WW, NW, PW, PNW, BEFORES };

#ifdef LORENZ_ZIPS
typedef float floats4 __attribute__((vector_size(16)));

/* Returns the floats that transform 0 makes of lanes. */
static ALWAYS_INLINE floats4 floats_of4(lanes4 y)
{
	return (floats4)(y ^ (~(lanes4)((ints4)y >> 31) | (uint32_t)1 << 31));
}

/* Swaps the rows and columns of four vectors. */
static ALWAYS_INLINE void transpose_lanes4(lanes4 r[4])
{
	lanes2 a = (lanes2)LOWER32(r[0], r[1]), b = (lanes2)UPPER32(r[0], r[1]);
	lanes2 c = (lanes2)LOWER32(r[2], r[3]), d = (lanes2)UPPER32(r[2], r[3]);
	r[0] = (lanes4)LOWER64(a, c);
	r[1] = (lanes4)UPPER64(a, c);
	r[2] = (lanes4)LOWER64(b, d);
	r[3] = (lanes4)UPPER64(b, d);
}

/* Loads four elements of four rows, by column. */
static ALWAYS_INLINE void load_columns(lanes4 r[4], const uint32_t *y, const uint64_t *at)
{
	for (unsigned k = 0; k < 4; k++)
		memcpy(&r[k], y + at[k], sizeof r[k]);
	transpose_lanes4(r);
}

/* Applies the float predictor to elements i to end of eight rows as float_rows does, four at a time, and returns
 * the first one that it has not done. */
static ALWAYS_INLINE uint64_t float_fours32(const bool wave, const unsigned kind, uint32_t *y, const uint64_t at[8], uint64_t north,
	uint64_t past, uint64_t i, uint64_t end, float before[BEFORES][8])
{
	floats4 s[BEFORES][2];
	memcpy(s, before, sizeof s);
	for (; end - i >= 4; i += 4) {
		lanes4 r[2][4], n[2][4], b[2][4], bn[2][4], n0, bn0;
		for (unsigned h = 0; h < 2; h++) {
			load_columns(r[h], y + i, at + 4 * h);
			if (north > 0 && !wave)
				load_columns(n[h], y + i - north, at + 4 * h);
			if (past > 0)
				load_columns(b[h], y + i - past, at + 4 * h);
			if (north > 0 && past > 0 && !wave)
				load_columns(bn[h], y + i - past - north, at + 4 * h);
		}
		if (wave && north > 0)
			memcpy(&n0, y + i - north, sizeof n0);
		if (wave && north > 0 && past > 0)
			memcpy(&bn0, y + i - past - north, sizeof bn0);
		for (unsigned j = 0; j < 4; j++) {
			const lanes4 zero = {0};
			floats4 vn[2] = {(floats4)zero, (floats4)zero}, vb[2] = {vn[0], vn[0]}, vbn[2] = {vn[0], vn[0]};
			if (north > 0 && wave) {
				/* The row before has just done its element above. */
				lanes4 first = (lanes4)floats_of4(zero + n0[j]), low = (lanes4)s[W][0], high = (lanes4)s[W][1];
				vn[0] = (floats4)SHUFFLE(lanes4, first, low, 0, 4, 5, 6);
				vn[1] = (floats4)SHUFFLE(lanes4, low, high, 3, 4, 5, 6);
				if (past > 0) {
					first = (lanes4)floats_of4(zero + bn0[j]), low = (lanes4)s[PW][0], high = (lanes4)s[PW][1];
					vbn[0] = (floats4)SHUFFLE(lanes4, first, low, 0, 4, 5, 6);
					vbn[1] = (floats4)SHUFFLE(lanes4, low, high, 3, 4, 5, 6);
				}
			}
			for (unsigned h = 0; h < 2; h++) {
				floats4 p, w = s[W][h];
				if (north > 0 && !wave)
					vn[h] = floats_of4(n[h][j]);
				if (past > 0)
					vb[h] = floats_of4(b[h][j]);
				if (north > 0 && past > 0 && !wave)
					vbn[h] = floats_of4(bn[h][j]);
				switch (kind) {
				case 1: p = w + (vn[h] - s[NW][h]); break;
				case 2: p = w + (vb[h] - s[PW][h]); break;
				case 3: p = vn[h] + (vb[h] - vbn[h]); break;
				case 4: p = w + ((vn[h] - s[NW][h]) + ((vb[h] - s[PW][h]) - (vbn[h] - s[PNW][h]))); break;
				default: p = w + (w - s[WW][h]);
				}
				lanes4 bits = (lanes4)p & (lanes4)(p >= -1e37f) & (lanes4)(p <= 1e37f);
				r[h][j] += bits ^ ((lanes4)((ints4)bits >> 31) | (uint32_t)1 << 31);
				s[WW][h] = w;
				s[W][h] = floats_of4(r[h][j]);
				s[NW][h] = vn[h];
				s[PW][h] = vb[h];
				s[PNW][h] = vbn[h];
			}
		}
		for (unsigned h = 0; h < 2; h++) {
			transpose_lanes4(r[h]);
			for (unsigned k = 0; k < 4; k++)
				memcpy(y + at[4 * h + k] + i, &r[h][k], sizeof r[h][k]);
		}
	}
	memcpy(before, s, sizeof s);
	return i;
}
#else
static inline uint64_t float_fours32(bool wave, unsigned kind, uint32_t *y, const uint64_t at[8], uint64_t north, uint64_t past,
	uint64_t i, uint64_t end, float before[BEFORES][8])
{
	(void)wave, (void)kind, (void)y, (void)at, (void)north, (void)past, (void)end, (void)before;
	return i;
}
#endif

static inline uint64_t float_fours64(bool wave, unsigned kind, uint64_t *y, const uint64_t at[8], uint64_t north, uint64_t past,
	uint64_t i, uint64_t end, double before[BEFORES][8])
{
	(void)wave, (void)kind, (void)y, (void)at, (void)north, (void)past, (void)end, (void)before;
	return i;
}

static inline bool group_at_once64(groups *g, const uint8_t *numbers, unsigned class, unsigned shift, uint64_t *out)
{
	(void)g, (void)numbers, (void)class, (void)shift, (void)out;
	return false;
}

static inline unsigned place_eight64(uint64_t kinds, const uint64_t *r, uint64_t *dst)
{
	unsigned taken = 0;
	for (unsigned i = 0; i < 8; i++, kinds >>= 8) {
		uint64_t unmasked = (kinds & 3) == 0;
		dst[i] = r[taken] & (0 - unmasked);
		taken += (unsigned)unmasked;
	}
	return taken;
}

static inline uint64_t add_up64(uint64_t *y, uint64_t count)
{
	(void)y, (void)count;
	return 0;
}

static inline uint64_t scaled_eights64(const uint64_t *y, uint64_t count, bool ratio, double by, bool swap, uint8_t *out)
{
	(void)y, (void)count, (void)ratio, (void)by, (void)swap, (void)out;
	return 0;
}

static inline uint64_t float_eights64(unsigned kind, uint64_t *y, uint64_t row, uint64_t past, uint64_t i, uint64_t end)
{
	(void)kind, (void)y, (void)row, (void)past, (void)i, (void)end;
	return 0;
}
