/* Plugins for tests. Macros choose what a library has:
 *   FILTER=ID        HDF5's functions
 *   CODEC=ID         netcdf-c's codec "fake", or CODECID, for that filter
 *   DEFAULTS=ID      netcdf-c's default codecs, with one for that filter
 *   NAME="TEXT"      the name of the filter, which is "fake"
 *   FORCE=N          what the filter does, instead of its first parameter
 *   LOCAL=N          set_local, which returns N
 *   APPLIES=N        can_apply, which returns N
 *   TYPE, VERSION, ENCODER, DECODER, NOINFO, NOFILTER, ABORT, HANG   variants
 * The first parameter of the filter chooses what it does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TYPE
#define TYPE 0
#endif
#ifndef VERSION
#define VERSION 1
#endif
#ifndef CODECID
#define CODECID "fake"
#endif
#ifndef NAME
#define NAME "fake"
#endif
#ifndef DECODER
#define DECODER 1
#endif
#ifndef ENCODER
#define ENCODER 1
#endif

enum { XOR, REPLACE, GROW, ZERO, CRASH, LOOP, MEMORY, LARGE, LOSSY, EXIT, LEAK, PRINT, ABORTS, NOBUFFER, SECRET, CHILD, DAEMON };

/* Every call leaves a line in the file that this variable names. */
static void note(const char *what) {
	const char *name = getenv("HDF5_FAKE_LOG");
	FILE *f = name ? fopen(name, "a") : NULL;
	if (f) {
		fprintf(f, "%s %d\n", what, (int)getpid());
		fclose(f);
	}
}

#ifdef FILTER
static void flip(unsigned char *p, size_t n) {
	for (size_t i = 0; i < n; i++)
		p[i] ^= 0x5a;
}

static size_t filter(unsigned flags, size_t nparams, const unsigned params[], size_t n, size_t *size, void **buf) {
#ifdef FORCE
	unsigned what = FORCE;
#else
	unsigned what = nparams ? params[0] : XOR;
#endif
	int decode = (flags & 0x0100) != 0;
	note(decode ? "decode" : "encode");
	switch (what) {
	case REPLACE: { /* another buffer, with two bytes more when encoding */
		size_t m = decode ? n - 2 : n + 2;
		unsigned char *p = malloc(m);
		if (decode && n < 2)
			return 0;
		memcpy(p, *buf, m < n ? m : n);
		if (!decode)
			memset(p + n, 7, 2);
		free(*buf);
		*buf = p;
		*size = m;
		return m;
	}
	case GROW: /* the same buffer, longer, and the size is not updated */
		if (decode)
			return n - 100;
		*buf = realloc(*buf, n + 100);
		memset((char *)*buf + n, 1, 100);
		return n + 100;
	case ZERO:
		return 0;
	case CRASH:
		if (decode)
			*(volatile int *)8 = 1;
		break;
	case LOOP:
		for (volatile int i = 0; decode; i++)
			;
		break;
	case MEMORY:
		while (decode && malloc(1 << 20))
			;
		if (decode)
			return 0;
		break;
	case LARGE: /* claims more bytes than there are */
		if (decode)
			return n + (1 << 20);
		break;
	case LOSSY:
		((unsigned char *)*buf)[0] = 0;
		return n;
	case EXIT:
		if (decode)
			exit(0);
		break;
	case LEAK:
		malloc(10 << 20);
		break;
	case PRINT:
		printf("a line on standard output\n");
		fflush(stdout);
		break;
	case ABORTS:
		if (decode)
			abort();
		break;
	case NOBUFFER:
		if (decode) {
			*buf = NULL;
			return n;
		}
		break;
	case SECRET: /* fails where a secret of the environment can be read */
		if (getenv("CDFZ_FAKE_SECRET"))
			return 0;
		break;
	case CHILD:
	case DAEMON:
		switch (fork()) {
		case -1:
			break;
		case 0:
			if (what == DAEMON && (setsid() < 0 || fork() > 0))
				_exit(0);
			note("child");
			for (;;)
				pause();
		default:
			return 0;
		}
		break;
	}
	flip(*buf, n);
	return n;
}

#ifdef LOCAL
static int set_local(long long dcpl, long long type, long long space) { return LOCAL; }
#endif
#ifdef APPLIES
static int can_apply(long long dcpl, long long type, long long space) { return APPLIES; }
#endif

static struct {
	int version, id;
	unsigned encoder, decoder;
	const char *name;
	void *can_apply, *set_local;
	size_t (*filter)(unsigned, size_t, const unsigned[], size_t, size_t *, void **);
} class = {
	VERSION, FILTER, ENCODER, DECODER, NAME,
#ifdef APPLIES
	can_apply,
#else
	NULL,
#endif
#ifdef LOCAL
	set_local,
#else
	NULL,
#endif
#ifdef NOFILTER
	NULL
#else
	filter
#endif
};

int H5PLget_plugin_type(void) { return TYPE; }
#ifndef NOINFO
const void *H5PLget_plugin_info(void) { return &class; }
#endif
#endif

#if defined(CODEC) || defined(DEFAULTS)
static int ready;
static void initialize(void) { ready = 1; }

static int to_hdf5(const char *json, size_t *n, unsigned **params) {
	const char *key = strstr(json, "\"key\":");
	if (!ready || !key)
		return -36;
	*params = malloc(sizeof **params);
	**params = atoi(key + 6);
	*n = 1;
	return 0;
}

static int to_codec(size_t n, const unsigned *params, char **json) {
	if (!ready || n != 1)
		return -36;
	*json = malloc(64);
	sprintf(*json, "{\"id\":\"%s\",\"key\":%u}", params[0] == 99 ? "other" : CODECID, params[0]);
	return 0;
}

typedef struct {
	int version, sort;
	const char *id;
	unsigned filter;
	void (*initialize)(void), (*finalize)(void);
	int (*to_hdf5)(const char *, size_t *, unsigned **);
	int (*to_codec)(size_t, const unsigned *, char **);
	void *modify;
} codec_class;
#endif

#ifdef CODEC
static codec_class codec = {1, 1, CODECID, CODEC, initialize, NULL, to_hdf5, to_codec, NULL};
const void *NCZ_get_codec_info(void) { return &codec; }
#endif

#ifdef DEFAULTS
static codec_class first = {1, 1, "default", DEFAULTS, initialize, NULL, to_hdf5, to_codec, NULL};
static codec_class newer = {2, 1, "newer", 40099, NULL, NULL, NULL, NULL, NULL};
static const codec_class *all[] = {&first, &newer, NULL};
const void *NCZ_codec_info_defaults(void) { return all; }
#endif

#ifdef ABORT
__attribute__((constructor)) static void aborts(void) { abort(); }
#endif

#ifdef HANG
__attribute__((constructor)) static void hangs(void) { for (;;) pause(); }
#endif
