/*
 * cdfz.h - reader of cdfz archives: compressed classic netCDF files
 *
 * An archive holds one netCDF file, the image, and restores it bit for bit. Section numbers
 * in this library are those of docs/FORMAT.md, which specifies the bytes.
 *
 *	cdfz_archive *a;
 *	cdfz_error error;
 *	if (cdfz_open_path(&a, "sst.nc.cdfz", NULL, &error) != CDFZ_OK) {
 *		fprintf(stderr, "%s\n", error.text);
 *		exit(1);
 *	}
 *	int64_t v = cdfz_find_variable(a, "SST");
 *	uint64_t start[] = {0, 45, 80}, count[] = {1, 1, 2};
 *	float sst[2];
 *	if (v >= 0 && cdfz_read(a, v, start, count, NULL, CDFZ_NATIVE, sst, sizeof sst, &error) == CDFZ_OK)
 *		printf("%g %g\n", sst[0], sst[1]);
 *	cdfz_close(a);
 *
 * Threads. All functions may be called from several threads at the same time with the same
 * archive, except cdfz_close. The callback of the source is then called from several threads,
 * too. A program whose compiler has no pthreads defines CDFZ_NO_THREADS for cdfz.c, and uses
 * an archive from one thread at a time. After fork, the child may use the archives of its
 * parent, unless another thread was inside of a function of this library.
 *
 * Memory. Opening an archive of n bytes takes at most 64 MiB + 8 n, and finding it in a volume at most 2 MiB more
 * than its index has bytes. A read takes the stored
 * and the decoded bytes of a block, those before and after one of its filters (section 13
 * bounds them), and scratch memory of lorenz, of which all archives together keep up to 64 MiB
 * for the next read. The cache takes what cdfz_options say. Bytes of unknown origin are safe:
 * damage is an error, never a crash or a wrong value.
 */
#ifndef CDFZ_H
#define CDFZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CDFZ_API __attribute__((visibility("default")))
#else
#define CDFZ_API
#endif

/* ---- Errors ---- */

/* The results of all functions. The first three faults are those of section 2.2: another
 * kind of file, something that this library cannot read, and damage. */
typedef enum {
	CDFZ_OK = 0,
	CDFZ_NOT_ARCHIVE = 1, /* the file is not a cdfz archive */
	CDFZ_UNSUPPORTED = 2, /* a later format or feature, or a filter that this library lacks */
	CDFZ_DAMAGED = 3,     /* bytes that the format does not allow */
	CDFZ_SOURCE = 4,      /* the source failed; nothing is known about the archive */
	CDFZ_SINK = 5,        /* the caller's function for the image failed */
	CDFZ_ARGUMENT = 6,    /* a selection or a size that does not fit */
	CDFZ_MEMORY = 7,      /* out of memory, or a block above max_block */
	CDFZ_RANGE = 8        /* values do not fit the type that was asked for; all others are there */
} cdfz_status;

/* What went wrong and where. Functions that fail fill it in, unless it is NULL. */
typedef struct {
	cdfz_status status;
	int64_t variable;   /* its number, -1 if no variable is concerned */
	int64_t block;      /* the global number of a block (section 8.3), or -1 */
	int64_t offset;     /* in the archive, in bytes, or -1 */
	char text[512];     /* in English, with these and the path of the archive; ends with NUL */
} cdfz_error;

/* Returns the name of a status, a constant string that is never NULL. */
CDFZ_API const char *cdfz_strerror(cdfz_status status);

/* Returns the version of the library that is linked, as "1.0.0". */
CDFZ_API const char *cdfz_version(void);

/* ---- Opening ---- */

/* The bytes of an archive. */
typedef struct {
	/* Reads up to size bytes from offset on, as pread. Returns how many were read, 0 at the
	 * end, or -1 after a failure. It is called with size > 0 and an offset below size. */
	ptrdiff_t (*read)(void *context, void *buffer, size_t size, uint64_t offset);
	/* Is called when the archive is closed, or could not be opened. May be NULL. */
	void (*close)(void *context);
	void *context;
	uint64_t size; /* of the archive, in bytes */
	const char *name; /* for errors, such as a path or a URL; is copied. May be NULL */
} cdfz_source;

/* How to read. All members 0, or NULL instead of the structure, are the defaults. */
typedef struct {
	size_t cache;     /* bytes of decoded blocks that are kept; 0: 64 MiB; 1: none */
	size_t max_block; /* longest block that a read decodes, in bytes; 0: 2^30, the limit of the format */
} cdfz_options;

typedef struct cdfz_archive cdfz_archive;

/* Opens an archive. Reads its end, manifest, plan and netCDF header, and checks them. *a is
 * NULL after an error. The source is copied. */
CDFZ_API cdfz_status cdfz_open(cdfz_archive **a, const cdfz_source *source, const cdfz_options *options,
	cdfz_error *error);

/* Opens the archive at a path, which all errors name. The path may lead into a volume (docs/volumes.md), as
 * vol/0001.tar/1987/tas.nc.cdfz. Needs POSIX. */
CDFZ_API cdfz_status cdfz_open_path(cdfz_archive **a, const char *path, const cdfz_options *options, cdfz_error *error);

/* Opens the archive that a path leads to in a volume, over links, such as 1987/tas.nc.cdfz. The source is that of
 * the volume, and is used and closed as with cdfz_open. Finding the member reads the end of the volume and some blocks
 * of its index. A file that is no volume is CDFZ_NOT_ARCHIVE, a path without an archive CDFZ_SOURCE. Without its end, a
 * volume is damaged. */
CDFZ_API cdfz_status cdfz_open_member(cdfz_archive **a, const cdfz_source *volume, const char *member, const cdfz_options *options,
	cdfz_error *error);

/* Closes an archive, and its source. Does nothing with NULL. */
CDFZ_API void cdfz_close(cdfz_archive *a);

/* ---- The netCDF header ---- */

/* The types of netCDF, by the number that they have in files. */
typedef enum {
	CDFZ_BYTE = 1,
	CDFZ_CHAR = 2,
	CDFZ_SHORT = 3,
	CDFZ_INT = 4,
	CDFZ_FLOAT = 5,
	CDFZ_DOUBLE = 6,
	CDFZ_UBYTE = 7,
	CDFZ_USHORT = 8,
	CDFZ_UINT = 9,
	CDFZ_INT64 = 10,
	CDFZ_UINT64 = 11
} cdfz_type;

/* Returns the bytes of an element, or 0 for another number. */
CDFZ_API size_t cdfz_type_size(cdfz_type type);

/* Returns the name of a type, as "short", or NULL for another number. */
CDFZ_API const char *cdfz_type_name(cdfz_type type);

/* Bytes that belong to the archive. Names may hold any byte, NUL included, be empty, and
 * occur twice. A NUL follows the last byte, so that bytes is a string of C, which ends at the
 * first NUL. There are files whose names are filled up with NULs. */
typedef struct {
	const char *bytes;
	size_t size;
} cdfz_name;

typedef struct {
	cdfz_name name;
	uint64_t length; /* of a record dimension, the number of records */
	int is_record;
} cdfz_dimension;

typedef struct {
	cdfz_name name;
	cdfz_type type;
	uint64_t count;     /* of values */
	const void *values; /* big-endian, without alignment: cdfz_attribute_values converts them */
} cdfz_attribute;

typedef struct {
	cdfz_name name;
	cdfz_type type;
	uint32_t rank;              /* number of dimensions */
	int is_record;
	const uint32_t *dimensions; /* their numbers; rank of them */
	const uint64_t *shape;      /* their lengths */
	uint64_t bytes;             /* of all elements */
	uint64_t attribute_count;
	const cdfz_attribute *attributes;
} cdfz_variable;

/* What an archive says about itself and its image. */
typedef struct {
	int version;         /* of the netCDF file: 1, 2 or 5 */
	uint64_t records;    /* number of records */
	uint64_t image_size; /* of the netCDF file, in bytes */
	uint64_t header_size; /* of its header, in bytes */
	uint64_t blocks;     /* number of blocks */
	char sha256[65];     /* of the image, as hexadecimal digits */
	cdfz_name name;      /* of the image; bytes is NULL if it is not known. It is no safe path: it may hold '/' */
	int is_rounded;      /* values were rounded before they were archived (section 5.4) */
	uint64_t dimension_count;
	const cdfz_dimension *dimensions;
	uint64_t attribute_count;
	const cdfz_attribute *attributes; /* of the file */
	uint64_t variable_count;
	const cdfz_variable *variables;
} cdfz_info;

/* Returns the contents of the header. They belong to the archive and never change. */
CDFZ_API const cdfz_info *cdfz_get_info(const cdfz_archive *a);

/* Returns the number of the first variable with this name, or -1. NULs at the end of a name of the
 * file do not count, here and in cdfz_find_attribute. */
CDFZ_API int64_t cdfz_find_variable(const cdfz_archive *a, const char *name);

#define CDFZ_GLOBAL (-1) /* instead of a variable: the attributes of the file */

/* Returns the first attribute of a variable with this name, or NULL. It belongs to the archive. */
CDFZ_API const cdfz_attribute *cdfz_find_attribute(const cdfz_archive *a, int64_t variable, const char *name);

/* Writes the values of an attribute to out in the byte order of this machine: count times
 * the size of the type. */
CDFZ_API void cdfz_attribute_values(const cdfz_attribute *attribute, void *out);

/* Writes the values of an attribute as numbers of another type: count times the size of that.
 * cdfz_read_as has the rules. */
CDFZ_API cdfz_status cdfz_attribute_values_as(const cdfz_archive *a, const cdfz_attribute *attribute, cdfz_type type, void *out,
	cdfz_error *error);

/* The shape of the blocks of a variable (section 8). Returns 1 and writes rank numbers to
 * shape if the variable has blocks of its own, else 0. */
CDFZ_API int cdfz_block_shape(const cdfz_archive *a, int64_t variable, uint64_t *shape);

/* ---- Values ---- */

typedef enum {
	CDFZ_NATIVE = 0,    /* the byte order of this machine */
	CDFZ_BIG_ENDIAN = 1 /* as in the image */
} cdfz_order;

/* Reads a hyperslab of a variable, in row-major order: in each dimension count elements, from
 * start on, each stride after the one before. NULL instead of start is 0, of count all that
 * remain, and of stride 1. out_size MUST be the product of count and the size of the type, in
 * bytes. After an error, the contents of out are not specified.
 *
 * Only the blocks that hold selected elements are read. Of a block whose first filter is
 * lorenz, only the part that is needed is decoded, the first time. */
CDFZ_API cdfz_status cdfz_read(cdfz_archive *a, int64_t variable, const uint64_t *start, const uint64_t *count,
	const uint64_t *stride, cdfz_order order, void *out, size_t out_size, cdfz_error *error);

/* As cdfz_read, in the byte order of this machine and as numbers of another type. The conversions are
 * those of netCDF-C:
 *
 * - Text and numbers are not converted: CDFZ_ARGUMENT. Text can be read as text.
 * - After values that do not fit the type, the result is CDFZ_RANGE (NC_ERANGE of netCDF-C), and
 *   all other values are there. Of integers that do not fit, the low bits are taken. A floating-point
 *   number that is no integer of the type leaves its element of out as it was, also a NaN. A double
 *   beyond float becomes the largest float of its sign. Fractions are cut off.
 * - In files of versions 1 and 2, which have no unsigned types, byte becomes ubyte bit for bit.
 *
 * out_size is the product of count and the size of the type that is asked for. The selection also takes
 * memory for its values as they are. */
CDFZ_API cdfz_status cdfz_read_as(cdfz_archive *a, int64_t variable, const uint64_t *start, const uint64_t *count,
	const uint64_t *stride, cdfz_type type, void *out, size_t out_size, cdfz_error *error);

/* ---- The image ---- */

/* Reads the size bytes of the image from offset on. They MUST lie in the image. */
CDFZ_API cdfz_status cdfz_read_image(cdfz_archive *a, uint64_t offset, void *out, size_t size, cdfz_error *error);

/* Restores the whole image. The function gets its bytes in order, in pieces for which memory as
 * long as the cache or the longest block is taken, and returns 0 to continue.
 * The SHA-256 is checked at the end: only after CDFZ_OK is the image known to be right. */
CDFZ_API cdfz_status cdfz_restore(cdfz_archive *a, int (*write)(void *context, const void *bytes, size_t size),
	void *context, cdfz_error *error);

#ifdef __cplusplus
}
#endif

#endif
