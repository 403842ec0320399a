package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// laneBits loads a vector whose lane i has bit i.
func laneBits() reg.VecVirtual {
	if lanes.Symbol.Name == "" {
		lanes = GLOBL("laneBits", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(1<<i))
		}
	}
	y := YMM()
	VMOVDQU(lanes, y)
	return y
}

var lanes Mem

func expand() {
	TEXT("expandAVX2", NOSPLIT, "func(y *[64]uint32, src *uint32, mask uint64, places *[256][8]byte)")
	Pragma("noescape")
	Doc("expandAVX2 is Expand. It reads up to 8 elements after the last one it uses.")
	dst, src := Load(Param("y"), GP64()), Load(Param("src"), GP64())
	mask, places := Load(Param("mask"), GP64()), Load(Param("places"), GP64())
	bits, zero := laneBits(), YMM()
	VPXOR(zero, zero, zero)
	at, y, m := YMM(), YMM(), YMM()
	for i := range 8 {
		b, used := GP64(), GP64()
		MOVBLZX(mask.(reg.GPVirtual).As8L(), b.As32())
		VPMOVZXBD(Mem{Base: places, Index: b, Scale: 8}, at)
		VPERMD(Mem{Base: src}, at, y)
		VMOVD(b.As32(), m.AsX())
		VPBROADCASTD(m.AsX(), m)
		VPAND(bits, m, m)
		VPCMPEQD(zero, m, m)
		VPAND(m, y, y)
		VMOVDQU(y, Mem{Base: dst}.Offset(32*i))
		POPCNTL(b.As32(), used.As32())
		SHLQ(Imm(2), used)
		SUBQ(used, src)
		ADDQ(Imm(32), src)
		if i < 7 {
			SHRQ(Imm(8), mask)
		}
	}
	VZEROUPPER()
	RET()
}

func stamp() {
	TEXT("stampAVX2", NOSPLIT, "func(dst *[256]byte, mask uint64, v uint32)")
	Pragma("noescape")
	Doc("stampAVX2 is Stamp.")
	dst, mask := Load(Param("dst"), GP64()), Load(Param("mask"), GP64())
	v := YMM()
	VMOVD(Load(Param("v"), GP32()), v.AsX())
	VPBROADCASTD(v.AsX(), v)
	bits, m := laneBits(), YMM()
	for i := range 8 {
		b := GP32()
		MOVBLZX(mask.(reg.GPVirtual).As8L(), b)
		VMOVD(b, m.AsX())
		VPBROADCASTD(m.AsX(), m)
		VPAND(bits, m, m)
		VPCMPEQD(bits, m, m)
		VPMASKMOVD(v, m, Mem{Base: dst}.Offset(32*i))
		if i < 7 {
			SHRQ(Imm(8), mask)
		}
	}
	VZEROUPPER()
	RET()
}
