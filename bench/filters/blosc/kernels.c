/* The shuffles inside C-Blosc, which it does not export. They run over parts of a block,
   which Blosc chooses so that they stay in cache. */
#include <stddef.h>
#include <stdint.h>

void blosc_internal_shuffle(size_t size, size_t n, const uint8_t *src, const uint8_t *dst);
void blosc_internal_unshuffle(size_t size, size_t n, const uint8_t *src, const uint8_t *dst);
int blosc_internal_bitshuffle(size_t size, size_t n, const uint8_t *src, const uint8_t *dst, const uint8_t *tmp);
int blosc_internal_bitunshuffle(size_t size, size_t n, const uint8_t *src, const uint8_t *dst, const uint8_t *tmp, uint8_t version);

void shuffle(size_t size, size_t n, const uint8_t *src, uint8_t *dst) { blosc_internal_shuffle(size, n, src, dst); }
void unshuffle(size_t size, size_t n, const uint8_t *src, uint8_t *dst) { blosc_internal_unshuffle(size, n, src, dst); }

static uint8_t tmp[1 << 16];

#define PARTS(call)                                  \
  for (size_t at = 0; at < n; at += part) {          \
    size_t m = n - at < part ? n - at : part;        \
    call;                                            \
  }

void bitshuffle(size_t size, size_t n, const uint8_t *src, uint8_t *dst, size_t part) {
  PARTS(blosc_internal_bitshuffle(size, m, src + at, dst + at, tmp))
}
void bitunshuffle(size_t size, size_t n, const uint8_t *src, uint8_t *dst, size_t part) {
  PARTS(blosc_internal_bitunshuffle(size, m, src + at, dst + at, tmp, 2))
}
