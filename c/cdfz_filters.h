/*
 * cdfz_filters.h - the filters of archives, undone (section 9). Private to cdfz.c.
 *
 * CDFZ_WITH_LZ4 and CDFZ_WITH_BZIP2 add filters that need another library.
 */
#ifndef CDFZ_FILTERS_H
#define CDFZ_FILTERS_H

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#ifdef CDFZ_WITH_BZIP2
#include <bzlib.h>
#endif
#ifdef CDFZ_WITH_LZ4
#include <lz4.h>
#endif

#include "cdfz_cache.h"
#include "lorenz.h"

enum {
	DEFLATE = 1,
	SHUFFLE = 2,
	FLETCHER32 = 3,
	BZIP2 = 307,
	LZ4 = 32004,
	ZSTD = 32015,
	LORENZ = 52723,
	MOST_FILTER_ID = 65535,
	CHAIN = 32 /* filters */
};

typedef struct {
	uint32_t id;
	uint32_t param_count;
	const uint32_t *params;
	char name[24]; /* in the plan; printable, ends with NUL */
} filter;

/* What a filter is given, and what it makes of it. */
typedef struct {
	const filter *filter;
	const uint8_t *in;
	size_t in_size;
	bool last;      /* the block itself is decoded, of exactly most bytes, to out */
	size_t most;    /* bytes that may be decoded */
	uint8_t *out;   /* memory that the caller frees; unless last is set, the filter takes it */
	size_t out_size;
	const char *fault;
	cdfz_status status; /* of the fault */
} step;

static bool step_fail(step *s, cdfz_status status, const char *fault)
{
	if (s->fault == NULL) {
		s->status = status;
		s->fault = fault;
	}
	return false;
}

static bool step_damaged(step *s, const char *fault)
{
	return step_fail(s, CDFZ_DAMAGED, fault);
}

/* Provides memory for exactly size decoded bytes. */
static bool step_room(step *s, uint64_t size)
{
	if (s->last ? size != s->most : size > s->most)
		return step_damaged(s, "expected another decoded length");
	s->out_size = (size_t)size;
	if (!s->last)
		s->out = malloc(s->out_size ? s->out_size : 1);
	return s->out != NULL || step_fail(s, CDFZ_MEMORY, "out of memory");
}

/* Makes memory whose size is not known before longer. Returns false if it must not be. */
static bool step_more(step *s, size_t used)
{
	if (s->last || used >= s->most)
		return step_damaged(s, "more bytes than the format allows");
	size_t size = s->most;
	if (s->out_size < size / 2) /* 2 * out_size might exceed SIZE_MAX */
		size = (size_t)least(size, greatest(4096, 2 * s->out_size));
	uint8_t *more = realloc(s->out, size);
	if (more == NULL)
		return step_fail(s, CDFZ_MEMORY, "out of memory");
	s->out = more;
	s->out_size = size;
	return true;
}

/* Decodes a zlib stream, or deflate without a header if window is negative. */
static bool inflate_all(step *s, int window)
{
	z_stream z = {0};
	size_t used = 0;
	int result;
	if (s->last)
		s->out_size = s->most;
	if (inflateInit2(&z, window) != Z_OK)
		return step_fail(s, CDFZ_MEMORY, "out of memory");
	z.next_in = (Bytef *)(uintptr_t)s->in;
	z.avail_in = (uInt)s->in_size; /* stored blocks are shorter than 2^32 bytes */
	do {
		uint8_t extra; /* a byte that would be too many */
		bool full = used == s->out_size && (s->last || s->out_size >= s->most);
		if (used == s->out_size && !full && !step_more(s, used))
			break;
		z.next_out = full ? &extra : s->out + used;
		z.avail_out = full ? 1 : (uInt)least(s->out_size - used, UINT32_MAX);
		uInt room = z.avail_out;
		result = inflate(&z, Z_NO_FLUSH);
		if (full && z.avail_out == 0)
			step_damaged(s, "more bytes than the format allows");
		else
			used += room - z.avail_out;
		if (result == Z_MEM_ERROR)
			step_fail(s, CDFZ_MEMORY, "out of memory");
		else if (result == Z_BUF_ERROR || (result == Z_OK && z.avail_in == 0 && z.avail_out > 0))
			step_damaged(s, "the deflate stream ends early");
		else if (result == Z_STREAM_END && z.avail_in > 0)
			step_damaged(s, "bytes follow the deflate stream");
		else if (result != Z_OK && result != Z_STREAM_END)
			step_damaged(s, "this is no deflate stream");
	} while (s->fault == NULL && result == Z_OK);
	inflateEnd(&z);
	if (s->fault == NULL && s->last && used != s->most)
		step_damaged(s, "expected another decoded length");
	s->out_size = used;
	return s->fault == NULL;
}

static bool undo_deflate(step *s)
{
	if (s->filter->param_count != 1 || s->filter->params[0] > 9)
		return step_damaged(s, "expected a level of 0 to 9");
	return inflate_all(s, 15);
}

static bool undo_shuffle(step *s)
{
	if (s->filter->param_count != 1 || s->filter->params[0] < 1)
		return step_damaged(s, "expected an element size of at least 1");
	if (!step_room(s, s->in_size))
		return false;
	size_t size = s->filter->params[0], n = s->in_size / size, whole = n * size;
	for (size_t j = 0; n > 0 && j < size; j++) {
		const uint8_t *in = s->in + j * n;
		uint8_t *out = s->out + j;
		for (size_t i = 0; i < n; i++)
			out[i * size] = in[i];
	}
	memcpy(s->out + whole, s->in + whole, s->in_size - whole);
	return true;
}

static uint32_t little32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static uint64_t little64(const uint8_t *p)
{
	return (uint64_t)little32(p + 4) << 32 | little32(p);
}

static bool undo_fletcher32(step *s)
{
	if (s->filter->param_count != 0)
		return step_damaged(s, "expected no parameters");
	if (s->in_size < 4)
		return step_damaged(s, "the checksum is missing");
	size_t n = s->in_size - 4;
	uint32_t a = 0, b = 0;
	for (size_t i = 0; i < n; i += 2) {
		a += (uint32_t)s->in[i] << 8 | (i + 1 < n ? s->in[i + 1] : 0);
		b += a;
		a = (a & 0xffff) + (a >> 16);
		b = (b & 0xffff) + (b >> 16);
	}
	a = (a & 0xffff) + (a >> 16);
	b = (b & 0xffff) + (b >> 16);
	if ((b << 16 | a) != little32(s->in + n))
		return step_damaged(s, "the checksum of fletcher32 is wrong");
	if (!step_room(s, n))
		return false;
	memcpy(s->out, s->in, n);
	return true;
}

/* One frame with its content size, without a checksum or a dictionary (section 9.3). */
static bool undo_zstd(step *s)
{
	const filter *f = s->filter;
	if (f->param_count > 1 || (f->param_count == 1 && (int32_t)f->params[0] > 22) ||
	    (f->param_count == 1 && (int32_t)f->params[0] < -131072))
		return step_damaged(s, "expected a level of -131072 to 22, or none");
	if (s->in_size < 5 || little32(s->in) != 0xfd2fb528)
		return step_damaged(s, "this is no Zstandard frame");
	uint8_t descriptor = s->in[4];
	if (descriptor & 0x04)
		return step_damaged(s, "the frame has a checksum");
	if (descriptor & 0x03)
		return step_damaged(s, "the frame has a dictionary id");
	if (!(descriptor & 0xe0))
		return step_damaged(s, "the frame lacks its content size");
	unsigned long long size = ZSTD_getFrameContentSize(s->in, s->in_size);
	if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
		return step_damaged(s, "the header of the frame is malformed");
	size_t stored = ZSTD_findFrameCompressedSize(s->in, s->in_size);
	if (ZSTD_isError(stored))
		return step_damaged(s, "the frame is malformed");
	if (stored != s->in_size)
		return step_damaged(s, "bytes follow the frame");
	if (!step_room(s, size))
		return false;
	ZSTD_DCtx *context = ZSTD_createDCtx();
	if (context == NULL)
		return step_fail(s, CDFZ_MEMORY, "out of memory");
	size_t decoded = ZSTD_decompressDCtx(context, s->out, s->out_size, s->in, s->in_size);
	ZSTD_freeDCtx(context);
	if (ZSTD_isError(decoded) && ZSTD_getErrorCode(decoded) == ZSTD_error_memory_allocation)
		return step_fail(s, CDFZ_MEMORY, "out of memory");
	return decoded == s->out_size || step_damaged(s, "the frame is malformed");
}

/* Decodes the elements of a lorenz block that hold the bytes first to first + size - 1. Writes
 * them to out if it is not NULL, else the whole block. */
static bool undo_lorenz(step *s, size_t first, size_t size, uint8_t *out)
{
	const filter *f = s->filter;
	lorenz_params p;
	lorenz_status status = lorenz_parse(&p, f->params, f->param_count);
	if (status == LORENZ_OK && out == NULL && !step_room(s, lorenz_size(&p)))
		return false;
	if (status == LORENZ_OK && out != NULL && lorenz_size(&p) != s->most)
		return step_damaged(s, "expected another decoded length");
	if (status == LORENZ_OK) {
		size_t need = lorenz_scratch_size(&p);
		void *scratch = need == SIZE_MAX ? NULL : scratch_take(&need);
		if (scratch == NULL)
			return step_fail(s, CDFZ_MEMORY, "out of memory");
		if (out == NULL)
			status = lorenz_decode(&p, s->in, s->in_size, s->out, s->out_size, scratch, need);
		else
			status = lorenz_decode_range(&p, s->in, s->in_size, first / p.size, size / p.size, out, size, scratch, need);
		scratch_give(scratch, need);
	}
	switch (status) {
	case LORENZ_OK:
		return true;
	case LORENZ_PARAMETERS:
		return step_damaged(s, "these are no parameters of a block");
	case LORENZ_CORRUPT:
		return step_damaged(s, "the block is corrupt");
	default:
		return step_fail(s, CDFZ_UNSUPPORTED, lorenz_strerror(status));
	}
}

#ifdef CDFZ_WITH_BZIP2
static bool undo_bzip2(step *s)
{
	const filter *f = s->filter;
	if (f->param_count > 1 || (f->param_count == 1 && (f->params[0] < 1 || f->params[0] > 9)))
		return step_damaged(s, "expected a level of 1 to 9, or none");
	bz_stream z = {0};
	size_t used = 0;
	int result = BZ_OK;
	if (s->last)
		s->out_size = s->most;
	if (BZ2_bzDecompressInit(&z, 0, 0) != BZ_OK)
		return step_fail(s, CDFZ_MEMORY, "out of memory");
	z.next_in = (char *)(uintptr_t)s->in;
	z.avail_in = (unsigned)s->in_size;
	while (s->fault == NULL && result == BZ_OK) {
		char extra;
		bool full = used == s->out_size && (s->last || s->out_size >= s->most);
		if (used == s->out_size && !full && !step_more(s, used))
			break;
		z.next_out = full ? &extra : (char *)s->out + used;
		z.avail_out = full ? 1 : (unsigned)(s->out_size - used);
		unsigned room = z.avail_out;
		result = BZ2_bzDecompress(&z);
		if (full && z.avail_out == 0)
			step_damaged(s, "more bytes than the format allows");
		else
			used += room - z.avail_out;
		if (result == BZ_MEM_ERROR)
			step_fail(s, CDFZ_MEMORY, "out of memory");
		else if (result == BZ_STREAM_END && z.avail_in > 0)
			step_damaged(s, "bytes follow the bzip2 stream");
		else if ((result != BZ_OK && result != BZ_STREAM_END) || (result == BZ_OK && z.avail_in == 0 && z.avail_out > 0))
			step_damaged(s, "this is no bzip2 stream");
	}
	BZ2_bzDecompressEnd(&z);
	if (s->fault == NULL && s->last && used != s->most)
		step_damaged(s, "expected another decoded length");
	s->out_size = used;
	return s->fault == NULL;
}
#endif

#ifdef CDFZ_WITH_LZ4
static uint32_t big32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool undo_lz4(step *s)
{
	const filter *f = s->filter;
	if (f->param_count > 1 || (f->param_count == 1 && f->params[0] > 2113929216))
		return step_damaged(s, "expected a block size of at most 2113929216, or none");
	if (s->in_size < 12)
		return step_damaged(s, "the lengths are missing");
	uint64_t size = (uint64_t)big32(s->in) << 32 | big32(s->in + 4);
	size_t block = big32(s->in + 8), at = 12;
	if ((block == 0 && size > 0) || block > 2113929216)
		return step_damaged(s, "the block size is malformed");
	if (!step_room(s, size))
		return false;
	for (size_t done = 0; done < s->out_size;) {
		size_t n = least(block, s->out_size - done);
		if (s->in_size - at < 4)
			return step_damaged(s, "it ends early");
		size_t stored = big32(s->in + at);
		at += 4;
		if (stored > s->in_size - at)
			return step_damaged(s, "it ends early");
		if (stored == n)
			memcpy(s->out + done, s->in + at, n);
		else if (stored > INT32_MAX || LZ4_decompress_safe((const char *)s->in + at, (char *)s->out + done, (int)stored, (int)n) != (int)n)
			return step_damaged(s, "an LZ4 block is malformed");
		at += stored;
		done += n;
	}
	return at == s->in_size || step_damaged(s, "bytes follow the last LZ4 block");
}
#endif

/* Undoes a filter. After it, also after a fault, the caller frees s->out unless last is set. */
static bool undo(step *s)
{
	switch (s->filter->id) {
	case DEFLATE: return undo_deflate(s);
	case SHUFFLE: return undo_shuffle(s);
	case FLETCHER32: return undo_fletcher32(s);
	case ZSTD: return undo_zstd(s);
	case LORENZ: return undo_lorenz(s, 0, 0, NULL);
#ifdef CDFZ_WITH_BZIP2
	case BZIP2: return undo_bzip2(s);
#endif
#ifdef CDFZ_WITH_LZ4
	case LZ4: return undo_lz4(s);
#endif
	}
	if (s->filter->id > MOST_FILTER_ID)
		return step_damaged(s, "ids of filters are at most 65535");
	return step_fail(s, CDFZ_UNSUPPORTED, "this library lacks the filter");
}

#endif
