package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func steps() {
	TEXT("stepsAVX2", NOSPLIT, "func(dst, a *float32, n int)")
	Pragma("noescape")
	Doc("stepsAVX2 is Steps for n elements, a multiple of 8.")
	dst, a, n := Load(Param("dst"), GP64()), Load(Param("a"), GP64()), Load(Param("n"), GP64())
	y := YMM()
	each("loop", n, 8, func() {
		step(a, y)
		VMOVUPS(y, Mem{Base: dst})
		advance(dst, a)
	})
	VZEROUPPER()
	RET()
}

// step sets y to the steps at a.
func step(a reg.Register, y reg.VecVirtual) {
	VMOVUPS(Mem{Base: a}.Offset(4), y)
	VSUBPS(Mem{Base: a}, y, y)
}

// advance moves pointers to the next eight elements.
func advance(p ...reg.Register) {
	for _, p := range p {
		ADDQ(Imm(32), p)
	}
}

func corners() {
	TEXT("cornersAVX2", NOSPLIT, "func(dst, a, b, c *float32, n int)")
	Pragma("noescape")
	Doc("cornersAVX2 is Corners for n elements, a multiple of 8.")
	dst, n := Load(Param("dst"), GP64()), Load(Param("n"), GP64())
	a, b, c := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())
	x, y, z := YMM(), YMM(), YMM()
	each("loop", n, 8, func() {
		step(a, x)
		step(b, y)
		step(c, z)
		VSUBPS(z, y, y)
		VADDPS(y, x, x)
		VMOVUPS(x, Mem{Base: dst})
		advance(dst, a, b, c)
	})
	VZEROUPPER()
	RET()
}

func across() {
	TEXT("acrossAVX2", NOSPLIT, "func(dst, a, b, c *float32, n int)")
	Pragma("noescape")
	Doc("acrossAVX2 is Across for n elements, a multiple of 8.")
	dst, n := Load(Param("dst"), GP64()), Load(Param("n"), GP64())
	a, b, c := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())
	y := YMM()
	each("loop", n, 8, func() {
		VMOVUPS(Mem{Base: b}, y)
		VSUBPS(Mem{Base: c}, y, y)
		VADDPS(Mem{Base: a}, y, y)
		VMOVUPS(y, Mem{Base: dst})
		advance(dst, a, b, c)
	})
	VZEROUPPER()
	RET()
}

// floatBits has the constants for the bits of floats.
type floatBits struct{ abs, largest, top, ones reg.VecVirtual }

func newFloatBits() floatBits {
	f := floatBits{broadcast(1<<31 - 1), broadcast(math.Float32bits(1e37)), broadcast(1 << 31), YMM()}
	VPCMPEQD(f.ones, f.ones, f.ones)
	return f
}

// clamp replaces floats that are too large or NaN by +0. t is a register.
func (f floatBits) clamp(p, t reg.VecVirtual) {
	const lessOrEqual = 18 // false for NaN
	VPAND(f.abs, p, t)
	VCMPPS(Imm(lessOrEqual), f.largest, t, t)
	VPAND(t, p, p)
}

// order maps the bits of floats to ordered integers.
func (f floatBits) order(p, t reg.VecVirtual) {
	VPSRAD(Imm(31), p, t)
	VPOR(f.top, t, t)
	VPXOR(t, p, p)
}

// unorder is the inverse of order.
func (f floatBits) unorder(y, t reg.VecVirtual) {
	VPSRAD(Imm(31), y, t)
	VPAND(f.abs, t, t)
	VPXOR(f.ones, y, y)
	VPXOR(t, y, y)
}

func deviations() {
	TEXT("deviationsAVX2", NOSPLIT, "func(r, x *uint32, p *float32, n int)")
	Pragma("noescape")
	Doc("deviationsAVX2 is Deviations for n elements, a multiple of 8.")
	r, x := Load(Param("r"), GP64()), Load(Param("x"), GP64())
	p, n := Load(Param("p"), GP64()), Load(Param("n"), GP64())
	f := newFloatBits()
	y, z, t := YMM(), YMM(), YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: p}, z)
		f.clamp(z, t)
		f.order(z, t)
		VMOVDQU(Mem{Base: x}, y)
		f.order(y, t)
		VPSUBD(z, y, y)
		VMOVDQU(y, Mem{Base: r})
		advance(r, x, p)
	})
	VZEROUPPER()
	RET()
}

func deviate() {
	TEXT("deviateAVX2", NOSPLIT, "func(y *uint32, p *float32, n int)")
	Pragma("noescape")
	Doc("deviateAVX2 is Deviate for n elements, a multiple of 8.")
	y, p, n := Load(Param("y"), GP64()), Load(Param("p"), GP64()), Load(Param("n"), GP64())
	f := newFloatBits()
	v, t := YMM(), YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: p}, v)
		f.clamp(v, t)
		f.order(v, t)
		VPADDD(Mem{Base: y}, v, v)
		f.unorder(v, t)
		VMOVDQU(v, Mem{Base: y})
		advance(y, p)
	})
	VZEROUPPER()
	RET()
}

// transpose swaps the rows and columns of eight vectors of eight elements.
func transpose(r [8]reg.VecVirtual) [8]reg.VecVirtual {
	var t, u [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		t[i], t[i+1] = YMM(), YMM()
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			a, b := YMM(), YMM()
			VUNPCKLPD(t[i+2+j], t[i+j], a)
			VUNPCKHPD(t[i+2+j], t[i+j], b)
			u[i+2*j], u[i+2*j+1] = a, b
		}
	}
	for i := range 4 {
		a, b := YMM(), YMM()
		VPERM2F128(Imm(0x20), u[i+4], u[i], a)
		VPERM2F128(Imm(0x31), u[i+4], u[i], b)
		r[i], r[i+4] = a, b
	}
	return r
}

func follow() {
	TEXT("followAVX2", NOSPLIT, "func(y *[8]*uint32, s *[8]*float32, n int)")
	Pragma("noescape")
	Doc("followAVX2 is Follow for the first n elements, a multiple of 8, of eight rows.")
	ys, ss := Load(Param("y"), GP64()), Load(Param("s"), GP64())
	n := Load(Param("n"), GP64())
	columns := AllocLocal(512) // of integers, then of sums
	at, w := GP64(), YMM()
	XORQ(at, at)
	VXORPS(w, w, w)
	Label("loop")
	loadColumns(columns, ys, at)
	loadColumns(columns.Offset(256), ss, at)
	f := newFloatBits()
	p, t := YMM(), YMM()
	for j := range 8 {
		VADDPS(columns.Offset(256+32*j), w, p)
		f.clamp(p, t)
		f.order(p, t)
		VPADDD(columns.Offset(32*j), p, w)
		f.unorder(w, t)
		VMOVUPS(w, columns.Offset(32*j))
	}
	storeColumns(columns, ys, at)
	ADDQ(Imm(8), at)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// loadColumns stores eight elements of each of eight rows as columns. rows are pointers to the rows.
func loadColumns(columns Mem, rows, at reg.Register) {
	var r [8]reg.VecVirtual
	for j := range r {
		p := GP64()
		MOVQ(Mem{Base: rows}.Offset(8*j), p)
		r[j] = YMM()
		VMOVUPS(Mem{Base: p, Index: at, Scale: 4}, r[j])
	}
	for j, c := range transpose(r) {
		VMOVUPS(c, columns.Offset(32*j))
	}
}

// storeColumns is the inverse of loadColumns.
func storeColumns(columns Mem, rows, at reg.Register) {
	var r [8]reg.VecVirtual
	for j := range r {
		r[j] = YMM()
		VMOVUPS(columns.Offset(32*j), r[j])
	}
	for j, c := range transpose(r) {
		p := GP64()
		MOVQ(Mem{Base: rows}.Offset(8*j), p)
		VMOVUPS(c, Mem{Base: p, Index: at, Scale: 4})
	}
}

func extend() {
	TEXT("extendAVX2", NOSPLIT, "func(y *[8]*uint32, n int)")
	Pragma("noescape")
	Doc("extendAVX2 is Extend for the first n elements, a multiple of 8, of eight rows.")
	ys, n := Load(Param("y"), GP64()), Load(Param("n"), GP64())
	columns := AllocLocal(256)
	at, w, ww := GP64(), YMM(), YMM()
	XORQ(at, at)
	VXORPS(w, w, w)
	VXORPS(ww, ww, ww)
	Label("loop")
	loadColumns(columns, ys, at)
	f := newFloatBits()
	p, t := YMM(), YMM()
	for j := range 8 {
		VSUBPS(ww, w, p)
		VADDPS(p, w, p)
		VMOVAPS(w, ww)
		f.clamp(p, t)
		f.order(p, t)
		VPADDD(columns.Offset(32*j), p, w)
		f.unorder(w, t)
		VMOVUPS(w, columns.Offset(32*j))
	}
	storeColumns(columns, ys, at)
	ADDQ(Imm(8), at)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// wave is the following of rows that need each other.
func wave(deep bool) {
	name := "waveAVX2"
	if deep {
		name = "waveDeepAVX2"
	}
	TEXT(name, NOSPLIT, "func(y *[8]*uint32, north *uint32, past *[8]*uint32, pastNorth *uint32, n int)")
	Pragma("noescape")
	Doc(name+" is wave for n elements, a multiple of 8, of eight rows, of which each is one element behind the one before it.",
		"The 8 elements before can be read. north is the row before the first one.")
	ys, n := Load(Param("y"), GP64()), Load(Param("n"), GP64())
	north := Load(Param("north"), GP64())
	var ps, pastNorth reg.Register
	if deep {
		ps, pastNorth = Load(Param("past"), GP64()), Load(Param("pastNorth"), GP64())
	}
	columns := AllocLocal(512) // of integers, then of values of the plane before
	state := AllocLocal(4 * 32)
	up := GLOBL(name+"Up", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32((i+7)%8))
	}
	// behind sets v to the elements of the rows before, given those of the rows and one of the first.
	behind := func(v, rows reg.VecVirtual, first Mem) {
		t := YMM()
		VMOVDQU(up, v)
		VPERMPS(rows, v, v)
		VBROADCASTSS(first, t)
		VBLENDPS(Imm(1), t, v, v)
	}
	at := GP64()
	MOVQ(I32(-8), at)
	load := func(columns Mem, rows, north reg.Register, last, before int) {
		loadColumns(columns, rows, at)
		v, t := YMM(), YMM()
		VMOVUPS(columns.Offset(7*32), v)
		VMOVUPS(v, state.Offset(32*last))
		VMOVUPS(columns.Offset(6*32), t)
		behind(v, t, Mem{Base: north, Index: at, Scale: 4}.Offset(7*4))
		VMOVUPS(v, state.Offset(32*before))
	}
	load(columns, ys, north, 0, 1)
	if deep {
		load(columns.Offset(256), ps, pastNorth, 2, 3)
	}
	XORQ(at, at)
	Label("loop")
	loadColumns(columns, ys, at)
	if deep {
		loadColumns(columns.Offset(256), ps, at)
	}
	f := newFloatBits()
	w, nw := YMM(), YMM()
	VMOVUPS(state, w)
	VMOVUPS(state.Offset(32), nw)
	p, t, v := YMM(), YMM(), YMM()
	for j := range 8 {
		behind(v, w, Mem{Base: north, Index: at, Scale: 4}.Offset(4*j))
		VSUBPS(nw, v, p)
		VMOVAPS(v, nw)
		if deep {
			pw := YMM()
			VMOVUPS(state.Offset(64), pw)
			behind(v, pw, Mem{Base: pastNorth, Index: at, Scale: 4}.Offset(4*j))
			VSUBPS(state.Offset(96), v, t)
			VMOVUPS(v, state.Offset(96))
			VMOVUPS(columns.Offset(256+32*j), v)
			VMOVUPS(v, state.Offset(64))
			VSUBPS(pw, v, v)
			VSUBPS(t, v, v)
			VADDPS(v, p, p)
		}
		VADDPS(p, w, p)
		f.clamp(p, t)
		f.order(p, t)
		VPADDD(columns.Offset(32*j), p, w)
		f.unorder(w, t)
		VMOVUPS(w, columns.Offset(32*j))
	}
	VMOVUPS(w, state)
	VMOVUPS(nw, state.Offset(32))
	storeColumns(columns, ys, at)
	ADDQ(Imm(8), at)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
