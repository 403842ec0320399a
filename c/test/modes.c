/*
 * modes.c - decodes the vectors that the arguments name in each rounding mode, and on x86 with
 * subnormal numbers off. The results must be the same, and the modes must remain set.
 */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../lorenz.h"

static void fail(const char *name, const char *what)
{
	fprintf(stderr, "modes: %s: %s\n", name, what);
	exit(1);
}

int main(int argc, char **argv)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	static unsigned char file[1 << 20];
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (f == NULL)
			fail(argv[i], "cannot be opened");
		size_t length = fread(file, 1, sizeof file - 1, f), at = 0;
		fclose(f);
		file[length] = 0;
		while (at + 2 <= length && memcmp(file + at, "\n\n", 2) != 0)
			at++;
		uint32_t list[16];
		size_t count = 0;
		for (char *p = (char *)file + strlen("parameters:"); *p == ' ' && count < 16;)
			list[count++] = (uint32_t)strtoul(p, &p, 10);
		lorenz_params p;
		if (lorenz_parse(&p, list, count) != LORENZ_OK)
			fail(argv[i], "has no parameters");
		size_t size = lorenz_size(&p), need = lorenz_scratch_size(&p);
		unsigned char *out[2] = {malloc(size + 1), malloc(size + 1)};
		void *scratch = malloc(need);
		if (out[0] == NULL || out[1] == NULL || scratch == NULL)
			fail(argv[i], "out of memory");
		lorenz_status first = LORENZ_OK;
		for (int mode = 0; mode < 4; mode++) {
			fesetround(modes[mode]);
#if defined(__SSE2__)
			_mm_setcsr(_mm_getcsr() | 0x8040); /* results and operands that are subnormal become 0 */
			unsigned set = _mm_getcsr();
#endif
			lorenz_status status = lorenz_decode(&p, file + at + 2, length - at - 2, out[mode > 0], size, scratch, need);
			if (fegetround() != modes[mode])
				fail(argv[i], "the rounding mode was changed");
#if defined(__SSE2__)
			if (_mm_getcsr() != set)
				fail(argv[i], "the modes were changed");
			_mm_setcsr(set & ~0x8040u);
#endif
			if (mode == 0)
				first = status;
			if (status != first || (status == LORENZ_OK && memcmp(out[0], out[mode > 0], size) != 0))
				fail(argv[i], "other values in another mode");
		}
		fesetround(FE_TONEAREST);
		free(out[0]);
		free(out[1]);
		free(scratch);
	}
	printf("%d vectors in 4 modes\n", argc - 1);
	return 0;
}
