/*
 * hdf5.c - runs the callbacks of the plugin for HDF5 without HDF5, for sanitizers: decodes the
 * vectors that the arguments name, each from memory of just its length, and encodes and decodes
 * the values again. Blocks that are corrupt must fail and leave the buffer alone.
 */
#include <hdf5.h>
#include <H5PLextern.h>

#include "vector.h"

int main(int argc, char **argv)
{
	if (H5PLget_plugin_type() != H5PL_TYPE_FILTER)
		fail("plugin", "has another type");
	const H5Z_class2_t *class = H5PLget_plugin_info();
	int decoded = 0;
	for (int i = 1; i < argc; i++) {
		vector v = read_vector(argv[i]);
		size_t n = v.length, size = n;
		void *buf = malloc(n > 0 ? n : 1), *before = buf;
		if (buf == NULL)
			fail(argv[i], "out of memory");
		memcpy(buf, v.block, n);
		size_t m = class->filter(H5Z_FLAG_REVERSE, v.count, v.list, n, &size, &buf);
		if (m == 0) {
			if (buf != before || size != n || memcmp(buf, v.block, n) != 0)
				fail(argv[i], "an error changed the buffer");
			free(buf);
			continue;
		}
		decoded++;
		unsigned char *values = malloc(m);
		if (values == NULL)
			fail(argv[i], "out of memory");
		memcpy(values, buf, m);
		n = class->filter(0, v.count, v.list, m, &size, &buf);
		if (n == 0 || n > size || n > m + 1)
			fail(argv[i], "cannot be encoded");
		if (class->filter(H5Z_FLAG_REVERSE, v.count, v.list, n, &size, &buf) != m || memcmp(buf, values, m) != 0)
			fail(argv[i], "other values after encoding and decoding");
		if (class->filter(0, v.count, v.list, m - 1, &size, &buf) != 0)
			fail(argv[i], "values of another length were encoded");
		free(values);
		free(buf);
	}
	printf("%d vectors, %d decoded by the plugin\n", argc - 1, decoded);
	return decoded == 0;
}
