/*
 * lorenz_streams.h - bits, and the streams of symbols, numbers and groups (section 8). Private
 * to lorenz.c.
 */
#ifndef LORENZ_STREAMS_H
#define LORENZ_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

enum {
	GROUP = 32,                          /* values of a group */
	CHUNK = 512,                         /* symbols of a chunk */
	BATCH = 4,                           /* chunks decoded at once */
	WORD_BITS = 11,                      /* of the longest code word */
	CHUNK_WORDS = CHUNK * WORD_BITS / 8  /* bytes of the longest code words of a chunk */
};

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

/* Returns how many elements are of kind 0, of the kinds 0, 1 and 2. */
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
	if (count <= 56) {
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

#endif
