/* A codec as netcdf-c's proposal of 2021 has it: a struct of six members, returned by value. Macros:
 *   POINTER    it is returned by pointer
 *   NOCODE     its functions are NULL
 *   FILTER=ID  with HDF5's half for that filter
 *   HALF       netcdf-c's struct of nine members without one of the functions
 *   OLDNAMES   HDF5's half has the names of the proposal
 */
#include <stdlib.h>
#include <string.h>

typedef struct NCZ_codec_t {
	int version;
	int sort;
	const char *id;
	const unsigned int hdf5id;
#ifdef HALF
	void (*initialize)(void);
	void (*finalize)(void);
#endif
	int (*NCZ_codec_to_hdf5)(const char *codec, int *nparamsp, unsigned **paramsp);
	int (*NCZ_hdf5_to_codec)(int nparams, unsigned *params, char **codecp);
#ifdef HALF
	void *modify;
#endif
} NCZ_codec_t;

static int to_hdf5(const char *codec, int *n, unsigned **params) {
	*n = 0;
	*params = NULL;
	return 0;
}

static int to_codec(int n, unsigned *params, char **codec) {
	*codec = strdup("{\"id\":\"proposed\"}");
	return 0;
}

static const NCZ_codec_t codec = {
	1, 1, "proposed", 40300,
#if defined(HALF)
	NULL, NULL, NULL, to_codec, NULL
#elif !defined(NOCODE)
	to_hdf5, to_codec
#endif
};

#if defined(POINTER) || defined(HALF)
const NCZ_codec_t *NCZ_get_codec_info(void) { return &codec; }
#else
NCZ_codec_t NCZ_get_codec_info(void) { return codec; }
#endif

#ifdef FILTER
static size_t filter(unsigned flags, size_t nparams, const unsigned params[], size_t n, size_t *size, void **buf) { return n; }

static const struct {
	int version, id;
	unsigned encoder, decoder;
	const char *name;
	void *can_apply, *set_local;
	size_t (*filter)(unsigned, size_t, const unsigned[], size_t, size_t *, void **);
} class = {1, FILTER, 1, 1, "same", NULL, NULL, filter};

#ifdef OLDNAMES
int H5Z_plugin_type(void) { return 0; }
const void *H5Z_get_plugin_info(void) { return &class; }
#else
int H5PLget_plugin_type(void) { return 0; }
const void *H5PLget_plugin_info(void) { return &class; }
#endif
#endif
