/*
 * h5lorenz.c - a filter of HDF5 that reads lorenz blocks, as a plugin
 *
 * A chunk of HDF5 is a lorenz block (docs/LORENZ.md), and the parameters of the filter
 * are those of section 1: version, type, byte order, number of dimensions, dimensions,
 * and maybe the effort of the encoder. The library decodes every block. It encodes in
 * the modes 0 and 1 only, so that programs that copy a dataset with its filters work.
 * Parameters that do not fit the chunks of a new dataset are replaced: see set_local.
 *
 * The library is not linked to HDF5. Python packages bring their own HDF5 under another
 * name, and a process may hold several. Every callback finds the functions of the HDF5
 * that calls it. So there is no state, and all callbacks may run in several threads.
 *
 * Interface of filters: "HDF5 Filter Plugins" and H5Zpublic.h (H5Z_class2_t),
 * H5PLextern.h.
 */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>
#include <H5PLextern.h>

#include "../lorenz.h"

#ifndef LORENZ_FILTER
#define LORENZ_FILTER 52723 /* docs/FORMAT.md, section 9.2 */
#endif

enum {
	FILTER = LORENZ_FILTER,          /* a plugin can have one number: the Makefile builds one for each */
	MOST_PARAMETERS = 4 + H5S_MAX_RANK + 1 + 1, /* dimensions, bytes of an element, effort */
	MOST_BYTES = 1 << 30             /* of a block (LORENZ.md, section 1) */
};

static const char name[] = "lorenz"; /* in error messages of HDF5 */

/* Returns a handle of the library that contains the address of an instruction, for dlclose,
 * or NULL. */
static void *library_of(void *address)
{
	Dl_info info;
	if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* The library that has called the function which uses this macro. */
#define CALLER() library_of(__builtin_extract_return_addr(__builtin_return_address(0)))

static void library_close(void *library)
{
	if (library != NULL)
		dlclose(library);
}

/* Returns the address of a symbol of the library, or of the program, or NULL. */
static void *symbol(void *library, const char *of)
{
	void *p = library == NULL ? NULL : dlsym(library, of);
	return p != NULL ? p : dlsym(RTLD_DEFAULT, of);
}

/* Declares f as a pointer to HDF5's function f, or NULL. */
#define FIND(library, f) __typeof__(&(f)) f##_p = (__typeof__(&(f)))symbol(library, #f)

/* Puts a message on HDF5's error stack. */
static void complain(void *library, const char *function, const char *message)
{
	FIND(library, H5Epush2);
	const hid_t *class = symbol(library, "H5E_ERR_CLS_g"), *major = symbol(library, "H5E_PLINE_g"), *minor = symbol(library, "H5E_CANTFILTER_g");
	if (H5Epush2_p != NULL && class != NULL && major != NULL && minor != NULL)
		H5Epush2_p(H5E_DEFAULT, "h5lorenz.c", function, __LINE__, *class, *major, *minor, "%s", message);
}

/* Memory that HDF5 may free. Without HDF5 it is that of the C library, which HDF5 uses,
 * too, unless it was built to debug memory. */
static void *allocate(void *library, size_t size)
{
	FIND(library, H5allocate_memory);
	FIND(library, H5free_memory);
	return H5allocate_memory_p != NULL && H5free_memory_p != NULL ? H5allocate_memory_p(size, false) : malloc(size);
}

static void release(void *library, void *p)
{
	FIND(library, H5allocate_memory);
	FIND(library, H5free_memory);
	if (H5allocate_memory_p != NULL && H5free_memory_p != NULL)
		H5free_memory_p(p);
	else
		free(p);
}

/* Replaces the buffer of a chunk. */
static size_t replace(void *library, void **buf, size_t *buf_size, void *by, size_t size, size_t used)
{
	release(library, *buf);
	*buf = by;
	*buf_size = size;
	return used;
}

/* Decodes a chunk of n bytes. */
static size_t decode(void *library, const lorenz_params *p, size_t n, size_t *buf_size, void **buf)
{
	char message[160];
	size_t size = lorenz_size(p), need = lorenz_scratch_size(p);
	void *out = allocate(library, size > 0 ? size : 1);
	void *scratch = need == SIZE_MAX ? NULL : malloc(need > 0 ? need : 1);
	lorenz_status status = LORENZ_OK;
	if (out == NULL || scratch == NULL) {
		snprintf(message, sizeof message, "lorenz: no memory for %zu bytes of values and %zu to decode them", size, need);
		complain(library, __func__, message);
	} else if ((status = lorenz_decode(p, *buf, n, out, size, scratch, need)) != LORENZ_OK) {
		snprintf(message, sizeof message, "%s: chunk of %zu bytes for %zu bytes of values", lorenz_strerror(status), n, size);
		complain(library, __func__, message);
	} else {
		free(scratch);
		return replace(library, buf, buf_size, out, size, size);
	}
	free(scratch);
	if (out != NULL)
		release(library, out);
	return 0;
}

/* Encodes n bytes of values: mode 1 if all elements are the same, else mode 0. */
static size_t encode(void *library, const lorenz_params *p, size_t n, size_t *buf_size, void **buf)
{
	char message[160];
	if (n != lorenz_size(p)) {
		snprintf(message, sizeof message, "lorenz: expected %zu bytes of values, as the parameters say, found %zu", lorenz_size(p), n);
		complain(library, __func__, message);
		return 0;
	}
	const unsigned char *values = *buf;
	bool constant = p->elements > 1 && memcmp(values, values + p->size, n - p->size) == 0;
	size_t size = 1 + (constant ? p->size : n);
	unsigned char *out = allocate(library, size);
	if (out == NULL) {
		snprintf(message, sizeof message, "lorenz: no memory for a chunk of %zu bytes", size);
		complain(library, __func__, message);
		return 0;
	}
	out[0] = constant;
	memcpy(out + 1, values, size - 1);
	return replace(library, buf, buf_size, out, size, size);
}

/* The filter (H5Z_func_t). Returns the bytes that are now in *buf, or 0 after an error. */
static size_t filter(unsigned flags, size_t count, const unsigned values[], size_t n, size_t *buf_size, void **buf)
{
	void *library = CALLER();
	lorenz_params p;
	size_t done = 0;
	if (lorenz_parse(&p, values, count) != LORENZ_OK || p.elements == 0)
		complain(library, __func__, "lorenz: expected the parameters version 1, type, byte order, number of dimensions, dimensions");
	else if (flags & H5Z_FLAG_REVERSE)
		done = decode(library, &p, n, buf_size, buf);
	else
		done = encode(library, &p, n, buf_size, buf);
	library_close(library);
	return done;
}

/* Describes chunks of a shape to lorenz. Types that lorenz does not know are bytes, with one
 * more dimension. Returns the number of parameters. */
static size_t describe(unsigned *to, H5T_class_t class, H5T_order_t order, H5T_sign_t sign, size_t size, const hsize_t *chunk, int rank)
{
	static const unsigned char types[][9] = { /* by size */
		{0, LORENZ_INT8, LORENZ_INT16, 0, LORENZ_INT32, 0, 0, 0, LORENZ_INT64},
		{0, LORENZ_UINT8, LORENZ_UINT16, 0, LORENZ_UINT32, 0, 0, 0, LORENZ_UINT64},
		{0, 0, 0, 0, LORENZ_FLOAT32, 0, 0, 0, LORENZ_FLOAT64},
		{0, LORENZ_CHAR}
	};
	int row = class == H5T_INTEGER ? sign == H5T_SGN_NONE : class == H5T_FLOAT ? 2 : class == H5T_STRING ? 3 : -1;
	unsigned type = row < 0 || size > 8 ? 0 : types[row][size];
	size_t count = 4;
	for (int i = 0; i < rank; i++)
		if (chunk[i] != 1 || count > 4)
			to[count++] = (unsigned)chunk[i];
	if (type == 0)
		to[count++] = (unsigned)size;
	to[0] = 1;
	to[1] = type == 0 ? LORENZ_UINT8 : type;
	to[2] = type != 0 && order == H5T_ORDER_LE;
	to[3] = (unsigned)count - 4;
	return count;
}

/* Completes the parameters for the chunks of a new dataset (H5Z_set_local_func_t). Those
 * that describe blocks of the length of a chunk remain. Others come from a dataset with
 * other chunks, or the user gave none or only an effort: then the shape and the type of
 * the dataset describe the blocks. Without HDF5's functions nothing changes. */
static herr_t set_local(hid_t dcpl, hid_t type, hid_t space)
{
	(void)space;
	void *library = CALLER();
	FIND(library, H5Pget_filter_by_id2);
	FIND(library, H5Pget_chunk);
	FIND(library, H5Pmodify_filter);
	FIND(library, H5Tget_size);
	FIND(library, H5Tget_class);
	FIND(library, H5Tget_order);
	FIND(library, H5Tget_sign);
	herr_t result = 1;
	unsigned flags, values[MOST_PARAMETERS];
	size_t count = MOST_PARAMETERS;
	hsize_t chunk[H5S_MAX_RANK], bytes;
	lorenz_params p;
	if (H5Pget_filter_by_id2_p == NULL || H5Pget_chunk_p == NULL || H5Pmodify_filter_p == NULL || H5Tget_size_p == NULL || H5Tget_class_p == NULL ||
		H5Tget_order_p == NULL || H5Tget_sign_p == NULL)
		goto done;
	result = -1;
	int rank = H5Pget_chunk_p(dcpl, H5S_MAX_RANK, chunk);
	bytes = H5Tget_size_p(type);
	if (rank < 0 || rank > H5S_MAX_RANK || bytes == 0 || H5Pget_filter_by_id2_p(dcpl, FILTER, &flags, &count, values, 0, NULL, NULL) < 0)
		goto done;
	size_t size = (size_t)bytes;
	for (int i = 0; i < rank && bytes <= MOST_BYTES; i++)
		bytes = chunk[i] > MOST_BYTES ? (hsize_t)MOST_BYTES + 1 : bytes * chunk[i];
	if (bytes > MOST_BYTES) {
		complain(library, __func__, "lorenz: expected chunks of at most 1 GiB");
		goto done;
	}
	bool list = count > 1;
	if (list && (count > MOST_PARAMETERS || lorenz_parse(&p, values, count) != LORENZ_OK)) {
		complain(library, __func__, "lorenz: expected no parameters or version 1, type, byte order, number of dimensions, dimensions");
		goto done;
	}
	if (!list || lorenz_size(&p) != bytes) {
		H5T_class_t class = H5Tget_class_p(type);
		count = describe(values, class, H5Tget_order_p(type), class == H5T_INTEGER ? H5Tget_sign_p(type) : H5T_SGN_NONE, size, chunk, rank);
		if (H5Pmodify_filter_p(dcpl, FILTER, flags, count, values) < 0)
			goto done;
	}
	result = 1;
done:
	library_close(library);
	return result;
}

static const H5Z_class2_t class = {H5Z_CLASS_T_VERS, FILTER, 1, 1, name, NULL, set_local, filter};

H5PL_type_t H5PLget_plugin_type(void)
{
	return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
	return &class;
}
