// Rows of mode 8: classes and signs of 16 elements at once.

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernels.Row.
const (
	rowStates = 0
	rowM1     = 64
	rowM2     = 128
	rowWest   = 192
	rowW      = 256
	rowWW     = 288
	rowBounds = 320
	rowSigns  = 800
	rowSlots  = 928
	rowWords  = 936
	rowLeft   = 944
	rowSums   = 952
	rowMags   = 960
	rowMarks  = 968
	rowNorth  = 976
	rowBelow  = 984
	rowActive = 992
	rowTail   = 1000
	rowN      = 1008
	rowCount  = 1016
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
	every = constant("rowEvery", 1<<32-1)
	lowFour, lowWidth = constant("lowFour", 0x04040404), constant("lowWidth", 32)
	rows()
	neighbours(5)
	neighbours(10)
	ramp()
	edges()
	active()
	stripe()
	lowBits32(false)
	lowBits32(true)
	lowBits64()
}

func rows() {
	float, slot, magnitude := constant("rowFloat", 0x3f800000), constant("rowSlot", 2047), constant("rowMagnitude", 511<<22)
	last, five, ten := constant("rowLast", 31), constant("rowFive", 5), constant("rowTen", 10)
	nine, three := constant("rowNine", 9<<16|9), constant("rowThree", 3<<16|3)
	class, base, sign := constant("rowClass", 511<<16|511), constant("rowBase", 254<<16|254), constant("rowSign", 3<<30|3<<14)
	TEXT("rowAVX2", NOSPLIT, "func(s *byte, moves *[256][8]byte) (done int)")
	Pragma("noescape")
	Doc("rowAVX2 decodes steps while at least 32 bytes of words are left, and returns how many.")
	s, moves := Load(Param("s"), GP64()), Load(Param("moves"), GP64())
	var x, m1 [2]reg.VecVirtual // M2 and West are needed later, so that they can be in memory
	for i := range 2 {
		x[i], m1[i] = YMM(), YMM()
		VMOVDQU(Mem{Base: s}.Offset(rowStates+32*i), x[i])
		VMOVDQU(Mem{Base: s}.Offset(rowM1+32*i), m1[i])
	}
	words, left, o, n := mustLoad(s, rowWords), mustLoad(s, rowLeft), GP64(), mustLoad(s, rowN)
	XORQ(o, o)
	act, p, m := mustLoad(s, rowActive), GP64(), GP64()
	a, b, c, d, f, g, h := YMM(), YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	e := [2]reg.VecVirtual{YMM(), YMM()} // contexts, then marks
	signs := YMM()
	// half decodes eight elements.
	half := func(i int, masked bool) {
		// f becomes the magnitude and b the new state.
		VPAND(slot, x[i], b)
		VPSUBD(e[i], b, b)
		MOVQ(Mem{Base: s}.Offset(rowSlots), p)
		VMOVDQU(every, a)
		VPGATHERDD(a, Mem{Base: p, Index: b, Scale: 4}, d)
		// g becomes p of the signs for small classes, h that for others.
		if i == 0 {
			VPMOVZXWD(signs.AsX(), c)
		} else {
			VEXTRACTI128(Imm(1), signs, c.AsX())
			VPMOVZXWD(c.AsX(), c)
		}
		VPSLLD(Imm(28), c, f)
		VPERMD(Mem{Base: s}.Offset(rowSigns), c, g)
		VPERMD(Mem{Base: s}.Offset(rowSigns+32), c, h)
		VBLENDVPS(f, h, g, g)
		VPERMD(Mem{Base: s}.Offset(rowSigns+64), c, h)
		VPERMD(Mem{Base: s}.Offset(rowSigns+96), c, a)
		VBLENDVPS(f, a, h, h)
		VPSLLD(Imm(27), c, c)
		VBLENDVPS(c, h, g, g)
		VPSRLVD(Mem{Base: s}.Offset(rowWest+32*i), g, g)
		VPSRLD(Imm(16), g, h)
		VPSRLD(Imm(11), x[i], b)
		VPSRLD(Imm(11), d, a)
		VPAND(slot, a, a)
		VPMULLD(b, a, a)
		VPAND(slot, d, c)
		VPADDD(c, b, b)
		VPADDD(a, b, b)
		VPAND(magnitude, d, f)
		VPADDD(d, d, a)
		VBLENDVPS(a, h, g, g)
		VPXOR(h, h, h)
		VPCMPEQD(h, f, h) // class 0
		VPAND(last, g, g)
		VPANDN(g, h, g)
		// g is p, which is 0 for class 0, and c whether the residual is negative.
		VPAND(last, b, c)
		VPSRLD(Imm(5), b, a)
		VPMULLD(g, a, a)
		VPSUBD(a, b, b)
		VPSUBD(g, b, b)
		VPADDD(c, a, a)
		VPCMPGTD(c, g, c)
		VBLENDVPS(c, a, b, b)
		VPANDN(ten, c, c)
		VMOVDQU(five, a)
		VBLENDVPS(h, a, c, c)
		// c is 5 times the sign, a whether a word is needed.
		VPXOR(h, h, h)
		VPSRLD(Imm(16), b, a)
		VPCMPEQD(h, a, a)
		if masked {
			VPMOVSXWD(Mem{Base: act, Index: o, Scale: 1}.Offset(16*i), h)
			VPAND(h, a, a)
			VPAND(h, d, d)
			VBLENDVPS(h, b, x[i], b)
			VBLENDVPS(h, f, m1[i], f)
			VMOVDQU(five, g)
			VBLENDVPS(h, c, g, c)
		}
		VMOVMSKPS(a, m.As32())
		VPMOVZXBD(Mem{Base: moves, Index: m, Scale: 8}, h)
		VPMOVZXWD(Mem{Base: words}, g)
		VPERMD(g, h, h)
		POPCNTL(m.As32(), m.As32())
		LEAQ(Mem{Base: words, Index: m, Scale: 2}, words)
		SUBQ(m, left)
		SUBQ(m, left)
		VPSLLD(Imm(16), b, g)
		VPOR(h, g, g)
		VBLENDVPS(a, g, b, x[i])
		VMOVDQU(m1[i], Mem{Base: s}.Offset(rowM2+32*i))
		VMOVDQA(f, m1[i])
		VMOVDQU(c, Mem{Base: s}.Offset(rowWest+32*i))
		VPSLLD(Imm(12), c, c)
		VPSRLD(Imm(22), d, d)
		VPOR(c, d, e[i])
	}
	step := func(masked bool) {
		name := "step"
		if masked {
			name = "masked"
		}
		Label(name)
		CMPQ(left, Imm(32))
		JL(LabelRef("done"))
		MOVQ(Mem{Base: s}.Offset(rowSums), p)
		for i := range 2 {
			VMOVUPS(Mem{Base: s}.Offset(rowWW), a)
			VMULPS(Mem{Base: s}.Offset(rowM2+32*i), a, a)
			VADDPS(Mem{Base: p, Index: o, Scale: 2}.Offset(32*i), a, a)
			VADDPS(float, a, a)
			VMULPS(Mem{Base: s}.Offset(rowW), m1[i], b)
			VADDPS(b, a, a)
			VPSRLD(Imm(19), a, e[i])
		}
		// The context is the number of boundaries that are not above the expectation.
		VPACKUSDW(e[1], e[0], c)
		VPXOR(a, a, a)
		VPXOR(b, b, b)
		for k := range 15 {
			if k == 8 {
				CMPQ(Mem{Base: s}.Offset(rowCount), Imm(8))
				JLE(LabelRef(name + "_contexts"))
			}
			VPCMPGTW(Mem{Base: s}.Offset(rowBounds+32*k), c, d)
			if k%2 == 0 {
				VPADDW(d, a, a)
			} else {
				VPADDW(d, b, b)
			}
		}
		Label(name + "_contexts")
		VPADDW(b, a, a)
		VPXOR(b, b, b)
		VPUNPCKLWD(a, b, e[0])
		VPUNPCKHWD(a, b, e[1])
		VPSRAD(Imm(5), e[0], e[0])
		VPSRAD(Imm(5), e[1], e[1])
		MOVQ(Mem{Base: s}.Offset(rowNorth), p)
		VMOVDQU(Mem{Base: p, Index: o, Scale: 1}, signs)
		VPSRLW(Imm(14), signs, signs)
		VPMULLW(nine, signs, signs)
		VMOVDQU(Mem{Base: p, Index: o, Scale: 1}.Offset(-32), a)
		VPSRLW(Imm(14), a, a)
		VPADDW(a, signs, signs)
		MOVQ(Mem{Base: s}.Offset(rowBelow), p)
		VMOVDQU(Mem{Base: p, Index: o, Scale: 1}, a)
		VPSRLW(Imm(14), a, a)
		VPMULLW(three, a, a)
		VPADDW(a, signs, signs)
		half(0, masked)
		half(1, masked)
		VPACKUSDW(e[1], e[0], a)
		VPERMQ(Imm(0xd8), a, a)
		VPAND(class, a, b)
		VPSUBUSW(base, b, b)
		VPAND(sign, a, a)
		VPOR(a, b, a)
		MOVQ(Mem{Base: s}.Offset(rowMarks), p)
		VMOVDQU(a, Mem{Base: p, Index: o, Scale: 1})
		MOVQ(Mem{Base: s}.Offset(rowMags), p)
		VMOVDQU(m1[0], Mem{Base: p, Index: o, Scale: 2})
		VMOVDQU(m1[1], Mem{Base: p, Index: o, Scale: 2}.Offset(32))
		ADDQ(Imm(32), o)
		DECQ(n)
		JNZ(LabelRef(name))
	}
	TESTQ(act, act)
	JNZ(LabelRef("masked"))
	step(false)
	MOVQ(Mem{Base: s}.Offset(rowTail), act)
	TESTQ(act, act)
	JZ(LabelRef("done"))
	SUBQ(o, act)
	MOVQ(U32(1), n)
	step(true)
	Label("done")
	for i := range 2 {
		VMOVDQU(x[i], Mem{Base: s}.Offset(rowStates+32*i))
		VMOVDQU(m1[i], Mem{Base: s}.Offset(rowM1+32*i))
	}
	MOVQ(left, Mem{Base: s}.Offset(rowLeft))
	SHRQ(Imm(5), o)
	Store(o, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// neighbours is the sum of the neighbours in earlier rows.
func neighbours(taps int) {
	TEXT(fmt.Sprintf("neighbours%dAVX2", taps), NOSPLIT, "func(dst *float32, from *[10]*float32, factors *[10]float32, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("neighbours%dAVX2 sets dst to n sums, a multiple of 8, of the first %d of from times their factors.", taps, taps))
	ps, fs := Load(Param("from"), GP64()), Load(Param("factors"), GP64())
	var w [10]reg.VecVirtual
	for i := range taps {
		w[i] = YMM()
		VBROADCASTSS(Mem{Base: fs}.Offset(4*i), w[i])
	}
	var p [10]reg.GPVirtual
	for i := range taps {
		p[i] = mustLoad(ps, 8*i)
	}
	dst, n, o := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), GP64()
	XORQ(o, o)
	each("sums", n, 8, func() {
		v, t := YMM(), YMM()
		VMULPS(Mem{Base: p[0], Index: o, Scale: 1}, w[0], v)
		for i := 1; i < taps; i++ {
			VMULPS(Mem{Base: p[i], Index: o, Scale: 1}, w[i], t)
			VADDPS(t, v, v)
		}
		VMOVUPS(v, Mem{Base: dst, Index: o, Scale: 1})
		ADDQ(Imm(32), o)
	})
	VZEROUPPER()
	RET()
}
