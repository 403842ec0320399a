/*
 * lorenz.h - decoder of lorenz blocks, the numeric codec of cdfz archives
 *
 * A block is an array of numbers that the codec lorenz has encoded. Section
 * numbers in this library are those of docs/LORENZ.md, which specifies the bytes.
 *
 * To decode a block:
 *
 *	lorenz_params p;
 *	lorenz_status s = lorenz_parse(&p, list, count);    // the uint32 list of the filter
 *	size_t need = lorenz_scratch_size(&p);
 *	void *scratch = malloc(need);
 *	if (s == LORENZ_OK && scratch != NULL)
 *		s = lorenz_decode(&p, block, block_len, out, out_len, scratch, need);
 *
 * The library allocates nothing and calls nothing but memcpy and memset. The only global
 * variable that it writes to is a table, which the first call that needs it makes. All functions may be called from several threads at the same
 * time, each with scratch memory and a destination of its own, and after fork.
 *
 * Blocks are not trusted: any bytes are decoded or refused in time and memory that are
 * bounded by the parameters. Parameters are not trusted either, but they determine how
 * much memory a caller must provide, so bound lorenz_size before allocating.
 */
#ifndef LORENZ_H
#define LORENZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(__wasm__)
#define LORENZ_API __attribute__((visibility("default")))
#else
#define LORENZ_API
#endif

/* The version of this library. Functions are only added while LORENZ_VERSION_MAJOR
 * stays the same, except before 1.0.0. */
#define LORENZ_VERSION_MAJOR 1
#define LORENZ_VERSION_MINOR 0
#define LORENZ_VERSION_PATCH 0
#define LORENZ_VERSION "1.0.0-dev" /* these three, and before a release more */

/* Returns the version of the library that is linked, as LORENZ_VERSION. */
LORENZ_API const char *lorenz_version(void);

typedef enum {
	LORENZ_OK = 0,
	LORENZ_PARAMETERS = 1, /* the parameters are not those of a block */
	LORENZ_CORRUPT = 2,    /* the block violates the format */
	LORENZ_RANGE = 3,      /* the range is not inside of the block */
	LORENZ_DESTINATION = 4,/* the destination has the wrong size */
	LORENZ_SCRATCH = 5,    /* too little scratch memory */
	LORENZ_FLOATS = 6      /* the processor rounds unlike IEEE 754, see lorenz_decode */
} lorenz_status;

/* Returns a description in English, a constant string that is never NULL. */
LORENZ_API const char *lorenz_strerror(lorenz_status status);

/* The element types, by the number that parameter 1 has (section 1). */
typedef enum {
	LORENZ_INT8 = 1,
	LORENZ_CHAR = 2,
	LORENZ_INT16 = 3,
	LORENZ_INT32 = 4,
	LORENZ_FLOAT32 = 5,
	LORENZ_FLOAT64 = 6,
	LORENZ_UINT8 = 7,
	LORENZ_UINT16 = 8,
	LORENZ_UINT32 = 9,
	LORENZ_INT64 = 10,
	LORENZ_UINT64 = 11
} lorenz_type;

/* What the parameters of a block say. lorenz_parse fills it in. It owns no memory and
 * may be copied. Read the first four fields; do not change any. */
typedef struct {
	uint64_t elements;      /* number of elements, 0 to 2^30 / size */
	uint32_t size;          /* bytes of an element: 1, 2, 4 or 8 */
	uint32_t type;          /* a lorenz_type */
	uint32_t little_endian; /* byte order of the elements: 1 little-endian, 0 big-endian */
	uint32_t long_dims;     /* private: dimensions longer than 1, at most 4 */
	uint32_t first_long;    /* private: the first of these */
	uint32_t second_long;   /* private: the next one */
	uint32_t last_long[2];  /* private: the last but one, and the last of these */
} lorenz_params;

/* Reads the list of count parameters (section 1): the numbers after the filter id in
 * HDF5, or of the Zarr codec. Returns LORENZ_OK or LORENZ_PARAMETERS. After an error,
 * *p describes a block without elements. */
LORENZ_API lorenz_status lorenz_parse(lorenz_params *p, const uint32_t *list, size_t count);

/* Returns the bytes of the decoded block, at most 2^30. */
LORENZ_API size_t lorenz_size(const lorenz_params *p);

/* Returns the bytes of scratch memory with which lorenz_decode and
 * lorenz_decode_range decode every block with these parameters (section 14). For each
 * element, these are 8 bytes if it has 8 and else 4, 1.2 bytes for masks and classes, and
 * its size, for ranges of blocks with parts. Added to this are at most 40 MiB, but for blocks of a few MiB
 * mostly less than 2. Most blocks
 * touch less. Returns SIZE_MAX if the address space is too small. */
LORENZ_API size_t lorenz_scratch_size(const lorenz_params *p);

/* Decodes a whole block of src_len bytes. dst_len MUST be lorenz_size(p). The elements
 * arrive in the byte order that the parameters name. src, dst and scratch need no
 * alignment and MUST NOT overlap. The contents of scratch before and after are of no
 * interest; it may be used again at once.
 *
 * Floating-point numbers are rounded to nearest with subnormal numbers, whatever modes
 * the caller has set. On x86 and AArch64 the function sets these modes and restores
 * them before it returns. Elsewhere it returns LORENZ_FLOATS if they are others.
 *
 * After an error, the contents of dst are not specified. */
LORENZ_API lorenz_status lorenz_decode(const lorenz_params *p, const void *src, size_t src_len,
	void *dst, size_t dst_len, void *scratch, size_t scratch_len);

/* Decodes the count elements from element first on, numbered in row-major order. dst_len
 * MUST be count times p->size. Otherwise like lorenz_decode.
 *
 * Only the cells that contain the range are decoded if the block has cells (section 3),
 * and only the parts if it has parts (section 13). Blocks of mode 3 (section 12) are decoded
 * up to the end of the range. Other blocks cost as much as a whole one. Damage in what is
 * not decoded remains undetected. */
LORENZ_API lorenz_status lorenz_decode_range(const lorenz_params *p, const void *src, size_t src_len,
	uint64_t first, uint64_t count, void *dst, size_t dst_len, void *scratch, size_t scratch_len);

#ifdef __cplusplus
}
#endif

#endif
