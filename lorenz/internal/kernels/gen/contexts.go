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

// ramp fills a part of a table.
func ramp() {
	TEXT("rampAVX2", NOSPLIT, "func(dst *uint32, first uint32, n int)")
	Pragma("noescape")
	Doc("rampAVX2 sets n elements, a multiple of 8, to first and the numbers after it.")
	dst, n := Load(Param("dst"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	VMOVD(Load(Param("first"), GP32()), v.AsX())
	VPBROADCASTD(v.AsX(), v)
	up := GLOBL("rampUp", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(i))
	}
	VPADDD(up, v, v)
	eight := broadcast(8)
	each("ramp", n, 8, func() {
		VMOVDQU(v, Mem{Base: dst})
		VPADDD(eight, v, v)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

// edges is the copying of columns beside stripes.
func edges() {
	// Ones, then zeros: the first lanes of a vector.
	floats, words := GLOBL("edges32", RODATA|NOPTR), Mem{}
	for i := range 32 {
		DATA(4*i, I32(-int32(1-i/16)))
	}
	words = GLOBL("edges16", RODATA|NOPTR)
	for i := range 32 {
		DATA(2*i, I16(-int16(1-i/16)))
	}
	TEXT("edgesAVX2", NOSPLIT, "func(mags *float32, marks *uint16, seg, longer int)")
	Pragma("noescape")
	Doc("edgesAVX2 is Edges.")
	mags, marks := Load(Param("mags"), GP64()), Load(Param("marks"), GP64())
	seg, longer := Load(Param("seg"), GP64()), Load(Param("longer"), GP64())
	for i, size := range []int{4, 4, 2} { // halves of magnitudes, then marks
		step, lanes, masks, base := 16*size, 0, floats, mags
		if i == 1 {
			lanes = 8
		} else if size == 2 {
			masks, base = words, marks
		}
		p, end := GP64(), GP64()
		LEAQ(masks, p)
		if size == 4 {
			MOVQ(longer, end)
			SHLQ(Imm(2), end)
		} else {
			LEAQ(Mem{Base: longer, Index: longer, Scale: 1}, end)
		}
		SUBQ(end, p)
		long, before := YMM(), YMM() // the first stripes, and those after them
		VMOVDQU(Mem{Base: p}.Offset(16*size+lanes*size), long)
		VMOVDQU(Mem{Base: p}.Offset(15*size+lanes*size), before)
		MOVQ(seg, end)
		if size == 4 {
			SHLQ(Imm(6), end)
		} else {
			SHLQ(Imm(5), end)
		}
		ADDQ(base, end)
		at := func(p reg.Register, step16, element int) Mem {
			return Mem{Base: p}.Offset(step16*step + (element+lanes)*size)
		}
		a, b, c := YMM(), YMM(), YMM()
		for k := 1; k <= 2; k++ {
			VMOVDQU(at(end, 1-k, -1), a)
			VMOVDQU(at(end, -k, -1), b)
			VPBLENDVB(before, a, b, a)
			VMOVDQU(a, at(base, -k, 0))
		}
		VMOVDQU(at(base, 0, 1), a)
		VMOVDQU(at(base, 1, 1), b)
		VMOVDQU(at(end, 0, 0), c)
		VPBLENDVB(long, c, a, c)
		VMOVDQU(c, at(end, 0, 0))
		VPBLENDVB(long, a, b, a)
		VMOVDQU(a, at(end, 1, 0))
		even := fmt.Sprint("even", i)
		TESTQ(longer, longer)
		JZ(LabelRef(even))
		VMOVDQU(b, at(end, 2, 0))
		Label(even)
		// The first stripe has none before it, and the last one none after it.
		v := GP32()
		load := MOVL
		if size == 2 {
			load = MOVWLZX
		}
		if i != 1 {
			load(at(base, 0, 0), v)
			for k := 1; k <= 2; k++ {
				put(size, v, at(base, -k, 0))
			}
		}
		if i != 0 {
			load(at(end, -1, 15-lanes), v)
			for k := range 2 {
				put(size, v, at(end, k, 15-lanes))
			}
		}
	}
	VZEROUPPER()
	RET()
}

// put stores an element of 2 or 4 bytes.
func put(size int, v reg.GPVirtual, m Mem) {
	if size == 2 {
		MOVW(v.As16(), m)
	} else {
		MOVL(v, m)
	}
}

// active is the expansion of the bits of masked elements.
func active() {
	bit := [8]Mem{}
	for i := range bit {
		bit[i] = GLOBL(fmt.Sprint("activeBit", i), RODATA|NOPTR)
		for k := range 8 {
			DATA(4*k, U32(1<<i|1<<(16+i)))
		}
	}
	TEXT("activeAVX2", NOSPLIT, "func(dst *uint16, masked *uint64, starts *[16]int, at int)")
	Pragma("noescape")
	Doc("activeAVX2 sets dst to 0xffff for elements that are not masked, and to 0 for others: of 16 stripes,",
		"8 elements from element at on. starts are where the stripes begin.")
	dst, masked := Load(Param("dst"), GP64()), Load(Param("masked"), GP64())
	starts, at := Load(Param("starts"), GP64()), Load(Param("at"), GP64())
	v := YMM()
	VPXOR(v, v, v)
	for q := range 16 {
		p, w := GP64(), GP32()
		MOVQ(Mem{Base: starts}.Offset(8*q), p)
		ADDQ(at, p)
		i := GP64()
		MOVQ(p, i)
		SHRQ(Imm(3), i)
		MOVWLZX(Mem{Base: masked, Index: i, Scale: 1}, w)
		ANDL(Imm(7), p.As32())
		SHRXL(p.As32(), w, w)
		VPINSRB(Imm(uint64(q)), w, v.AsX(), v.AsX())
	}
	zero, t := YMM(), YMM()
	VPMOVZXBW(v.AsX(), v)
	VPXOR(zero, zero, zero)
	for i := range 8 {
		VPAND(bit[i], v, t)
		VPCMPEQW(zero, t, t)
		VMOVDQU(t, Mem{Base: dst}.Offset(32*i))
	}
	VZEROUPPER()
	RET()
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
