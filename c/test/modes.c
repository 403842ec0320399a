/*
 * modes.c - decodes the vectors that the arguments name in each rounding mode, and on x86 with
 * subnormal numbers off. The results must be the same, and the modes must remain set.
 */
#include <fenv.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../lorenz.h"
#include "vector.h"

int main(int argc, char **argv)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	for (int i = 1; i < argc; i++) {
		vector v = read_vector(argv[i]);
		lorenz_params p;
		if (lorenz_parse(&p, v.list, v.count) != LORENZ_OK)
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
			lorenz_status status = lorenz_decode(&p, v.block, v.length, out[mode > 0], size, scratch, need);
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
