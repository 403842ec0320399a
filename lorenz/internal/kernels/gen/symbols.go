// Mode 8: the encoder's side of contexts. Elements are in steps of 16, one of each stripe.

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// words16 returns a vector of sixteen 16-bit constants in memory.
func words16(name string, v uint16) Mem { return constant(name, uint32(v)<<16|uint32(v)) }

func symbols() {
	classes()
	cover()
	expectations()
	contextSymbols()
	sides()
	dot()
	lowCount()
	putLow()
	encodeSteps()
}

// floatOf sets f to 2 × the bits of the float that is next below the absolute value of x, which a becomes.
// No bit below the ninth of the number moves up by rounding.
func floatOf(x, a, f reg.VecVirtual) {
	VPABSD(x, a)
	VPSRLD(Imm(9), a, f)
	VPANDN(a, f, f)
	VCVTDQ2PS(f, f)
	VPADDD(f, f, f) // 2^31 was taken for negative
}

// classes is the transposition of a row, and the classes, magnitudes and signs of it.
func classes() {
	one, none, base := constant("classOne", 1), constant("classNone", 1<<14), constant("classBase", 254)
	TEXT("classesAVX2", NOSPLIT, "func(mags *float32, marks *uint16, line *uint32, starts *[16]int)")
	Pragma("noescape")
	Doc("classesAVX2 sets the magnitudes and marks of 8 steps.")
	mags, marks := Load(Param("mags"), GP64()), Load(Param("marks"), GP64())
	line, starts := Load(Param("line"), GP64()), Load(Param("starts"), GP64())
	var a, b [4]reg.VecVirtual
	for i := range 4 {
		a[i], b[i] = YMM(), YMM()
	}
	m, f, sign := YMM(), YMM(), YMM()
	for h := range 2 { // of the stripes
		for from := 0; from < 8; from += 4 {
			for i := range 4 {
				VMOVDQU(Mem{Base: line, Index: mustLoad(starts, 8*(8*h+i)), Scale: 4}.Offset(4*from), a[i].AsX())
				VINSERTI128(Imm(1), Mem{Base: line, Index: mustLoad(starts, 8*(8*h+i+4)), Scale: 4}.Offset(4*from), a[i], a[i])
			}
			for i := range 2 {
				VPUNPCKLDQ(a[2*i+1], a[2*i], b[2*i])
				VPUNPCKHDQ(a[2*i+1], a[2*i], b[2*i+1])
			}
			for i := range 2 {
				VPUNPCKLQDQ(b[2+i], b[i], a[2*i])
				VPUNPCKHQDQ(b[2+i], b[i], a[2*i+1])
			}
			for i, x := range a {
				floatOf(x, m, f)
				VPCMPEQD(one, m, m) // the magnitude of 1 is 1.5
				VPSRLD(Imm(23), f, f)
				VPSUBD(m, f, m)
				VPSLLD(Imm(22), m, f)
				VMOVDQU(f, Mem{Base: mags}.Offset(64*(from+i)+32*h))
				VMOVDQU(none, sign)
				VPSIGND(x, sign, sign)
				VPADDD(none, sign, sign)
				VPSUBUSW(base, m, m)
				VPOR(sign, m, x)
			}
			for i := 0; i < 4; i += 2 {
				VPACKUSDW(a[i+1], a[i], a[i])
				VPERMQ(Imm(0xd8), a[i], a[i])
				VMOVDQU(a[i].AsX(), Mem{Base: marks}.Offset(32*(from+i)+16*h))
				VEXTRACTI128(Imm(1), a[i], Mem{Base: marks}.Offset(32*(from+i+1)+16*h))
			}
		}
	}
	VZEROUPPER()
	RET()
}

// cover is what masked elements are to their neighbours.
func cover() {
	hidden := words16("coverHidden", 1<<14|1<<13)
	TEXT("coverAVX2", NOSPLIT, "func(mags *float32, marks, active *uint16, before *float32, n int)")
	Pragma("noescape")
	Doc("coverAVX2 is Cover for n steps.")
	mags, marks, active := Load(Param("mags"), GP64()), Load(Param("marks"), GP64()), Load(Param("active"), GP64())
	before, n := Load(Param("before"), GP64()), Load(Param("n"), GP64())
	last := [2]reg.VecVirtual{YMM(), YMM()}
	for i := range last {
		VMOVDQU(Mem{Base: before}.Offset(32*i), last[i])
	}
	a, m := YMM(), YMM()
	each("cover", n, 1, func() {
		VMOVDQU(Mem{Base: active}, a)
		VMOVDQU(hidden, m)
		VPBLENDVB(a, Mem{Base: marks}, m, m)
		VMOVDQU(m, Mem{Base: marks})
		for i := range last {
			VPMOVSXWD(Mem{Base: active}.Offset(16*i), a)
			VBLENDVPS(a, Mem{Base: mags}.Offset(32*i), last[i], last[i])
			VMOVDQU(last[i], Mem{Base: mags}.Offset(32*i))
		}
		ADDQ(Imm(32), active)
		ADDQ(Imm(32), marks)
		ADDQ(Imm(64), mags)
	})
	VZEROUPPER()
	RET()
}

// expectations adds W and WW to the sums of other neighbours.
func expectations() {
	octaves := words16("expectOctaves", 2032)
	TEXT("expectationsAVX2", NOSPLIT, "func(dst *uint16, sums, mags, north *float32, w, ww float32, n int)")
	Pragma("noescape")
	Doc("expectationsAVX2 is Expectations for n steps.")
	dst, sums, mags := Load(Param("dst"), GP64()), Load(Param("sums"), GP64()), Load(Param("mags"), GP64())
	north, n := Load(Param("north"), GP64()), Load(Param("n"), GP64())
	w, ww, one := YMM(), YMM(), broadcast(0x3f800000)
	for i, v := range []reg.VecVirtual{w, ww} {
		Load(Param([]string{"w", "ww"}[i]), v.AsX())
		VBROADCASTSS(v.AsX(), v)
	}
	var m1, m2, e [2]reg.VecVirtual
	for i := range 2 {
		m1[i], m2[i], e[i] = YMM(), YMM(), YMM()
		VMOVDQU(Mem{Base: north}.Offset(32*i), m1[i])
		VMOVDQA(m1[i], m2[i])
	}
	t := YMM()
	each("expect", n, 1, func() {
		for i := range 2 {
			VMULPS(ww, m2[i], e[i])
			VADDPS(Mem{Base: sums}.Offset(32*i), e[i], e[i])
			VADDPS(one, e[i], e[i])
			VMULPS(w, m1[i], t)
			VADDPS(t, e[i], e[i])
			VPSRLD(Imm(19), e[i], e[i])
			VMOVDQA(m1[i], m2[i])
			VMOVDQU(Mem{Base: mags}.Offset(32*i), m1[i])
		}
		VPACKUSDW(e[1], e[0], t)
		VPERMQ(Imm(0xd8), t, t)
		VPSUBW(octaves, t, t)
		VMOVDQU(t, Mem{Base: dst})
		ADDQ(Imm(32), dst)
		ADDQ(Imm(64), sums)
		ADDQ(Imm(64), mags)
	})
	VZEROUPPER()
	RET()
}

// contextSymbols makes symbols of contexts and classes.
func contextSymbols() {
	class, certain := words16("symbolClass", 127), words16("symbolCertain", 2048)
	TEXT("symbolsAVX2", NOSPLIT, "func(y, marks *uint16, bounds *[15][16]int16, count, n int)")
	Pragma("noescape")
	Doc("symbolsAVX2 is Symbols for n steps.")
	y, marks, bounds := Load(Param("y"), GP64()), Load(Param("marks"), GP64()), Load(Param("bounds"), GP64())
	count, n := Load(Param("count"), GP64()), Load(Param("n"), GP64())
	e, a, b, c := YMM(), YMM(), YMM(), YMM()
	each("symbols", n, 1, func() {
		VMOVDQU(Mem{Base: y}, e)
		VPXOR(a, a, a)
		VPXOR(b, b, b)
		for k := range 15 {
			if k == 8 {
				CMPQ(count, Imm(8))
				JLE(LabelRef("counted"))
			}
			VPCMPGTW(Mem{Base: bounds}.Offset(32*k), e, c)
			if k%2 == 0 {
				VPADDW(c, a, a)
			} else {
				VPADDW(c, b, b)
			}
		}
		Label("counted")
		VPADDW(b, a, a) // minus the context
		VMOVDQU(Mem{Base: marks}, b)
		VPSLLW(Imm(7), a, a)
		VPAND(class, b, c)
		VPSUBW(a, c, c)
		VPSLLW(Imm(2), b, b)
		VPSRAW(Imm(15), b, b) // hidden
		VPBLENDVB(b, certain, c, c)
		VMOVDQU(c, Mem{Base: y})
		ADDQ(Imm(32), y)
		ADDQ(Imm(32), marks)
	})
	VZEROUPPER()
	RET()
}

// sides makes symbols of sign contexts and signs.
func sides() {
	class, two, three := words16("sideClass", 127), words16("sideTwo", 2), words16("sideThree", 3)
	none := words16("sideNone", 1)
	TEXT("sidesAVX2", NOSPLIT, "func(dst, marks, north, below *uint16, factors *[4][16]uint16, n int)")
	Pragma("noescape")
	Doc("sidesAVX2 is Sides for n steps.")
	dst, marks, north := Load(Param("dst"), GP64()), Load(Param("marks"), GP64()), Load(Param("north"), GP64())
	below, factors, n := Load(Param("below"), GP64()), Load(Param("factors"), GP64()), Load(Param("n"), GP64())
	west, sum, t, mark := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(none, west)
	each("sides", n, 1, func() {
		VPMULLW(Mem{Base: factors}, west, sum)
		for i, m := range []Mem{{Base: north}, {Base: below}, Mem{Base: north}.Offset(-32)} {
			VMOVDQU(m, t)
			VPSRLW(Imm(14), t, t)
			VPMULLW(Mem{Base: factors}.Offset(32*(i+1)), t, t)
			VPADDW(t, sum, sum)
		}
		VMOVDQU(Mem{Base: marks}, mark)
		VPSRLW(Imm(14), mark, west)
		VPADDW(west, sum, sum)
		VPAND(class, mark, t)
		VPMINUW(two, t, t)
		VPMULLW(three, t, t)
		VPADDW(t, sum, sum)
		VMOVDQU(sum, Mem{Base: dst})
		for _, p := range []reg.Register{dst, marks, north, below} {
			ADDQ(Imm(32), p)
		}
	})
	VZEROUPPER()
	RET()
}

// dot is a sum of products.
func dot() {
	TEXT("dotAVX2", NOSPLIT, "func(a, b *int16, n int) int32")
	Pragma("noescape")
	Doc("dotAVX2 returns the sum of n products, a multiple of 16 and not 0.")
	a, b, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	sum, t := YMM(), YMM()
	VPXOR(sum, sum, sum)
	each("dot", n, 16, func() {
		VMOVDQU(Mem{Base: a}, t)
		VPMADDWD(Mem{Base: b}, t, t)
		VPADDD(t, sum, sum)
		ADDQ(Imm(32), a)
		ADDQ(Imm(32), b)
	})
	out := GP32()
	total(sum, out)
	Store(out, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// total sets out to the sum of the elements of a vector.
func total(sum reg.VecVirtual, out reg.GPVirtual) {
	x, t := sum.AsX(), XMM()
	VEXTRACTI128(Imm(1), sum, t)
	VPADDD(t, x, x)
	for _, order := range []uint64{0x4e, 0xb1} {
		VPSHUFD(Imm(order), x, t)
		VPADDD(t, x, x)
	}
	VMOVD(x, out)
}

// encodeSteps is the encoding of a row.
func encodeSteps() {
	word := constant("encodeWord", 1<<16-1)
	TEXT("encodeAVX2", NOSPLIT, "func(states *[16]uint32, symbols, sides *uint16, classes, signs *uint64, pushes *[256][8]byte, words *byte, end, n int) (start int)")
	Pragma("noescape")
	Doc("encodeAVX2 is Encode for n steps. It returns where the words that it wrote before end start.")
	states, symbols, sides := Load(Param("states"), GP64()), Load(Param("symbols"), GP64()), Load(Param("sides"), GP64())
	classes, signs, pushes := Load(Param("classes"), GP64()), Load(Param("signs"), GP64()), Load(Param("pushes"), GP64())
	words, end, o := Load(Param("words"), GP64()), Load(Param("end"), GP64()), Load(Param("n"), GP64())
	SHLQ(Imm(5), o)
	x := [2]reg.VecVirtual{YMM(), YMM()}
	for i := range x {
		VMOVDQU(Mem{Base: states}.Offset(32*i), x[i])
	}
	even, one := YMM(), broadcast(1)
	VPCMPEQD(even, even, even)
	VPSRLQ(Imm(32), even, even)
	m := GP64()
	ce, co, cd, cs := YMM(), YMM(), YMM(), YMM()
	se, so, sd, ss := YMM(), YMM(), YMM(), YMM()
	q, t, c := YMM(), YMM(), YMM()
	// look sets e and o to the codes of eight symbols, and d and start to the slots and the first slot.
	look := func(at Mem, codes reg.Register, e, o, d, start reg.VecVirtual) {
		VPMOVZXWD(at, start)
		VPAND(even, start, d)
		VPCMPEQD(t, t, t)
		VPGATHERQQ(t, Mem{Base: codes, Index: d, Scale: 8}, e)
		VPSRLQ(Imm(32), start, start)
		VPCMPEQD(t, t, t)
		VPGATHERQQ(t, Mem{Base: codes, Index: start, Scale: 8}, o)
		VPSRLQ(Imm(32), e, start)
		VPBLENDD(Imm(0xaa), o, start, start)
		VPSRLD(Imm(16), start, d)
	}
	signSlots, classSlots := constant("encodeSigns", 32), constant("encodeSlots", 2048)
	// code replaces the states by those after symbols with d of all slots.
	code := func(x, e, o, d, start reg.VecVirtual, slots Mem) {
		VPMULUDQ(e, x, q)
		VPSRLQ(Imm(32), x, t)
		VPMULUDQ(o, t, t)
		VPSRLQ(Imm(32), q, q)
		VPBLENDD(Imm(0xaa), t, q, q)
		VPMULLD(d, q, t)
		VPSUBD(t, x, t) // the remainder, or d more if q is 1 too small
		VPSUBD(one, d, c)
		VPCMPGTD(c, t, t)
		VPSUBD(t, q, q)
		VMOVDQU(slots, c)
		VPSUBD(d, c, c)
		VPMULLD(c, q, q)
		VPAND(word, start, t)
		VPADDD(t, x, x)
		VPADDD(q, x, x)
	}
	each("step", o, 32, func() {
		for i := 1; i >= 0; i-- {
			look(Mem{Base: symbols, Index: o, Scale: 1}.Offset(16*i-32), classes, ce, co, cd, cs)
			look(Mem{Base: sides, Index: o, Scale: 1}.Offset(16*i-32), signs, se, so, sd, ss)
			// States that would become too large shed a word.
			keep := q
			VPMULLD(cd, sd, keep)
			VPSRLD(Imm(16), x[i], t)
			VPCMPGTD(t, keep, keep)
			VMOVMSKPS(keep, m.As32())
			XORL(Imm(255), m.As32())
			VBLENDVPS(keep, x[i], t, t)
			VPMOVZXBD(Mem{Base: pushes, Index: m, Scale: 8}, keep)
			VPERMD(x[i], keep, keep)
			VMOVDQA(t, x[i])
			VPAND(word, keep, keep)
			VPACKUSDW(keep, keep, keep)
			VPERMQ(Imm(0xd8), keep, keep)
			VMOVDQU(keep.AsX(), Mem{Base: words, Index: end, Scale: 1}.Offset(-16))
			POPCNTL(m.As32(), m.As32())
			SUBQ(m, end)
			SUBQ(m, end)
			code(x[i], se, so, sd, ss, signSlots)
			code(x[i], ce, co, cd, cs, classSlots)
		}
	})
	for i := range x {
		VMOVDQU(x[i], Mem{Base: states}.Offset(32*i))
	}
	Store(end, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
