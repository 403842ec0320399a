package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernels.Row.
const (
	stepsStates  = 0
	stepsM1      = 64
	stepsM2      = 128
	stepsWest    = 192
	stepsLut     = 256
	stepsSlots   = 264
	stepsSigns   = 272
	stepsWords   = 280
	stepsLeft    = 288
	stepsMags    = 296
	stepsMarks   = 304
	stepsNorth   = 312
	stepsBelow   = 320
	stepsActive  = 328
	stepsN       = 336
	stepsTaps    = 344
	stepsFactors = 352
	stepsFrom    = 400
)

// every has all bits set.
var every Mem

// constant returns a vector of eight 32-bit constants in memory.
func constant(name string, v uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(v))
	}
	return m
}

func contexts() {
	one, two, last := constant("steps1", 1), constant("steps2", 2), constant("steps31", 31)
	float, octaves := constant("stepsFloat", 0x3f800000), constant("stepsOctaves", 2032)
	slot, class, size := constant("stepsSlot", 2047), constant("stepsClass", 255), constant("stepsSize", 4095)
	signs, base, three := constant("stepsSigns", 32), constant("stepsBase", 254), constant("steps27", 27)
	nine, words3 := constant("stepsNine", 9<<16|9), constant("stepsThree", 3<<16|3)
	every = constant("stepsEvery", 1<<32-1)
	for _, masked := range []bool{false, true} {
		name, doc := "rowAVX2", "rowAVX2 decodes steps while at least 32 bytes of words are left, and returns how many."
		if masked {
			name, doc = "rowMaskedAVX2", "rowMaskedAVX2 is rowAVX2 for rows with masked elements."
		}
		TEXT(name, NOSPLIT, "func(s *byte, moves *[256][8]byte) (done int)")
		Pragma("noescape")
		Doc(doc)
		s, moves := Load(Param("s"), GP64()), Load(Param("moves"), GP64())
		var x, m1 [2]reg.VecVirtual // M2 and West are needed later, so that they can be in memory
		for i := range 2 {
			x[i], m1[i] = YMM(), YMM()
			VMOVDQU(Mem{Base: s}.Offset(stepsStates+32*i), x[i])
			VMOVDQU(Mem{Base: s}.Offset(stepsM1+32*i), m1[i])
		}
		words, left, o, n := mustLoad(s, stepsWords), mustLoad(s, stepsLeft), GP64(), mustLoad(s, stepsN)
		XORQ(o, o)
		v := [2]reg.VecVirtual{YMM(), YMM()}
		a, b, c, f, g, h := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
		p := GP64()
		half := func(i int) reg.VecVirtual {
			e := v[i]
			VBROADCASTSS(Mem{Base: s}.Offset(stepsFactors+4), a)
			VMULPS(Mem{Base: s}.Offset(stepsM2+32*i), a, a)
			VADDPS(a, e, e)
			VADDPS(float, e, e)
			VBROADCASTSS(Mem{Base: s}.Offset(stepsFactors), a)
			VMULPS(a, m1[i], a)
			VADDPS(a, e, e)
			VPSRLD(Imm(19), e, e)
			VPSUBD(octaves, e, e)
			if masked {
				VPAND(slot, e, e) // the sum of a stripe without an element may be of anything
			}
			MOVQ(Mem{Base: s}.Offset(stepsLut), p)
			VMOVDQU(every, a)
			VPGATHERDD(a, Mem{Base: p, Index: e, Scale: 4}, b)
			VPAND(slot, x[i], c)
			VPADDD(c, b, b)
			MOVQ(Mem{Base: s}.Offset(stepsSlots), p)
			VMOVDQU(every, a)
			VPGATHERDD(a, Mem{Base: p, Index: b, Scale: 4}, c)
			// c is the entry, d becomes the class and b the new state.
			d := YMM()
			VPAND(class, c, d)
			VPSRLD(Imm(20), c, b)
			VPSRLD(Imm(11), x[i], f)
			VPMULLD(f, b, b)
			VPSRLD(Imm(8), c, c)
			VPAND(size, c, c)
			VPADDD(c, b, b)
			// a is the sign context.
			MOVQ(Mem{Base: s}.Offset(stepsNorth), p)
			VMOVDQU(Mem{Base: p, Index: o, Scale: 1}.Offset(16*i), a.AsX())
			VPSRLW(Imm(8), a.AsX(), a.AsX())
			VPMULLW(nine, a.AsX(), a.AsX())
			VMOVDQU(Mem{Base: p, Index: o, Scale: 1}.Offset(16*i-32), f.AsX())
			VPSRLW(Imm(8), f.AsX(), f.AsX())
			VPADDW(f.AsX(), a.AsX(), a.AsX())
			MOVQ(Mem{Base: s}.Offset(stepsBelow), p)
			VMOVDQU(Mem{Base: p, Index: o, Scale: 1}.Offset(16*i), f.AsX())
			VPSRLW(Imm(8), f.AsX(), f.AsX())
			VPMULLW(words3, f.AsX(), f.AsX())
			VPADDW(f.AsX(), a.AsX(), a.AsX())
			VPMOVZXWD(a.AsX(), a)
			VPADDD(Mem{Base: s}.Offset(stepsWest+32*i), a, a)
			VPSLLD(Imm(2), a, a)
			VPMINSD(two, d, f)
			VPADDD(f, a, a)
			MOVQ(Mem{Base: s}.Offset(stepsSigns), p)
			VMOVDQU(every, f)
			VPGATHERDD(f, Mem{Base: p, Index: a, Scale: 4}, c)
			// c is p, a is z, f is whether the residual is negative.
			VPAND(last, b, a)
			VPCMPGTD(a, c, f)
			VMOVDQU(signs, g)
			VPSUBD(c, g, g)
			VPBLENDVB(f, c, g, g)
			VPSRLD(Imm(5), b, b)
			VPMULLD(g, b, b)
			VPADDD(a, b, b)
			VPANDN(c, f, c)
			VPSUBD(c, b, b)
			// f is the sign, g the magnitude, a whether a word is needed.
			VPXOR(c, c, c)
			VPCMPEQD(c, d, a)
			VPANDN(two, f, f)
			VPAND(one, a, g)
			VPOR(g, f, f)
			VPADDD(base, d, g)
			VPSLLD(Imm(22), g, g)
			VPANDN(g, a, g)
			VPSRLD(Imm(16), b, a)
			VPCMPEQD(c, a, a)
			if masked {
				MOVQ(Mem{Base: s}.Offset(stepsActive), p)
				VPMOVSXWD(Mem{Base: p, Index: o, Scale: 1}.Offset(16*i), c)
				VPAND(c, a, a)
				VPBLENDVB(c, b, x[i], b)
				VPBLENDVB(c, g, m1[i], g)
				VMOVDQU(one, h)
				VPBLENDVB(c, f, h, f)
				VPAND(c, d, d)
			}
			m := GP64()
			VMOVMSKPS(a, m.As32())
			VPMOVZXBD(Mem{Base: moves, Index: m, Scale: 8}, h)
			VPMOVZXWD(Mem{Base: words}, c)
			VPERMD(c, h, h)
			POPCNTL(m.As32(), m.As32())
			LEAQ(Mem{Base: words, Index: m, Scale: 2}, words)
			SUBQ(m, left)
			SUBQ(m, left)
			VPSLLD(Imm(16), b, x[i])
			VPOR(h, x[i], x[i])
			VPBLENDVB(a, x[i], b, x[i])
			VMOVDQU(m1[i], Mem{Base: s}.Offset(stepsM2+32*i))
			VMOVDQA(g, m1[i])
			VPMULLD(three, f, a)
			VMOVDQU(a, Mem{Base: s}.Offset(stepsWest+32*i))
			VPSLLD(Imm(8), f, f)
			VPOR(f, d, d)
			return d
		}
		Label("step")
		CMPQ(left, Imm(32))
		JL(LabelRef("done"))
		VPXOR(v[0], v[0], v[0])
		VPXOR(v[1], v[1], v[1])
		k, count := GP64(), mustLoad(s, stepsTaps)
		XORQ(k, k)
		TESTQ(count, count)
		JZ(LabelRef("decode"))
		Label("tap")
		{
			w, t := a, b
			MOVQ(Mem{Base: s, Index: k, Scale: 8}.Offset(stepsFrom), p)
			VBROADCASTSS(Mem{Base: s, Index: k, Scale: 4}.Offset(stepsFactors+8), w)
			VMULPS(Mem{Base: p, Index: o, Scale: 2}, w, t)
			VADDPS(t, v[0], v[0])
			VMULPS(Mem{Base: p, Index: o, Scale: 2}.Offset(32), w, t)
			VADDPS(t, v[1], v[1])
			INCQ(k)
			CMPQ(k, count)
			JNE(LabelRef("tap"))
		}
		Label("decode")
		lo := half(0)
		hi := half(1)
		to := GP64()
		VPACKUSDW(hi, lo, lo)
		VPERMQ(Imm(0xd8), lo, lo)
		MOVQ(Mem{Base: s}.Offset(stepsMarks), to)
		VMOVDQU(lo, Mem{Base: to, Index: o, Scale: 1})
		MOVQ(Mem{Base: s}.Offset(stepsMags), to)
		VMOVDQU(m1[0], Mem{Base: to, Index: o, Scale: 2})
		VMOVDQU(m1[1], Mem{Base: to, Index: o, Scale: 2}.Offset(32))
		ADDQ(Imm(32), o)
		DECQ(n)
		JNZ(LabelRef("step"))
		Label("done")
		for i := range 2 {
			VMOVDQU(x[i], Mem{Base: s}.Offset(stepsStates+32*i))
			VMOVDQU(m1[i], Mem{Base: s}.Offset(stepsM1+32*i))
		}
		MOVQ(left, Mem{Base: s}.Offset(stepsLeft))
		SHRQ(Imm(5), o)
		Store(o, ReturnIndex(0))
		VZEROUPPER()
		RET()
	}
	stripe()
	lowBits()
	lowBits32()
	lowBits64()
}

// stripe is the transposition of marks.
func stripe() {
	TEXT("stripesAVX2", NOSPLIT, "func(dst *uint16, starts *[16]int, marks *uint16)")
	Pragma("noescape")
	Doc("stripesAVX2 writes the marks of 8 steps of 16 stripes, to the start of each stripe in dst.")
	dst, starts, src := Load(Param("dst"), GP64()), Load(Param("starts"), GP64()), Load(Param("marks"), GP64())
	var a, b [8]reg.VecVirtual
	for i := range 8 {
		a[i] = YMM()
		VMOVDQU(Mem{Base: src}.Offset(32*i), a[i])
	}
	for i := range 8 {
		b[i] = YMM()
	}
	for i := range 4 { // stripes 0 to 3 and 4 to 7 of steps 2i and 2i+1
		VPUNPCKLWD(a[2*i+1], a[2*i], b[2*i])
		VPUNPCKHWD(a[2*i+1], a[2*i], b[2*i+1])
	}
	for i := range 2 {
		for h := range 2 {
			VPUNPCKLDQ(b[4*i+2+h], b[4*i+h], a[4*i+2*h])
			VPUNPCKHDQ(b[4*i+2+h], b[4*i+h], a[4*i+2*h+1])
		}
	}
	for i := range 4 {
		VPUNPCKLQDQ(a[4+i], a[i], b[2*i])
		VPUNPCKHQDQ(a[4+i], a[i], b[2*i+1])
	}
	at := GP64()
	for i := range 8 {
		MOVQ(Mem{Base: starts}.Offset(8*i), at)
		VMOVDQU(b[i].AsX(), Mem{Base: dst, Index: at, Scale: 2})
		MOVQ(Mem{Base: starts}.Offset(8*i+64), at)
		VEXTRACTI128(Imm(1), b[i], Mem{Base: dst, Index: at, Scale: 2})
	}
	VZEROUPPER()
	RET()
}

// lowBits is the reading of low bits.
func lowBits() {
	TEXT("lowBitsAVX2", NOSPLIT, "func(dst *uint32, marks *uint16, n int, low *byte, pos uint64) (end uint64)")
	Pragma("noescape")
	Doc("lowBitsAVX2 makes n residuals, a multiple of 8, of marks and low bits, of which no residual has more than 25.",
		"It reads up to 3 bytes more than these have.")
	dst, marks, n := Load(Param("dst"), GP64()), Load(Param("marks"), GP64()), Load(Param("n"), GP64())
	low, pos := Load(Param("low"), GP64()), GP64()
	Load(Param("pos"), pos)
	one, class, sign := broadcast(1), broadcast(255), broadcast(256)
	base, rest := GP64(), GP64()
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
		// Where the low bits begin: the bits of the elements before.
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
		VPSUBD(b, e, e)
		MOVQ(pos, base)
		SHRQ(Imm(3), base)
		ADDQ(low, base)
		MOVL(pos.As32(), rest.As32())
		ANDL(Imm(7), rest.As32())
		first := YMM()
		VMOVD(rest.As32(), first.AsX())
		VPBROADCASTD(first.AsX(), first)
		VPADDD(first, e, e)
		all, v, at := YMM(), YMM(), YMM()
		VMOVDQU(every, all)
		VPSRLD(Imm(3), e, at)
		VPGATHERDD(all, Mem{Base: base, Index: at, Scale: 1}, v)
		VPSLLD(Imm(29), e, e)
		VPSRLD(Imm(29), e, e)
		VPSRLVD(e, v, v)
		VPSLLVD(b, one, t)
		VPSUBD(one, t, t)
		VPAND(t, v, v)
		VPADDD(v, c, c)
		VPXOR(m, c, c)
		VPSUBD(m, c, c)
		VMOVDQU(c, Mem{Base: dst})
		VPEXTRD(Imm(3), last.AsX(), rest.As32())
		ADDQ(rest, pos)
		ADDQ(Imm(32), dst)
		ADDQ(Imm(16), marks)
	})
	Store(pos, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// lowBits32 and lowBits64 read low bits with 64-bit gathers, and trailing zeros.
func lowBits32() {
	TEXT("lowBits32AVX2", NOSPLIT, "func(dst *uint32, marks *uint16, n int, low *byte, pos uint64, t uint32) (end uint64)")
	Pragma("noescape")
	Doc("lowBits32AVX2 makes n residuals, a multiple of 8, of marks, low bits and t trailing zeros. It reads up to 7 bytes more",
		"than these have.")
	dst, marks, n := Load(Param("dst"), GP64()), Load(Param("marks"), GP64()), Load(Param("n"), GP64())
	low, pos := Load(Param("low"), GP64()), GP64()
	Load(Param("pos"), pos)
	zeros := YMM()
	VMOVD(Load(Param("t"), GP32()), zeros.AsX())
	VPBROADCASTD(zeros.AsX(), zeros)
	one, class, sign := broadcast(1), broadcast(255), broadcast(256)
	base, rest := GP64(), GP64()
	each("low32", n, 8, func() {
		m, c, b, t := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWD(Mem{Base: marks}, m)
		VPAND(class, m, c)
		VPCMPGTD(m, sign, m)
		VPSRLD(Imm(1), c, b)
		VPMAXSD(one, b, b)
		VPSUBD(one, b, b)
		VPADDD(b, b, t)
		VPSUBD(t, c, c)
		VPSLLVD(b, c, c)
		VPMAXSD(zeros, b, b)
		VPSUBD(zeros, b, b)
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
		VPSUBD(b, e, e)
		MOVQ(pos, base)
		SHRQ(Imm(3), base)
		ADDQ(low, base)
		MOVL(pos.As32(), rest.As32())
		ANDL(Imm(7), rest.As32())
		VMOVD(rest.As32(), z.AsX())
		VPBROADCASTD(z.AsX(), z)
		VPADDD(z, e, e)
		at := YMM()
		VPSRLD(Imm(3), e, at)
		VPSLLD(Imm(29), e, e)
		VPSRLD(Imm(29), e, e)
		var v [2]reg.VecVirtual
		for h := range 2 {
			all, k := YMM(), YMM()
			v[h] = YMM()
			VMOVDQU(every, all)
			if h == 1 {
				VEXTRACTI128(Imm(1), at, at.AsX())
			}
			VPGATHERDQ(all, Mem{Base: base, Index: at.AsX(), Scale: 1}, v[h])
			if h == 0 {
				VPMOVZXDQ(e.AsX(), k)
			} else {
				VEXTRACTI128(Imm(1), e, k.AsX())
				VPMOVZXDQ(k.AsX(), k)
			}
			VPSRLVQ(k, v[h], v[h])
		}
		// The lower halves, in order.
		VSHUFPS(Imm(0x88), v[1], v[0], v[0])
		VPERMQ(Imm(0xd8), v[0], v[0])
		VPSLLVD(b, one, t)
		VPSUBD(one, t, t)
		VPAND(t, v[0], v[0])
		VPSLLVD(zeros, v[0], v[0])
		VPADDD(v[0], c, c)
		VPXOR(m, c, c)
		VPSUBD(m, c, c)
		VMOVDQU(c, Mem{Base: dst})
		VPEXTRD(Imm(3), last.AsX(), rest.As32())
		ADDQ(rest, pos)
		ADDQ(Imm(32), dst)
		ADDQ(Imm(16), marks)
	})
	Store(pos, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func lowBits64() {
	TEXT("lowBits64AVX2", NOSPLIT, "func(dst *uint64, marks *uint16, n int, low *byte, pos uint64, t uint64) (end uint64)")
	Pragma("noescape")
	Doc("lowBits64AVX2 makes n residuals, a multiple of 4, of marks, low bits and t trailing zeros. None has more than 57 low bits.",
		"It reads up to 7 bytes more than these have.")
	dst, marks, n := Load(Param("dst"), GP64()), Load(Param("marks"), GP64()), Load(Param("n"), GP64())
	low, pos := Load(Param("low"), GP64()), GP64()
	Load(Param("pos"), pos)
	zeros := YMM()
	VMOVQ(Load(Param("t"), GP64()), zeros.AsX())
	VPBROADCASTQ(zeros.AsX(), zeros)
	one, class, sign := wide(1), wide(255), wide(256)
	base, rest := GP64(), GP64()
	each("low64", n, 4, func() {
		m, c, b, t := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWQ(Mem{Base: marks}, m)
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
		e, z := YMM(), YMM()
		VPSLLDQ(Imm(8), b, e)
		VPADDQ(b, e, e)
		VPERMQ(Imm(0x55), e, z) // the sum of the first two
		VPERM2I128(Imm(0x08), z, z, z)
		VPADDQ(z, e, e)
		last := YMM()
		VEXTRACTI128(Imm(1), e, last.AsX())
		VPSUBQ(b, e, e)
		MOVQ(pos, base)
		SHRQ(Imm(3), base)
		ADDQ(low, base)
		MOVL(pos.As32(), rest.As32())
		ANDL(Imm(7), rest.As32())
		VMOVD(rest.As32(), z.AsX())
		VPBROADCASTQ(z.AsX(), z)
		VPADDQ(z, e, e)
		all, v, at := YMM(), YMM(), YMM()
		VMOVDQU(every, all)
		VPSRLQ(Imm(3), e, at)
		VPGATHERQQ(all, Mem{Base: base, Index: at, Scale: 1}, v)
		VPSLLQ(Imm(61), e, e)
		VPSRLQ(Imm(61), e, e)
		VPSRLVQ(e, v, v)
		VPSLLVQ(b, one, t)
		VPSUBQ(one, t, t)
		VPAND(t, v, v)
		VPSLLVQ(zeros, v, v)
		VPADDQ(v, c, c)
		VPXOR(m, c, c)
		VPSUBQ(m, c, c)
		VMOVDQU(c, Mem{Base: dst})
		VPEXTRQ(Imm(1), last.AsX(), rest)
		ADDQ(rest, pos)
		ADDQ(Imm(32), dst)
		ADDQ(Imm(8), marks)
	})
	Store(pos, ReturnIndex(0))
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
