// Mode 8: low bits of residuals.

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lowConstants returns for each byte of a vector the first byte of its element, and which one of the element it is.
func lowConstants(size int) (first, up Mem) {
	first = GLOBL(fmt.Sprint("lowFirst", 8*size), RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(i%16/size*size))
	}
	up = GLOBL(fmt.Sprint("lowUp", 8*size), RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(i%size))
	}
	return first, up
}

// lowBits32 is the reading of low bits for lanes of 32 bits.
func lowBits32(long bool) {
	name, most := "lowBitsAVX2", "no residual has more than 25"
	if long {
		name, most = "lowBits32AVX2", "no residual has more than 30"
	} else {
		first32, up32 = lowConstants(4)
	}
	TEXT(name, NOSPLIT, "func(dst *uint32, marks *uint16, n int, low *byte, pos uint64, t uint32) (end uint64)")
	Pragma("noescape")
	Doc(name+" makes n residuals, a multiple of 8, of marks, low bits and t trailing zeros. It reads up to 16 bytes",
		"from those of the first of four on, of which "+most+" low bits.")
	dst, marks, n := Load(Param("dst"), GP64()), Load(Param("marks"), GP64()), Load(Param("n"), GP64())
	low, pos := Load(Param("low"), GP64()), GP64()
	Load(Param("pos"), pos)
	zeros := YMM()
	VMOVD(Load(Param("t"), GP32()), zeros.AsX())
	VPBROADCASTD(zeros.AsX(), zeros)
	one, class, sign := broadcast(1), broadcast(255), broadcast(1<<14)
	base, rest, next := GP64(), GP64(), GP64()
	each("low", n, 8, func() {
		m, c, b, t := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWD(Mem{Base: marks}, m)
		VPAND(class, m, c)
		VPCMPGTD(m, sign, m) // negative
		VPSRLD(Imm(1), c, b)
		VPMAXSD(one, b, b)
		VPSUBD(one, b, b)
		VPADDD(b, b, t)
		VPSUBD(t, c, c)
		VPSLLVD(b, c, c) // the upper bits
		VPMAXSD(zeros, b, b)
		VPSUBD(zeros, b, b)
		// Where the low bits begin: after the bits of the elements before.
		e, z := YMM(), YMM()
		VPSLLDQ(Imm(4), b, e)
		VPADDD(b, e, e)
		VPSLLDQ(Imm(8), e, z)
		VPADDD(z, e, e)
		VPSHUFD(Imm(0xFF), e, z)
		VPERM2I128(Imm(0x08), z, z, z)
		VPADDD(z, e, e)
		last := YMM()
		VEXTRACTI128(Imm(1), e, last.AsX())
		MOVQ(pos, base)
		MOVL(pos.As32(), rest.As32())
		ANDL(Imm(7), rest.As32())
		VMOVD(rest.As32(), z.AsX())
		VPBROADCASTD(z.AsX(), z)
		VPADDD(z, e, e)
		VPSUBD(b, e, e)
		SHRQ(Imm(3), base)
		ADDQ(low, base)
		VEXTRACTI128(Imm(1), e, z.AsX())
		VMOVD(z.AsX(), next.As32())
		SHRL(Imm(3), next.As32())
		v := YMM()
		VMOVDQU(Mem{Base: base}, v.AsX())
		VINSERTI128(Imm(1), Mem{Base: base, Index: next, Scale: 1}, v, v)
		// Bytes and bits within these halves.
		VPSHUFD(Imm(0), e, z)
		VPSRLD(Imm(3), z, z)
		at := YMM()
		VPSRLD(Imm(3), e, at)
		VPSUBD(z, at, at)
		VPSLLD(Imm(29), e, e)
		VPSRLD(Imm(29), e, e)
		VPSHUFB(first32, at, at)
		VPADDB(up32, at, at)
		VPSHUFB(at, v, z)
		VPSRLVD(e, z, z)
		if long {
			four := YMM()
			VPADDB(lowFour, at, at)
			VPSHUFB(at, v, v)
			VMOVDQU(lowWidth, four)
			VPSUBD(e, four, e)
			VPSLLVD(e, v, v)
			VPOR(v, z, z)
		}
		VPSLLVD(b, one, t)
		VPSUBD(one, t, t)
		VPAND(t, z, z)
		VPSLLVD(zeros, z, z)
		VPADDD(z, c, c)
		VPXOR(m, c, c)
		VPSUBD(m, c, c)
		VMOVDQU(c, Mem{Base: dst})
		VPEXTRD(Imm(3), last.AsX(), next.As32())
		ADDQ(next, pos)
		ADDQ(Imm(32), dst)
		ADDQ(Imm(16), marks)
	})
	Store(pos, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

var first32, up32, lowFour, lowWidth Mem

// lowBits64 is the reading of low bits for lanes of 64 bits.
func lowBits64() {
	first, up := lowConstants(8)
	TEXT("lowBits64AVX2", NOSPLIT, "func(dst *uint64, marks *uint16, n int, low *byte, pos uint64, t uint64) (done int, end uint64)")
	Pragma("noescape")
	Doc("lowBits64AVX2 makes n residuals, a multiple of 4, of marks, low bits and t trailing zeros. It ends before four",
		"of which one has more than 57 low bits, and returns how many it did. It reads up to 16 bytes from those",
		"of the first of two on.")
	dst, marks, n := Load(Param("dst"), GP64()), Load(Param("marks"), GP64()), Load(Param("n"), GP64())
	low, pos := Load(Param("low"), GP64()), GP64()
	Load(Param("pos"), pos)
	zeros := YMM()
	VMOVQ(Load(Param("t"), GP64()), zeros.AsX())
	VPBROADCASTQ(zeros.AsX(), zeros)
	one, class, sign, most := wide(1), wide(255), wide(1<<14), wide(57)
	base, rest, next, i := GP64(), GP64(), GP64(), GP64()
	XORQ(i, i)
	Label("low")
	{
		m, c, b, t := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWQ(Mem{Base: marks, Index: i, Scale: 2}, m)
		VPAND(class, m, c)
		VPCMPGTQ(m, sign, m)
		VPSRLQ(Imm(1), c, b)
		VPMAXSD(one, b, b)
		VPSUBQ(one, b, b)
		VPADDQ(b, b, t)
		VPSUBQ(t, c, c)
		VPSLLVQ(b, c, c)
		VPMAXSD(zeros, b, b)
		VPSUBQ(zeros, b, b)
		VPCMPGTD(most, b, t)
		VMOVMSKPS(t, next.As32())
		TESTL(next.As32(), next.As32())
		JNZ(LabelRef("ended"))
		e, z := YMM(), YMM()
		VPSLLDQ(Imm(8), b, e)
		VPADDQ(b, e, e)
		VPERMQ(Imm(0x55), e, z) // the sum of the first two
		VPERM2I128(Imm(0x08), z, z, z)
		VPADDQ(z, e, e)
		last := YMM()
		VEXTRACTI128(Imm(1), e, last.AsX())
		MOVQ(pos, base)
		MOVL(pos.As32(), rest.As32())
		ANDL(Imm(7), rest.As32())
		VMOVD(rest.As32(), z.AsX())
		VPBROADCASTQ(z.AsX(), z)
		VPADDQ(z, e, e)
		VPSUBQ(b, e, e)
		SHRQ(Imm(3), base)
		ADDQ(low, base)
		VEXTRACTI128(Imm(1), e, z.AsX())
		VMOVD(z.AsX(), next.As32())
		SHRL(Imm(3), next.As32())
		v := YMM()
		VMOVDQU(Mem{Base: base}, v.AsX())
		VINSERTI128(Imm(1), Mem{Base: base, Index: next, Scale: 1}, v, v)
		VPSHUFD(Imm(0x44), e, z)
		VPSRLQ(Imm(3), z, z)
		at := YMM()
		VPSRLQ(Imm(3), e, at)
		VPSUBQ(z, at, at)
		VPSLLQ(Imm(61), e, e)
		VPSRLQ(Imm(61), e, e)
		VPSHUFB(first, at, at)
		VPADDB(up, at, at)
		VPSHUFB(at, v, v)
		VPSRLVQ(e, v, v)
		VPSLLVQ(b, one, t)
		VPSUBQ(one, t, t)
		VPAND(t, v, v)
		VPSLLVQ(zeros, v, v)
		VPADDQ(v, c, c)
		VPXOR(m, c, c)
		VPSUBQ(m, c, c)
		VMOVDQU(c, Mem{Base: dst, Index: i, Scale: 8})
		VPEXTRQ(Imm(1), last.AsX(), next)
		ADDQ(next, pos)
		ADDQ(Imm(4), i)
		CMPQ(i, n)
		JL(LabelRef("low"))
	}
	Label("ended")
	Store(i, ReturnIndex(0))
	Store(pos, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// wide returns a vector of four 64-bit constants.
func wide(v uint32) reg.VecVirtual {
	r, y := GP64(), YMM()
	MOVQ(U32(v), r)
	VMOVQ(r, y.AsX())
	VPBROADCASTQ(y.AsX(), y)
	return y
}
