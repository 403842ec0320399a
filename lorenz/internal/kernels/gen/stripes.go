// Mode 8: what is stored beside stripes, and marks in order.

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
