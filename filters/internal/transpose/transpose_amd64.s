//go:build !purego

#include "textflag.h"

// All kernels interleave: ZIP of registers i and i+k/2 of k rotates the bits of
// the position of each byte (word, …) among their bytes to the left by one.
// Interleaving stays within the 16-byte lanes of a register, so the low lanes hold
// the elements 0 to 15 of a step and the high lanes 16 to 31.
#define ZIP(lo, hi, a, b, x, y) \
	lo b, a, x \
	hi b, a, y

#define ZIP4(lo, hi, a, b, c, d, w, x, y, z) \
	ZIP(lo, hi, a, c, w, x) \
	ZIP(lo, hi, b, d, y, z)

#define ZIP8(a, b, c, d, e, f, g, h, s, t, u, v, w, x, y, z) \
	ZIP(VPUNPCKLBW, VPUNPCKHBW, a, e, s, t) \
	ZIP(VPUNPCKLBW, VPUNPCKHBW, b, f, u, v) \
	ZIP(VPUNPCKLBW, VPUNPCKHBW, c, g, w, x) \
	ZIP(VPUNPCKLBW, VPUNPCKHBW, d, h, y, z)

// LOADLANES loads 16 bytes of the elements 0 to 15 of a step, and of 16 to 31.
#define LOADLANES(at, size, x, y) \
	VMOVDQU at(SI), x \
	VINSERTI128 $1, (at+16*size)(SI), y, y

// STORELANES stores 32 bytes of the elements 0 to 15 of a step, and of 16 to 31.
#define STORELANES(a, b, at, size, t) \
	VPERM2I128 $0x20, b, a, t \
	VMOVDQU t, at(DI) \
	VPERM2I128 $0x31, b, a, t \
	VMOVDQU t, (at+16*size)(DI)

// NEXT advances by 32 of the CX remaining elements. If fewer remain, the last
// step repeats some: it ends with the last element.
#define NEXT(planes, elements, log) \
	ADDQ $32, planes \
	ADDQ $(32<<log), elements \
	SUBQ $32, CX \
	JEQ  done \
	CMPQ CX, $32 \
	JGE  loop \
	SUBQ $32, CX \
	ADDQ CX, planes \
	SHLQ $log, CX \
	ADDQ CX, elements \
	MOVQ $32, CX \
	JMP  loop

// parts2 groups the bytes 0 and the bytes 1 of 8 elements; parts4 groups the four
// bytes of 4 elements.
DATA parts2<>+0(SB)/8, $0x0e0c0a0806040200
DATA parts2<>+8(SB)/8, $0x0f0d0b0907050301
GLOBL parts2<>(SB), RODATA|NOPTR, $16
DATA parts4<>+0(SB)/8, $0x0d0905010c080400
DATA parts4<>+8(SB)/8, $0x0f0b07030e0a0602
GLOBL parts4<>(SB), RODATA|NOPTR, $16

// func shuffle2AVX2(dst, src *byte, n int)
TEXT ·shuffle2AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	VBROADCASTI128 parts2<>(SB), Y15
	PCALIGN $32
loop:
	LOADLANES(0, 2, X0, Y0)
	LOADLANES(16, 2, X1, Y1)
	VPSHUFB Y15, Y0, Y0
	VPSHUFB Y15, Y1, Y1
	ZIP(VPUNPCKLQDQ, VPUNPCKHQDQ, Y0, Y1, Y2, Y3)
	VMOVDQU Y2, (DI)
	VMOVDQU Y3, (DI)(BX*1)
	NEXT(DI, SI, 1)
done:
	VZEROUPPER
	RET

// func shuffle4AVX2(dst, src *byte, n int)
TEXT ·shuffle4AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	LEAQ (BX)(BX*2), R8
	VBROADCASTI128 parts4<>(SB), Y15
	PCALIGN $32
loop:
	LOADLANES(0, 4, X0, Y0)
	LOADLANES(16, 4, X1, Y1)
	LOADLANES(32, 4, X2, Y2)
	LOADLANES(48, 4, X3, Y3)
	VPSHUFB Y15, Y0, Y0
	VPSHUFB Y15, Y1, Y1
	VPSHUFB Y15, Y2, Y2
	VPSHUFB Y15, Y3, Y3
	ZIP4(VPUNPCKLDQ, VPUNPCKHDQ, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	ZIP4(VPUNPCKLDQ, VPUNPCKHDQ, Y4, Y5, Y6, Y7, Y0, Y1, Y2, Y3)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(BX*1)
	VMOVDQU Y2, (DI)(BX*2)
	VMOVDQU Y3, (DI)(R8*1)
	NEXT(DI, SI, 2)
done:
	VZEROUPPER
	RET

// func shuffle8AVX2(dst, src *byte, n int)
TEXT ·shuffle8AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	LEAQ (BX)(BX*2), R8
	LEAQ (BX)(BX*4), R9
	LEAQ (R8)(BX*4), R10
	PCALIGN $32
loop:
	LOADLANES(0, 8, X0, Y0)
	LOADLANES(16, 8, X1, Y1)
	LOADLANES(32, 8, X2, Y2)
	LOADLANES(48, 8, X3, Y3)
	LOADLANES(64, 8, X4, Y4)
	LOADLANES(80, 8, X5, Y5)
	LOADLANES(96, 8, X6, Y6)
	LOADLANES(112, 8, X7, Y7)
	ZIP8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	ZIP8(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	ZIP8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	ZIP8(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(BX*1)
	VMOVDQU Y2, (DI)(BX*2)
	VMOVDQU Y3, (DI)(R8*1)
	VMOVDQU Y4, (DI)(BX*4)
	VMOVDQU Y5, (DI)(R9*1)
	VMOVDQU Y6, (DI)(R8*2)
	VMOVDQU Y7, (DI)(R10*1)
	NEXT(DI, SI, 3)
done:
	VZEROUPPER
	RET

// func unshuffle2AVX2(dst, src *byte, n int)
TEXT ·unshuffle2AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	PCALIGN $32
loop:
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(BX*1), Y1
	ZIP(VPUNPCKLBW, VPUNPCKHBW, Y0, Y1, Y2, Y3)
	STORELANES(Y2, Y3, 0, 2, Y4)
	NEXT(SI, DI, 1)
done:
	VZEROUPPER
	RET

// func unshuffle4AVX2(dst, src *byte, n int)
TEXT ·unshuffle4AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	LEAQ (BX)(BX*2), R8
	PCALIGN $32
loop:
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(BX*1), Y1
	VMOVDQU (SI)(BX*2), Y2
	VMOVDQU (SI)(R8*1), Y3
	ZIP4(VPUNPCKLBW, VPUNPCKHBW, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	ZIP4(VPUNPCKLBW, VPUNPCKHBW, Y4, Y5, Y6, Y7, Y0, Y1, Y2, Y3)
	STORELANES(Y0, Y1, 0, 4, Y4)
	STORELANES(Y2, Y3, 32, 4, Y5)
	NEXT(SI, DI, 2)
done:
	VZEROUPPER
	RET

// func unshuffle8AVX2(dst, src *byte, n int)
TEXT ·unshuffle8AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	LEAQ (BX)(BX*2), R8
	LEAQ (BX)(BX*4), R9
	LEAQ (R8)(BX*4), R10
	PCALIGN $32
loop:
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(BX*1), Y1
	VMOVDQU (SI)(BX*2), Y2
	VMOVDQU (SI)(R8*1), Y3
	VMOVDQU (SI)(BX*4), Y4
	VMOVDQU (SI)(R9*1), Y5
	VMOVDQU (SI)(R8*2), Y6
	VMOVDQU (SI)(R10*1), Y7
	ZIP8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	ZIP8(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	ZIP8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	STORELANES(Y8, Y9, 0, 8, Y0)
	STORELANES(Y10, Y11, 32, 8, Y1)
	STORELANES(Y12, Y13, 64, 8, Y2)
	STORELANES(Y14, Y15, 96, 8, Y3)
	NEXT(SI, DI, 3)
done:
	VZEROUPPER
	RET
