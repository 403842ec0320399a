/*
 * lorenz_avx2.c - the decoder for x86 processors with AVX2 and BMI2
 *
 * Compile it with -mavx2 -mbmi -mbmi2, and lorenz.c with -DLORENZ_DISPATCH but without these.
 * lorenz.c chooses it at run time. It works without this file, too.
 */
#if !defined(__AVX2__) || !defined(__BMI2__)
#error "compile lorenz_avx2.c with -mavx2 -mbmi -mbmi2"
#endif
#define LORENZ_AVX2
#include "lorenz.c"
