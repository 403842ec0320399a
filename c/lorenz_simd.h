/*
 * lorenz_simd.h - the loops that gain most from AVX2, and what stands for them elsewhere.
 * Private to lorenz.c.
 */

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
#else
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
	(void)y, (void)count;
	return 0;
}
#endif

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
