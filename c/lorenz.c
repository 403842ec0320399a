/*
 * lorenz.c - decoder of lorenz blocks. lorenz.h describes its use. Section numbers are
 * those of docs/LORENZ.md, and the order is that of this page.
 *
 * Internal functions return false if the block violates the format. Every number that
 * a block contains is compared with a bound before it is used.
 */
#include "lorenz.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "lorenz_coder.h"

/* The format rounds each operation to the type of the element. The x87 unit of 32-bit
 * x86 does not: compile with -msse2 -mfpmath=sse there. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "lorenz needs FLT_EVAL_METHOD 0; on 32-bit x86, compile with -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "lorenz needs IEEE 754: compile without -ffast-math"
#endif
/* Compilers that fuse a * b + c need -ffp-contract=off as well: GCC ignores the pragma. No
 * expression below has this form, so that this is only a precaution. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

enum {
	GROUP = 32,                      /* values of a group (section 8) */
	CHUNK = 512,                     /* symbols of a chunk (section 8) */
	BATCH = 4,                       /* chunks decoded at once */
	WORD_BITS = 11,                  /* of the longest code word (section 8) */
	CHUNK_WORDS = CHUNK * WORD_BITS / 8, /* bytes of the longest code words of a chunk */
	PIECE = 4096,                    /* residuals decoded at once, a multiple of GROUP */
	MAX_DICTIONARY = 1 << 20,        /* entries (section 4) */
	MAX_DISTANCE = 1 << 20,          /* N and B (section 10) */
	MAX_PARTS = 65536,               /* (section 13) */
	TEXT_STREAMS = 16,               /* streams of literals (section 12) */
};

/* lorenz_avx2.c compiles this file once more for processors with AVX2 and BMI2. If
 * LORENZ_DISPATCH is defined, that file is linked, and chosen when the processor has them. */
#if defined(LORENZ_AVX2) || defined(LORENZ_DISPATCH)
__attribute__((visibility("hidden"))) bool lorenz_decode_avx2(const lorenz_params *p, const uint8_t *src, size_t src_len,
	uint64_t first, uint64_t count, uint8_t *dst, uint8_t *scratch);
#endif

/* ---- Bytes and bits ---- */

#define EACH_BYTE UINT64_C(0x0101010101010101) /* times a byte: eight of them */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HOST_LITTLE 0
#else
#define HOST_LITTLE 1
#endif

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline void store_element(uint8_t *p, uint64_t bits, unsigned size, bool swap)
{
	switch (size) {
	case 1:
		*p = (uint8_t)bits;
		break;
	case 2: {
		uint16_t v = swap ? __builtin_bswap16((uint16_t)bits) : (uint16_t)bits;
		memcpy(p, &v, 2);
		break;
	}
	case 4: {
		uint32_t v = swap ? __builtin_bswap32((uint32_t)bits) : (uint32_t)bits;
		memcpy(p, &v, 4);
		break;
	}
	default: {
		uint64_t v = swap ? __builtin_bswap64(bits) : bits;
		memcpy(p, &v, 8);
	}
	}
}

static inline uint64_t load_element(const uint8_t *p, unsigned size)
{
	uint16_t v2;
	uint32_t v4;
	uint64_t v8;
	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v2, p, 2);
		return v2;
	case 4:
		memcpy(&v4, p, 4);
		return v4;
	default:
		memcpy(&v8, p, 8);
		return v8;
	}
}

/* Writes an element that the block stores in big-endian order. */
static inline void copy_element(uint8_t *dst, const uint8_t *src, unsigned size, bool reverse)
{
	for (unsigned i = 0; i < size; i++)
		dst[i] = src[reverse ? size - 1 - i : i];
}

/* The bytes of a block that have not been read. */
typedef struct {
	const uint8_t *p, *end;
} reader;

static inline size_t left(const reader *in)
{
	return (size_t)(in->end - in->p);
}

static inline bool read_byte(reader *in, uint8_t *b)
{
	if (in->p == in->end)
		return false;
	*b = *in->p++;
	return true;
}

static bool read_uv(reader *in, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b;
		if (!read_byte(in, &b) || (shift == 63 && b > 1))
			return false;
		*v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return true;
	}
	return false;
}

/* A bit string. */
typedef struct {
	const uint8_t *p;
	uint64_t at, length; /* in bits; the length is a multiple of 8 */
} bits;

/* Returns the next 56 bits or more. Zeros follow the last bit. */
static inline uint64_t bits_peek(const bits *b)
{
	uint64_t byte = b->at >> 3, end = b->length >> 3, v = 0;
	if (byte + 8 <= end)
		return load64(b->p + byte) >> (b->at & 7);
	for (unsigned i = 0; byte + i < end; i++)
		v |= (uint64_t)b->p[byte + i] << (8 * i);
	return v >> (b->at & 7);
}

/* Reads a number of up to 64 bits. */
static inline bool bits_read(bits *b, unsigned count, uint64_t *v)
{
	if (count > b->length - b->at)
		return false;
	if (count <= 32) {
		*v = bits_peek(b) & (((uint64_t)1 << count) - 1);
		b->at += count;
		return true;
	}
	uint64_t low = bits_peek(b) & UINT32_MAX;
	b->at += 32;
	*v = low | (bits_peek(b) & (((uint64_t)1 << (count - 32)) - 1)) << 32;
	b->at += count - 32;
	return true;
}

/* ---- Symbol streams (section 8) ---- */

/* Which symbols have extra bits, and how many numbers a symbol has. */
typedef enum {
	NUMBERS = 0, /* a number, a packing of 0 */
	NIBBLES = 1, /* two numbers of 4 bits, a packing of 1 */
	PAIRS = 2,   /* four numbers of 2 bits, a packing of 2 */
	SYMBOLS = 3  /* bytes without extra bits */
} content;

typedef enum { CONSTANT = 0, RAW = 1, HUFFMAN = 2 } method;

/* A symbol stream, and the symbols that have been decoded but not used. */
typedef struct {
	uint64_t left; /* symbols that are not decoded */
	bits lengths;  /* lengths of chunks, from the next one on */
	uint32_t shortest;
	uint32_t width;
	const uint8_t *next;  /* the next chunk */
	const uint8_t *limit; /* the end of the block */
	uint8_t content;
	uint8_t method;
	uint8_t symbol; /* the constant one */
	bool extra;     /* symbols may have extra bits */
	bool check;     /* some symbols of the alphabet MUST NOT occur */
	uint32_t at, have; /* the place in symbols, and how many there are */
	bits extras[BATCH]; /* the extra bits of each chunk, if extra is set */
	uint8_t symbols[BATCH * CHUNK];
	uint16_t table[1 << WORD_BITS]; /* by the next bits: symbol << 8 | length of the word */
} source;

/* Reports whether a symbol may occur in the stream. */
static bool symbol_allowed(const source *s, unsigned symbol)
{
	switch (s->content) {
	case NUMBERS:
		return symbol <= (s->extra ? 248 : 191);
	case NIBBLES:
		return s->extra || (symbol >> 4 != 15 && (symbol & 15) != 15);
	case PAIRS:
		return s->extra || (symbol & symbol >> 1 & 0x55) == 0;
	default:
		return true;
	}
}

/* Reads a number of the code γ. The numbers of code lengths are small: others are refused. */
static bool read_gamma(bits *b, unsigned *v)
{
	uint64_t word = bits_peek(b);
	unsigned zeros = 0;
	while (zeros < 10 && (word >> zeros & 1) == 0)
		zeros++;
	if (zeros == 10 || 2 * zeros + 1 > b->length - b->at)
		return false;
	*v = 1u << zeros | (unsigned)(word >> (zeros + 1) & ((1u << zeros) - 1));
	b->at += 2 * zeros + 1;
	return true;
}

/* Reads the code lengths of a Huffman stream and makes its table. */
static bool read_code(reader *in, source *s)
{
	bits b = {in->p, 0, (uint64_t)left(in) * 8};
	uint64_t last;
	if (!bits_read(&b, 8, &last))
		return false;
	uint8_t present[256];
	unsigned count = 0;
	for (unsigned symbol = 0, absent = 0; symbol <= last; absent = !absent) {
		unsigned run;
		if (!read_gamma(&b, &run))
			return false;
		if (symbol == 0 && !absent)
			run--;
		if (run > last + 1 - symbol || (absent && run == last + 1 - symbol))
			return false;
		for (; run > 0; run--, symbol++)
			if (!absent)
				present[count++] = (uint8_t)symbol;
	}
	uint8_t length[256];
	unsigned of_length[WORD_BITS + 1] = {0};
	int at = 5;
	s->check = false;
	for (unsigned i = 0; i < count; i++) {
		unsigned z;
		if (!read_gamma(&b, &z))
			return false;
		z--;
		at += z & 1 ? -(int)(z / 2) - 1 : (int)(z / 2);
		if (at < 1 || at > WORD_BITS)
			return false;
		length[i] = (uint8_t)at;
		of_length[at]++;
		s->check |= !symbol_allowed(s, present[i]);
	}
	in->p += (b.at + 7) / 8;
	unsigned next[WORD_BITS + 1], word = 0;
	for (unsigned l = 1; l <= WORD_BITS; l++) {
		word = (word + of_length[l - 1]) << 1;
		next[l] = word;
		if (word + of_length[l] > 1u << l)
			return false;
	}
	if (next[WORD_BITS] + of_length[WORD_BITS] != 1 << WORD_BITS)
		return false;
	for (unsigned i = 0; i < count; i++) {
		unsigned l = length[i], w = next[l]++, reversed = 0;
		for (unsigned j = 0; j < l; j++)
			reversed |= (w >> j & 1) << (l - 1 - j);
		for (; reversed < 1 << WORD_BITS; reversed += 1u << l)
			s->table[reversed] = (uint16_t)(present[i] << 8 | l);
	}
	return true;
}

static inline uint64_t chunk_length(source *s)
{
	uint64_t more = 0;
	if (s->width > 0)
		bits_read(&s->lengths, s->width, &more); /* cannot fail: source_open has read it before */
	return s->shortest + more;
}

/* Opens the stream of count symbols at in and moves in behind it. */
static bool source_open(reader *in, source *s, uint64_t count, content content)
{
	s->left = count;
	s->content = (uint8_t)content;
	s->at = s->have = 0;
	s->check = s->extra = false;
	s->limit = in->end;
	s->method = CONSTANT;
	if (count == 0)
		return true;
	uint8_t head;
	if (!read_byte(in, &head) || head & ~7u || (head & 3) == 3 || (content == SYMBOLS && head & 4))
		return false;
	s->method = head & 3;
	s->extra = head & 4;
	switch (s->method) {
	case CONSTANT:
		if (!read_byte(in, &s->symbol) || !symbol_allowed(s, s->symbol))
			return false;
		break;
	case RAW:
		s->check = content == NUMBERS || (content != SYMBOLS && !s->extra);
		break;
	default:
		if (!read_code(in, s))
			return false;
	}
	if (s->method != HUFFMAN && !s->extra) {
		s->next = in->p;
		if (s->method == RAW) {
			if (count > left(in))
				return false;
			in->p += count;
		}
		return true;
	}
	uint64_t shortest, chunks = (count + CHUNK - 1) / CHUNK;
	if (!read_uv(in, &shortest) || shortest > 65535)
		return false;
	s->shortest = (uint32_t)shortest;
	s->width = 0;
	if (chunks > 1) {
		uint8_t width;
		if (!read_byte(in, &width) || width > 16)
			return false;
		s->width = width;
		uint64_t bytes = (chunks * width + 7) / 8;
		if (bytes > left(in))
			return false;
		s->lengths = (bits){in->p, 0, bytes * 8};
		in->p += bytes;
	}
	s->next = in->p;
	uint64_t total = chunks * shortest; /* at most 2^21 × 2^16 */
	if (s->width > 0) {
		bits again = s->lengths;
		total = 0;
		for (uint64_t i = 0; i < chunks; i++)
			total += chunk_length(s);
		s->lengths = again;
	}
	if (total > left(in))
		return false;
	in->p += total;
	return true;
}

/* Decodes count symbols, at most CHUNK, and returns the number of bits that their words
 * take. p has CHUNK_WORDS + 8 bytes. */
static uint64_t huffman(const uint16_t *table, const uint8_t *p, uint8_t *symbols, unsigned count)
{
	uint64_t at = 0;
	for (unsigned i = 0; i < count; i++) {
		uint16_t e = table[load64(p + (at >> 3)) >> (at & 7) & ((1 << WORD_BITS) - 1)];
		symbols[i] = (uint8_t)(e >> 8);
		at += e & 255;
	}
	return at;
}

/* Decodes BATCH whole chunks in turns, because each symbol of a chunk has to wait for the
 * one before it. Seven bits and four words fit into a load. */
static ALWAYS_INLINE void huffman_chunks(const uint16_t *table, const uint8_t *const p[BATCH], uint8_t *symbols,
	uint64_t words[BATCH])
{
	const unsigned mask = (1 << WORD_BITS) - 1;
	const uint8_t *p0 = p[0], *p1 = p[1], *p2 = p[2], *p3 = p[3];
	uint64_t at0 = 0, at1 = 0, at2 = 0, at3 = 0;
	for (unsigned i = 0; i < CHUNK; i += 4) {
		uint64_t b0 = load64(p0 + (at0 >> 3)) >> (at0 & 7), b1 = load64(p1 + (at1 >> 3)) >> (at1 & 7);
		uint64_t b2 = load64(p2 + (at2 >> 3)) >> (at2 & 7), b3 = load64(p3 + (at3 >> 3)) >> (at3 & 7);
		for (unsigned j = i; j < i + 4; j++) {
			unsigned e0 = table[b0 & mask], e1 = table[b1 & mask], e2 = table[b2 & mask], e3 = table[b3 & mask];
			b0 >>= e0 & 63;
			b1 >>= e1 & 63;
			b2 >>= e2 & 63;
			b3 >>= e3 & 63;
			at0 += e0 & 63;
			at1 += e1 & 63;
			at2 += e2 & 63;
			at3 += e3 & 63;
			symbols[j] = (uint8_t)(e0 >> 8);
			symbols[j + CHUNK] = (uint8_t)(e1 >> 8);
			symbols[j + 2 * CHUNK] = (uint8_t)(e2 >> 8);
			symbols[j + 3 * CHUNK] = (uint8_t)(e3 >> 8);
		}
	}
	words[0] = at0;
	words[1] = at1;
	words[2] = at2;
	words[3] = at3;
}

/* Decodes the code words of the next chunks, and returns the bits that they take. */
static void decode_words(source *s, const uint8_t *const chunk[BATCH], uint32_t n, uint64_t words[BATCH])
{
	unsigned whole = n / CHUNK, done = 0;
	if (whole > 1 && s->limit - chunk[whole - 1] >= CHUNK_WORDS + 8) {
		const uint8_t *p[BATCH]; /* the last one fills the turns of missing ones */
		for (unsigned i = 0; i < BATCH; i++)
			p[i] = chunk[i < whole ? i : whole - 1];
		huffman_chunks(s->table, p, s->symbols, words);
		done = whole;
	}
	for (unsigned i = done; i * CHUNK < n; i++) {
		unsigned count = n - i * CHUNK < CHUNK ? n - i * CHUNK : CHUNK;
		uint8_t padded[CHUNK_WORDS + 8];
		const uint8_t *p = chunk[i];
		size_t have = (size_t)(s->limit - p);
		if (have < sizeof padded) {
			memcpy(padded, p, have);
			memset(padded + have, 0, sizeof padded - have);
			p = padded;
		}
		words[i] = huffman(s->table, p, s->symbols + i * CHUNK, count);
	}
}

/* Decodes the next chunks of the stream to s->symbols. */
static bool source_fill(source *s)
{
	uint32_t n = s->left < BATCH * CHUNK ? (uint32_t)s->left : BATCH * CHUNK;
	s->left -= n;
	s->at = 0;
	s->have = n;
	if (s->method == CONSTANT)
		memset(s->symbols, s->symbol, n);
	if (s->method == RAW && !s->extra) {
		memcpy(s->symbols, s->next, n);
		s->next += n;
	}
	if (s->method == HUFFMAN || s->extra) {
		const uint8_t *chunk[BATCH] = {0};
		uint64_t length[BATCH], words[BATCH] = {0};
		unsigned chunks = (n + CHUNK - 1) / CHUNK;
		for (unsigned i = 0; i < chunks; i++) {
			chunk[i] = s->next;
			length[i] = chunk_length(s);
			s->next += length[i];
		}
		if (s->method == HUFFMAN)
			decode_words(s, chunk, n, words);
		for (unsigned i = 0; i < chunks; i++) {
			unsigned count = n - i * CHUNK < CHUNK ? n - i * CHUNK : CHUNK;
			if (s->method == RAW) {
				if (count > length[i])
					return false;
				memcpy(s->symbols + i * CHUNK, chunk[i], count);
				words[i] = 8 * count;
			}
			if (s->extra) {
				s->extras[i] = (bits){chunk[i], words[i], length[i] * 8};
				if (words[i] > length[i] * 8)
					return false;
			} else if ((words[i] + 7) / 8 != length[i]) {
				return false;
			}
		}
	}
	if (s->check)
		for (uint32_t i = 0; i < n; i++)
			if (!symbol_allowed(s, s->symbols[i]))
				return false;
	return true;
}

/* Moves behind the next count symbols of s->symbols. The extra bits of a chunk must be
 * used up at its end. */
static inline bool source_advance(source *s, unsigned count)
{
	unsigned chunk = s->at / CHUNK;
	s->at += count;
	if (s->extra && (s->at % CHUNK == 0 || s->at == s->have)) {
		const bits *b = &s->extras[chunk];
		return (b->at + 7) / 8 == b->length / 8;
	}
	return true;
}

/* ---- Number streams (section 8) ---- */

/* Reads the extra bits of a symbol of 192 or more. */
static inline bool read_extra(bits *b, unsigned symbol, uint64_t *v)
{
	unsigned low = symbol - 185; /* bitlen - 1 */
	if (!bits_read(b, low, v))
		return false;
	*v |= (uint64_t)1 << low;
	return true;
}

/* Returns the next number of a number stream that has not ended. */
static inline bool source_number(source *s, uint64_t *v)
{
	if (s->at == s->have && !source_fill(s))
		return false;
	unsigned symbol = s->symbols[s->at];
	*v = symbol;
	if (symbol >= 192 && !read_extra(&s->extras[s->at / CHUNK], symbol, v))
		return false;
	return source_advance(s, 1);
}

/* ---- Group streams (section 8) ---- */

/* An excess of packed numbers, in groups of three bits. */
static bool read_excess(bits *b, uint64_t *v)
{
	*v = 0;
	for (unsigned i = 0; i < 22; i++) {
		uint64_t four;
		if (!bits_read(b, 4, &four))
			return false;
		*v |= (four & 7) << (3 * i);
		if (four < 8)
			return true;
	}
	return false;
}

/* Returns the symbols of the next group of a stream that has not ended, as 32 numbers
 * without their extra bits. They may be in spread. */
static inline const uint8_t *source_group(source *s, uint8_t spread[GROUP])
{
	if (s->at == s->have && !source_fill(s))
		return NULL;
	const uint8_t *p = s->symbols + s->at;
	if (s->content == NUMBERS)
		return p;
	uint8_t nibbles[GROUP / 2];
	if (s->content == PAIRS) {
		for (unsigned i = 0; i < GROUP / 4; i++) {
			nibbles[2 * i] = p[i] & 15;
			nibbles[2 * i + 1] = p[i] >> 4;
		}
		for (unsigned i = 0; i < GROUP / 2; i++) {
			spread[2 * i] = nibbles[i] & 3;
			spread[2 * i + 1] = nibbles[i] >> 2;
		}
		return spread;
	}
	for (unsigned i = 0; i < GROUP / 2; i++) {
		spread[2 * i] = p[i] & 15;
		spread[2 * i + 1] = p[i] >> 4;
	}
	return spread;
}

/* Reads the extra bits of the first number at or after number *i of a group that has some.
 * Sets *i to it, or to GROUP if there is none. */
static inline bool source_extra(source *s, const uint8_t *numbers, unsigned *i, uint64_t *v)
{
	static const uint8_t least[] = {192, 15, 3};
	while (*i < GROUP) {
		uint64_t word = load64(numbers + (*i & ~7u)), has; /* 128 for each byte with extra bits */
		switch (s->content) {
		case NUMBERS: has = word & word << 1; break;
		case NIBBLES: has = word + EACH_BYTE * (128 - 15); break;
		default: has = word + EACH_BYTE * (128 - 3);
		}
		has = (has & EACH_BYTE * 128) >> (*i & 7) * 8;
		if (has == 0) {
			*i = (*i & ~7u) + 8;
			continue;
		}
		*i += (unsigned)__builtin_ctzll(has) / 8;
		bits *extra = &s->extras[s->at / CHUNK];
		if (s->content == NUMBERS)
			return read_extra(extra, numbers[*i], v);
		if (!read_excess(extra, v))
			return false;
		*v += least[s->content];
		return true;
	}
	return true;
}

typedef struct {
	uint64_t next; /* group */
	uint8_t *classes; /* of each group */
	uint8_t *shifts;  /* memory for the trailing zeros of each group */
	uint8_t *zeros;   /* shifts, or NULL if there are none */
	bool plain;       /* values are no zigzag numbers */
	uint8_t source_of[7]; /* by class, at most 6 */
	source *sources;  /* six */
	const uint8_t *low; /* the low bits of the next group */
	const uint8_t *limit;
} groups;

static inline uint64_t groups_of(uint64_t m)
{
	return (m + GROUP - 1) / GROUP;
}

/* Opens the group stream of m values in lanes of width bits at in and moves in behind it. */
static bool groups_open(reader *in, groups *g, uint64_t m, unsigned width)
{
	g->next = 0;
	g->zeros = NULL;
	g->limit = in->end;
	if (m == 0)
		return true;
	uint64_t count = groups_of(m);
	if (left(in) < 3)
		return false;
	unsigned flags = in->p[0], packing = in->p[1] | in->p[2] << 8;
	in->p += 3;
	if (flags & 4)
		return false;
	g->plain = flags & 2;

	source *s = &g->sources[0];
	uint64_t with_class[64 + 3] = {0};
	if (!source_open(in, s, count, SYMBOLS))
		return false;
	unsigned class = 0;
	for (uint64_t i = 0; i < count;) {
		if (!source_fill(s))
			return false;
		for (uint32_t j = 0; j < s->have; j++) {
			class = (class + s->symbols[j]) & 255;
			if (class > width + 2)
				return false;
			with_class[class]++;
			g->classes[i++] = (uint8_t)class;
		}
	}
	if (flags & 1) {
		if (!source_open(in, s, count, SYMBOLS))
			return false;
		for (uint64_t i = 0; i < count;) {
			if (!source_fill(s))
				return false;
			for (uint32_t j = 0; j < s->have; j++) {
				if (s->symbols[j] >= width)
					return false;
				g->shifts[i++] = s->symbols[j];
			}
		}
		g->zeros = g->shifts;
	}

	uint64_t in_source[6] = {0}, low = 0;
	g->source_of[1] = 0;
	for (unsigned c = 2; c <= 6; c++)
		g->source_of[c] = g->source_of[c - 1] + !(flags >> (c + 1) & 1);
	for (unsigned c = 1; c <= width + 2; c++) {
		in_source[g->source_of[c < 6 ? c : 6]] += with_class[c];
		if (c > 5)
			low += with_class[c] * 4 * (c - 5);
	}
	for (unsigned i = 0; i < 6; i++) {
		content packed = packing >> 2 * i & 3;
		if (packed == SYMBOLS)
			return false;
		if (!source_open(in, &g->sources[i], in_source[i] * GROUP >> packed, packed))
			return false;
	}
	g->low = in->p;
	if (low > left(in))
		return false;
	in->p += low;
	return true;
}

/* Moves behind the numbers of count groups. */
static bool source_skip(source *s, uint64_t count)
{
	unsigned each = GROUP >> s->content;
	uint64_t chunks = count * each / CHUNK;
	s->left -= chunks * CHUNK;
	if (s->method == RAW && !s->extra)
		s->next += chunks * CHUNK;
	if (s->method == HUFFMAN || s->extra)
		for (uint64_t i = 0; i < chunks; i++)
			s->next += chunk_length(s);
	uint8_t spread[GROUP];
	for (count %= CHUNK / each; count > 0; count--) {
		const uint8_t *numbers = source_group(s, spread);
		if (numbers == NULL)
			return false;
		uint64_t v;
		for (unsigned i = s->extra ? 0 : GROUP; i < GROUP; i++)
			if (!source_extra(s, numbers, &i, &v))
				return false;
		if (!source_advance(s, each))
			return false;
	}
	return true;
}

/* Moves from the beginning of the stream behind count groups. */
static bool groups_skip(groups *g, uint64_t count)
{
	uint64_t in_source[6] = {0};
	for (; g->next < count; g->next++) {
		unsigned class = g->classes[g->next];
		if (class > 0)
			in_source[g->source_of[class < 6 ? class : 6]]++;
		if (class > 5)
			g->low += 4 * (class - 5);
	}
	for (unsigned i = 0; i < 6; i++)
		if (!source_skip(&g->sources[i], in_source[i]))
			return false;
	return true;
}

/* ---- The memory of a decoder ---- */

/* Distances used last, the latest first (section 7). */
typedef struct {
	uint64_t d[3];
} recent;

/* Returns the distance of a code, which is far for a code of 3 or more, and makes it the
 * latest. Returns 0 for a distance of 0, and forgets nothing then: the caller refuses it. */
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

enum { CONTEXT_0 = 12 * 8, CONTEXT_1 = 4 * 9 * 9, CONTEXT_2 = 3 * 9 * 9, CONTEXT_3 = 3 * 5 * 5 * 3, NODES = 16 };

/* The state of adaptive residuals (section 10). */
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
	probability context[4][CONTEXT_1 * NODES];
	weight weights[4][NODES][4];
	probability sign[3 * 3 * 3][3];
	probability second[9][8][8];
} adaptive;

/* The scratch memory, cut into its parts. */
typedef struct {
	const lorenz_params *p; /* of the block or the part */
	uint8_t *kinds;  /* of the elements (section 6) */
	void *lanes;
	uint8_t *entries; /* of a dictionary */
	part *parts;
	uint8_t *whole;  /* bytes of a block, of which a range is wanted */
	groups groups[2];
	source *sources; /* 19 */
	uint64_t *piece; /* PIECE lanes */
	adaptive *adaptive;
	coder_tables *tables;
	bool have_tables;
} space;

enum { SOURCES = TEXT_STREAMS + 3 };

static inline bool is_float(const lorenz_params *p)
{
	return p->type == LORENZ_FLOAT32 || p->type == LORENZ_FLOAT64;
}

/* Whether elements are in another byte order than the processor's. */
static inline bool swapped(const lorenz_params *p)
{
	return (p->little_endian != 0) != HOST_LITTLE;
}

/* ---- Adaptive residuals (section 10) ---- */

/* Reads options and length, and prepares to decode what follows. */
static adaptive *adaptive_open(space *x, reader *in, uint64_t n_distance, uint64_t b_distance)
{
	adaptive *a = x->adaptive;
	uint8_t options;
	uint64_t length;
	if (!read_byte(in, &options) || options & ~1u || !read_uv(in, &length) || length > left(in))
		return NULL;
	if (n_distance > MAX_DISTANCE || b_distance > MAX_DISTANCE)
		return NULL;
	if (!x->have_tables) {
		coder_tables_init(x->tables);
		x->have_tables = true;
	}
	coder_open(&a->c, in->p, in->p + length, x->tables);
	in->p += length;
	a->low = (bits){in->p, 0, (uint64_t)left(in) * 8};
	in->p = in->end;
	a->zeros = options & 1;
	a->i = a->unmasked = 0;
	a->n_distance = n_distance;
	a->b_distance = b_distance;
	a->shift = a->history = 0;
	a->empty = false;
	uint64_t far = n_distance + 1 > b_distance ? n_distance + 1 : b_distance;
	for (a->ring = 1; a->ring <= far;)
		a->ring *= 2;
	for (uint64_t i = 0; i < a->ring; i++)
		a->states[i] = 2;
	a->ring--;
	probabilities_reset(a->group, 8);
	if (a->zeros)
		probabilities_reset(a->trailing[0], 64 * 64);
	for (unsigned i = 0; i < 4; i++)
		probabilities_reset(a->context[i], CONTEXT_1 * NODES);
	for (unsigned z = 0; z < 4; z++)
		for (unsigned node = 0; node < NODES; node++)
			for (unsigned i = 0; i < 4; i++)
				a->weights[z][node][i] = z == 3 ? 39320 : 19660;
	probabilities_reset(a->sign[0], 3 * 3 * 3 * 3);
	probabilities_reset(a->second[0][0], 9 * 8 * 8);
	return a;
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
	context[0] = a->context[0] + ((e < 11 ? e : 11) * 8 + f) * NODES;
	context[1] = a->context[1] + ((z * 9 + state_q(s1, e)) * 9 + state_q(sn, e)) * NODES;
	context[2] = context[3] = NULL;
	if (used == 4) {
		context[2] = a->context[2] + ((z * 9 + state_q(sb, e)) * 9 + state_q(s2, e)) * NODES;
		context[3] = a->context[3] + (((z * 5 + state_sign(s1)) * 5 + state_sign(sn)) * 3 + state_direction(sb)) * NODES;
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

/* ---- Specials and patches (section 6) ---- */


static uint64_t count_unmasked(const uint8_t *kinds, uint64_t count)
{
	uint64_t masked = 0, i = 0;
	for (; count - i >= 8; i += 8) {
		uint64_t k = load64(kinds + i);
		masked += ((k | k >> 1) & EACH_BYTE) * EACH_BYTE >> 56;
	}
	for (; i < count; i++)
		masked += kinds[i] != 0;
	return count - masked;
}

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

/* ---- Modes 2, 4 and 5 (sections 3 to 5, 10 and 11) ---- */

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

/* Reads everything before the residuals, for modes 2, 4 and 5. */
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
	adaptive *a = adaptive_open(x, in, n_distance, b_distance);
	if (a == NULL)
		return false;
	if (!(h->wide ? adaptive_read64(a, kinds, x->lanes, n) : adaptive_read32(a, kinds, x->lanes, n)))
		return false;
	return adaptive_finished(a);
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
	for (uint64_t i = 0; i < count; i++) {
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

/* Decodes the elements first to first + count - 1 of a block in the modes 2, 4 and 5. */
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
	view v = needed_lanes(&h, n, first, count, mode == 2 && !copies);
	if (!(copies ? read_copies(x, in, mode, &h, kinds) :
		mode == 4 ? read_adaptive(x, in, &h, kinds) : read_groups(x, in, &h, &v, kinds)))
		return false;
	predict(&h, &v, x->lanes);
	write_elements(x, &h, first / v.plane * v.width + first % v.plane - v.left, count, out);
	if (kinds != NULL)
		write_specials(p, h.specials, kinds + first, h.values, count, out);
	return h.patches.count == 0 || write_patches(x, &h.patches, first, count, out);
}

/* ---- Mode 6, text (section 12) ---- */

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
	if (p->little_endian && p->size > 1)
		for (uint64_t i = 0; i < size; i += p->size)
			for (unsigned j = 0; j < p->size / 2; j++) {
				uint8_t b = out[i + j];
				out[i + j] = out[i + p->size - 1 - j];
				out[i + p->size - 1 - j] = b;
			}
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
		return decode_lanes(x, in, mode, first, count, out);
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

/* Cuts scratch memory for blocks with parameters p into parts, and returns the bytes that
 * it needs. If base is NULL, it only returns the bytes. */
static uint64_t lay_out(space *x, const lorenz_params *p, uint8_t *base)
{
	uint64_t n = p->elements, at = 0, padded = groups_of(n) * GROUP, count = groups_of(n);
	uint64_t entries = n < MAX_DICTIONARY ? n : MAX_DICTIONARY;
	uint64_t ring = 16, parts = p->long_dims == 0 ? 0 : p->first_long < MAX_PARTS ? p->first_long : MAX_PARTS;
	while (ring <= n + 1 && ring <= MAX_DISTANCE + 1)
		ring *= 2;
	memset(x, 0, sizeof *x);
	x->p = p;
	x->tables = cut(base, &at, sizeof *x->tables);
	x->sources = cut(base, &at, SOURCES * sizeof *x->sources);
	x->piece = cut(base, &at, PIECE * sizeof *x->piece);
	x->adaptive = cut(base, &at, sizeof *x->adaptive);
	uint16_t *states = cut(base, &at, ring * sizeof *states);
	if (base != NULL)
		x->adaptive->states = states;
	for (unsigned i = 0; i < 2; i++) {
		x->groups[i].classes = cut(base, &at, count);
		x->groups[i].shifts = cut(base, &at, count);
		x->groups[i].sources = x->sources + 6 * i;
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
	return "0.1.0";
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
	lorenz_params q = {1, sizes[list[1]], list[1], list[2], 0, 0, {0, 0}};
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
