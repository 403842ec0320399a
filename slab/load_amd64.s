//go:build !purego

#include "textflag.h"

// func swapAVX2(dst, src *byte, n int, order *[16]byte)
TEXT ·swapAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ order+24(FP), AX
	VBROADCASTI128 (AX), Y0
	// The last 32 bytes are stored last and may overlap those of the loops.
	VMOVDQU -32(SI)(CX*1), Y5
	VPSHUFB Y0, Y5, Y5
	LEAQ -32(DI)(CX*1), R8
	SUBQ $128, CX
	JLT  rest
	PCALIGN $32
loop:
	VMOVDQU (SI), Y1
	VMOVDQU 32(SI), Y2
	VMOVDQU 64(SI), Y3
	VMOVDQU 96(SI), Y4
	VPSHUFB Y0, Y1, Y1
	VPSHUFB Y0, Y2, Y2
	VPSHUFB Y0, Y3, Y3
	VPSHUFB Y0, Y4, Y4
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, 32(DI)
	VMOVDQU Y3, 64(DI)
	VMOVDQU Y4, 96(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $128, CX
	JGE  loop
rest:
	ADDQ $(128-32), CX
	JLT  last
next:
	VMOVDQU (SI), Y1
	VPSHUFB Y0, Y1, Y1
	VMOVDQU Y1, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $32, CX
	JGE  next
last:
	VMOVDQU Y5, (R8)
	VZEROUPPER
	RET
