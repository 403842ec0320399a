// Mode 8: the encoder's side of low bits.

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lowLen sets a to the absolute value of x, and b to how many low bits its class has.
func lowLen(x, a, b, exponent, zero reg.VecVirtual) {
	floatOf(x, a, b)
	VPSRLD(Imm(24), b, b)
	VPSUBD(exponent, b, b)
	VPMAXSD(zero, b, b)
}

// lowCount counts low bits.
func lowCount() {
	TEXT("lowCountAVX2", NOSPLIT, "func(r *uint32, n int) uint32")
	Pragma("noescape")
	Doc("lowCountAVX2 returns how many low bits n residuals have, a multiple of 8 and not 0.")
	r, n := Load(Param("r"), GP64()), Load(Param("n"), GP64())
	sum, exponent, zero, x, a, b := YMM(), broadcast(128), YMM(), YMM(), YMM(), YMM()
	VPXOR(sum, sum, sum)
	VPXOR(zero, zero, zero)
	each("count", n, 8, func() {
		VMOVDQU(Mem{Base: r}, x)
		lowLen(x, a, b, exponent, zero)
		VPADDD(b, sum, sum)
		ADDQ(Imm(32), r)
	})
	out := GP32()
	total(sum, out)
	Store(out, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// putLow writes low bits: those of four residuals at once if they are few, else those of two or one.
func putLow() {
	TEXT("putLowAVX2", NOSPLIT, "func(dst *byte, r *uint32, n int, t uint32, acc, have uint64) (size int, rest, left uint64)")
	Pragma("noescape")
	Doc("putLowAVX2 writes the low bits of n residuals, a multiple of 8 and not 0, above t trailing zeros. have bits",
		"in acc come first. It returns how many bytes it wrote, and what does not fill one.")
	dst, r, n := Load(Param("dst"), GP64()), Load(Param("r"), GP64()), Load(Param("n"), GP64())
	acc, have := Load(Param("acc"), GP64()), GP64()
	Load(Param("have"), have)
	zeros, exponent, one, zero := YMM(), broadcast(128), broadcast(1), YMM()
	VMOVD(Load(Param("t"), GP32()), zeros.AsX())
	VPBROADCASTD(zeros.AsX(), zeros)
	VPXOR(zero, zero, zero)
	most, even := wide(56), YMM()
	VPCMPEQD(even, even, even)
	VPSRLQ(Imm(32), even, even)
	v, size, tmp, rest := GP64(), GP64(), GP64(), GP64()
	put := func() {
		SHLXQ(have, v, tmp)
		ORQ(tmp, acc)
		MOVQ(acc, Mem{Base: dst})
		ADDQ(size, have)
		MOVQ(have, rest)
		MOVQ(have, tmp)
		SHRQ(Imm(3), tmp)
		ADDQ(tmp, dst)
		ANDL(Imm(56), rest.As32())
		SHRXQ(rest, acc, acc)
		ANDL(Imm(7), have.As32())
	}
	// all writes the elements of 64 bits that are chosen.
	all := func(bits, sizes reg.VecVirtual, elements ...uint64) {
		xb, xs := XMM(), XMM()
		half := uint64(0)
		VMOVDQA(bits.AsX(), xb)
		VMOVDQA(sizes.AsX(), xs)
		for _, e := range elements {
			if e/2 != half {
				half = e / 2
				VEXTRACTI128(Imm(1), bits, xb)
				VEXTRACTI128(Imm(1), sizes, xs)
			}
			VPEXTRQ(Imm(e%2), xb, v)
			VPEXTRQ(Imm(e%2), xs, size)
			put()
		}
	}
	x, a, b, c, d := YMM(), YMM(), YMM(), YMM(), YMM()
	mask := GP32()
	fits := func(sizes reg.VecVirtual, otherwise string) {
		t := YMM()
		VPCMPGTQ(most, sizes, t)
		VMOVMSKPD(t, mask)
		TESTL(mask, mask)
		JNZ(LabelRef(otherwise))
	}
	Label("low")
	VMOVDQU(Mem{Base: r}, x)
	lowLen(x, a, b, exponent, zero)
	VPSUBD(zeros, b, b)
	VPMAXSD(zero, b, b)
	VPSRLVD(zeros, a, a)
	VPSLLVD(b, one, c)
	VPSUBD(one, c, c)
	VPAND(c, a, a)
	// Two: a has their bits, b their sizes.
	VPSRLQ(Imm(32), a, c)
	VPSRLQ(Imm(32), b, d)
	VPAND(even, a, a)
	VPAND(even, b, b)
	x2, y2 := YMM(), YMM()
	VPSLLVQ(b, c, x2)
	VPOR(a, x2, x2)
	VPADDQ(d, b, y2)
	// Four, in elements 0 and 2.
	x4, y4 := YMM(), YMM()
	VPSRLDQ(Imm(8), x2, x4)
	VPSLLVQ(y2, x4, x4)
	VPOR(x2, x4, x4)
	VPSRLDQ(Imm(8), y2, y4)
	VPADDQ(y2, y4, y4)
	fits(y4, "two")
	all(x4, y4, 0, 2)
	Label("next")
	ADDQ(Imm(32), r)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("low"))
	JMP(LabelRef("end"))
	Label("two")
	fits(y2, "single")
	all(x2, y2, 0, 1, 2, 3)
	JMP(LabelRef("next"))
	Label("single")
	VPUNPCKLQDQ(c, a, x2)
	VPUNPCKHQDQ(c, a, x4)
	VPUNPCKLQDQ(d, b, y2)
	VPUNPCKHQDQ(d, b, y4)
	all(x2, y2, 0, 1)
	all(x4, y4, 0, 1)
	all(x2, y2, 2, 3)
	all(x4, y4, 2, 3)
	JMP(LabelRef("next"))
	Label("end")
	MOVQ(dst, v)
	SUBQ(Load(Param("dst"), GP64()), v)
	Store(v, ReturnIndex(0))
	Store(acc, ReturnIndex(1))
	Store(have, ReturnIndex(2))
	VZEROUPPER()
	RET()
}
