/*
 * cdfz_sha256.h - SHA-256 (FIPS 180-4). Private to cdfz.c.
 */
#ifndef CDFZ_SHA256_H
#define CDFZ_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	uint32_t h[8];
	uint64_t size;
	uint8_t block[64];
} sha256;

static void sha256_begin(sha256 *s)
{
	static const uint32_t h[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
	};
	memcpy(s->h, h, sizeof h);
	s->size = 0;
}

static inline uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void sha256_block(sha256 *s, const uint8_t *p)
{
	static const uint32_t k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
		0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
		0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
		0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
		0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
		0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
		0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
	};
	uint32_t w[64];
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t x = w[i - 15], y = w[i - 2];
		w[i] = w[i - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[i - 7] + (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
	}
	uint32_t a = s->h[0], b = s->h[1], c = s->h[2], d = s->h[3], e = s->h[4], f = s->h[5], g = s->h[6], h = s->h[7];
/* A round. The next one takes the variables in an order that is shifted by one. */
#define ROUND(a, b, c, d, e, f, g, h, i) \
	do { \
		uint32_t t = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + k[i] + w[i]; \
		d += t; \
		h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b))); \
	} while (0)
	for (unsigned i = 0; i < 64; i += 8) {
		ROUND(a, b, c, d, e, f, g, h, i);
		ROUND(h, a, b, c, d, e, f, g, i + 1);
		ROUND(g, h, a, b, c, d, e, f, i + 2);
		ROUND(f, g, h, a, b, c, d, e, i + 3);
		ROUND(e, f, g, h, a, b, c, d, i + 4);
		ROUND(d, e, f, g, h, a, b, c, i + 5);
		ROUND(c, d, e, f, g, h, a, b, i + 6);
		ROUND(b, c, d, e, f, g, h, a, i + 7);
	}
#undef ROUND
	s->h[0] += a;
	s->h[1] += b;
	s->h[2] += c;
	s->h[3] += d;
	s->h[4] += e;
	s->h[5] += f;
	s->h[6] += g;
	s->h[7] += h;
}

static void sha256_add(sha256 *s, const uint8_t *p, size_t size)
{
	size_t have = s->size % 64;
	s->size += size;
	if (have + size < 64) {
		memcpy(s->block + have, p, size);
		return;
	}
	if (have > 0) {
		memcpy(s->block + have, p, 64 - have);
		sha256_block(s, s->block);
		p += 64 - have;
		size -= 64 - have;
	}
	for (; size >= 64; p += 64, size -= 64)
		sha256_block(s, p);
	memcpy(s->block, p, size);
}

/* Writes the sum as 64 hexadecimal digits and NUL. */
static void sha256_end(sha256 *s, char digits[65])
{
	static const uint8_t padding[64] = {0x80};
	uint8_t size[8];
	uint64_t bits = s->size * 8;
	sha256_add(s, padding, 1 + (119 - s->size % 64) % 64);
	for (unsigned i = 0; i < 8; i++)
		size[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, size, 8);
	for (unsigned i = 0; i < 64; i++)
		digits[i] = "0123456789abcdef"[s->h[i / 8] >> (28 - i % 8 * 4) & 15];
	digits[64] = 0;
}

#endif
