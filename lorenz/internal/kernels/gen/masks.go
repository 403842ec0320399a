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
	TEXT("expandAVX2", NOSPLIT, "func(y, src *uint32, masks *uint64, n int, places *[256][8]byte)")
	Pragma("noescape")
	Doc("expandAVX2 is Expand for n masks. It reads up to 8 elements after the last one it uses.")
	dst, src := Load(Param("y"), GP64()), Load(Param("src"), GP64())
	masks, n, places := Load(Param("masks"), GP64()), Load(Param("n"), GP64()), Load(Param("places"), GP64())
	bits, zero := laneBits(), YMM()
	VPXOR(zero, zero, zero)
	at, y, m := YMM(), YMM(), YMM()
	mask := GP64()
	Label("loop")
	MOVQ(Mem{Base: masks}, mask)
	TESTQ(mask, mask)
	JNZ(LabelRef("some"))
	for i := range 8 {
		VMOVDQU(Mem{Base: src}.Offset(32*i), y)
		VMOVDQU(y, Mem{Base: dst}.Offset(32*i))
	}
	ADDQ(U32(256), src)
	JMP(LabelRef("next"))
	Label("some")
	CMPQ(mask, I8(-1))
	JNE(LabelRef("mixed"))
	for i := range 8 {
		VMOVDQU(zero, Mem{Base: dst}.Offset(32*i))
	}
	JMP(LabelRef("next"))
	Label("mixed")
	for i := range 8 {
		b, used := GP64(), GP64()
		MOVBLZX(mask.As8L(), b.As32())
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
	Label("next")
	ADDQ(U32(256), dst)
	ADDQ(Imm(8), masks)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func stamp() {
	TEXT("stampAVX2", NOSPLIT, "func(dst *byte, masks *uint64, n int, v uint32)")
	Pragma("noescape")
	Doc("stampAVX2 is Stamp for n masks.")
	dst, masks, n := Load(Param("dst"), GP64()), Load(Param("masks"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	VMOVD(Load(Param("v"), GP32()), v.AsX())
	VPBROADCASTD(v.AsX(), v)
	bits, m, y := laneBits(), YMM(), YMM()
	mask := GP64()
	Label("loop")
	MOVQ(Mem{Base: masks}, mask)
	TESTQ(mask, mask)
	JZ(LabelRef("next"))
	CMPQ(mask, I8(-1))
	JNE(LabelRef("mixed"))
	for i := range 8 {
		VMOVDQU(v, Mem{Base: dst}.Offset(32*i))
	}
	JMP(LabelRef("next"))
	Label("mixed")
	for i := range 8 {
		b := GP32()
		MOVBLZX(mask.As8L(), b)
		VMOVD(b, m.AsX())
		VPBROADCASTD(m.AsX(), m)
		VPAND(bits, m, m)
		VPCMPEQD(bits, m, m)
		VMOVDQU(Mem{Base: dst}.Offset(32*i), y)
		VPBLENDVB(m, v, y, y) // masked stores are slow on some CPUs
		VMOVDQU(y, Mem{Base: dst}.Offset(32*i))
		if i < 7 {
			SHRQ(Imm(8), mask)
		}
	}
	Label("next")
	ADDQ(U32(256), dst)
	ADDQ(Imm(8), masks)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func tops() {
	TEXT("topsAVX2", NOSPLIT, "func(dst *uint32, src *byte, n int)")
	Pragma("noescape")
	Doc("topsAVX2 is Tops for n words.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	y, twice, bits := YMM(), YMM(), GP32()
	each("loop", n, 1, func() {
		VMOVDQU(Mem{Base: src}, y)
		VPADDB(y, y, twice)
		VPAND(twice, y, y)
		VPMOVMSKB(y, bits)
		MOVL(bits, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(4), dst)
	})
	VZEROUPPER()
	RET()
}

func lookup() {
	TEXT("lookupAVX2", NOSPLIT, "func(dst *byte, y *uint32, n int, entries *byte, count uint32)")
	Pragma("noescape")
	Doc("lookupAVX2 is Lookup for n places, a multiple of 8.")
	dst, y, n := Load(Param("dst"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	entries, last := Load(Param("entries"), GP64()), YMM()
	VMOVD(Load(Param("count"), GP32()), last.AsX())
	VPBROADCASTD(last.AsX(), last)
	all, at, low, v, mask := YMM(), YMM(), YMM(), YMM(), YMM()
	VPCMPEQD(all, all, all)
	VPADDD(all, last, last) // count - 1
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: y}, at)
		VPMINUD(last, at, low)
		VPCMPEQD(low, at, low)
		VPAND(low, at, at) // 0 if it is too large
		VMOVDQU(all, mask)
		VPGATHERDD(mask, Mem{Base: entries, Index: at, Scale: 4}, v)
		VMOVDQU(v, Mem{Base: dst})
		ADDQ(Imm(32), y)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

func equal() {
	TEXT("equalAVX2", NOSPLIT, "func(dst *uint64, u *uint32, n int, v uint32)")
	Pragma("noescape")
	Doc("equalAVX2 is Equal for n words.")
	dst, u, n := Load(Param("dst"), GP64()), Load(Param("u"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	VMOVD(Load(Param("v"), GP32()), v.AsX())
	VPBROADCASTD(v.AsX(), v)
	// Vectors of eight are packed to bytes, apart in their halves.
	at := YMM()
	VMOVDQU(places(), at)
	a, b, bits := YMM(), YMM(), GP32()
	each("loop", n, 1, func() {
		for i := range 2 {
			pair := func(j int, y reg.VecVirtual) {
				VPCMPEQD(Mem{Base: u}.Offset(32*j), v, y)
				other := YMM()
				VPCMPEQD(Mem{Base: u}.Offset(32*j+32), v, other)
				VPACKSSDW(other, y, y)
			}
			pair(4*i, a)
			pair(4*i+2, b)
			VPACKSSWB(b, a, a)
			VPERMD(a, at, a)
			VPMOVMSKB(a, bits)
			MOVL(bits, Mem{Base: dst}.Offset(4*i))
		}
		ADDQ(U32(256), u)
		ADDQ(Imm(8), dst)
	})
	VZEROUPPER()
	RET()
}

func zeros() {
	TEXT("zerosAVX2", NOSPLIT, "func(dst *byte, r *uint32, n int)")
	Pragma("noescape")
	Doc("zerosAVX2 is Zeros for n bytes.")
	dst, r, n := Load(Param("dst"), GP64()), Load(Param("r"), GP64()), Load(Param("n"), GP64())
	y, bits, zero := YMM(), GP32(), GP32()
	XORL(zero, zero)
	each("loop", n, 1, func() {
		VMOVDQU(Mem{Base: r}, y)
		for i := 1; i < 4; i++ {
			VPOR(Mem{Base: r}.Offset(32*i), y, y)
		}
		sumOf(y, or, bits)
		BSFL(bits, bits)
		CMOVLEQ(zero, bits)
		MOVB(bits.As8(), Mem{Base: dst})
		ADDQ(U32(128), r)
		INCQ(dst)
	})
	VZEROUPPER()
	RET()
}
