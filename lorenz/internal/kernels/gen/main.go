// Command gen writes the assembly of package kernels for amd64. It is a module of
// its own, so that users of cdfz do not depend on avo.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	swap("putAVX2", "func(dst *byte, src *uint32, n int)", "writes n integers, a multiple of 8, as big-endian bytes.")
	swap("loadAVX2", "func(dst *uint32, src *byte, n int)", "reads n big-endian integers, a multiple of 8.")
	putOrdered()
	order()
	prefixSum()
	addStride()
	subtract()
	quotients()
	products()
	join()
	logs()
	classify()
	split()
	expand()
	stamp()
	decode4()
	decode8()
	Generate()
}

var bytes Mem

// swapper loads the shuffle that swaps the bytes of 32-bit elements.
func swapper() reg.VecVirtual {
	if bytes.Symbol.Name == "" {
		bytes = GLOBL("byteOrder", RODATA|NOPTR)
		for i, v := range []uint32{0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f} {
			DATA(4*i, U32(v))
		}
	}
	y := YMM()
	VMOVDQU(bytes, y)
	return y
}

// broadcast returns a vector of eight 32-bit constants.
func broadcast(v uint32) reg.VecVirtual {
	r, y := GP32(), YMM()
	MOVL(U32(v), r)
	VMOVD(r, y.AsX())
	VPBROADCASTD(y.AsX(), y)
	return y
}

// each writes a loop over n elements, step at a time. n is a multiple of step and
// not 0.
func each(label string, n reg.Register, step uint32, body func()) {
	Label(label)
	body()
	SUBQ(Imm(uint64(step)), n)
	JNZ(LabelRef(label))
}

func swap(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	order := swapper()
	y := YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: src}, y)
		VPSHUFB(order, y, y)
		VMOVDQU(y, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

func putOrdered() {
	TEXT("putOrderedAVX2", NOSPLIT, "func(dst *byte, y *uint32, n int)")
	Pragma("noescape")
	Doc("putOrderedAVX2 writes n floats, a multiple of 8, that are given as ordered integers.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	order, top := swapper(), broadcast(1<<31)
	ones := YMM()
	VPCMPEQD(ones, ones, ones)
	y, m := YMM(), YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: src}, y)
		VPXOR(ones, y, m)
		VPSRAD(Imm(31), m, m)
		VPOR(top, m, m)
		VPXOR(m, y, y)
		VPSHUFB(order, y, y)
		VMOVDQU(y, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

func order() {
	TEXT("orderAVX2", NOSPLIT, "func(dst, u *uint32, n int)")
	Pragma("noescape")
	Doc("orderAVX2 maps the bits of n floats, a multiple of 8, to ordered integers.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("u"), GP64()), Load(Param("n"), GP64())
	top := broadcast(1 << 31)
	y, m := YMM(), YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: src}, y)
		VPSRAD(Imm(31), y, m)
		VPOR(top, m, m)
		VPXOR(m, y, y)
		VMOVDQU(y, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

func prefixSum() {
	TEXT("prefixSumAVX2", NOSPLIT, "func(y *uint32, n int)")
	Pragma("noescape")
	Doc("prefixSumAVX2 replaces n elements, a multiple of 8, by the sums up to them.")
	at, n := Load(Param("y"), GP64()), Load(Param("n"), GP64())
	carry, last, low := YMM(), broadcast(7), YMM()
	third := broadcast(3)
	VPXOR(carry, carry, carry)
	zero := YMM()
	VPXOR(zero, zero, zero)
	y, z := YMM(), YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: at}, y)
		VPSLLDQ(Imm(4), y, z)
		VPADDD(z, y, y)
		VPSLLDQ(Imm(8), y, z)
		VPADDD(z, y, y)
		// The sum of the first half is added to the second one.
		VPERMD(y, third, low)
		VPBLENDD(Imm(0xF0), low, zero, low)
		VPADDD(low, y, y)
		VPERMD(y, last, z)
		VPADDD(carry, y, y)
		VPADDD(z, carry, carry)
		VMOVDQU(y, Mem{Base: at})
		ADDQ(Imm(32), at)
	})
	VZEROUPPER()
	RET()
}

func addStride() {
	TEXT("addAVX2", NOSPLIT, "func(to, from *uint32, n int)")
	Pragma("noescape")
	Doc("addAVX2 adds n elements from from to those at to, in order. n is a multiple of 8, and to lies at least 8 elements after from.")
	to, from, n := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("n"), GP64())
	y := YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: from}, y)
		VPADDD(Mem{Base: to}, y, y)
		VMOVDQU(y, Mem{Base: to})
		ADDQ(Imm(32), from)
		ADDQ(Imm(32), to)
	})
	VZEROUPPER()
	RET()
}

func subtract() {
	TEXT("subtractAVX2", NOSPLIT, "func(dst, a, b *uint32, n int)")
	Pragma("noescape")
	Doc("subtractAVX2 sets dst to a - b for n elements, a multiple of 8.")
	dst, a, b, n := Load(Param("dst"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	y := YMM()
	each("loop", n, 8, func() {
		VMOVDQU(Mem{Base: a}, y)
		VPSUBD(Mem{Base: b}, y, y)
		VMOVDQU(y, Mem{Base: dst})
		ADDQ(Imm(32), a)
		ADDQ(Imm(32), b)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

func quotients() {
	TEXT("putQuotientsAVX2", NOSPLIT, "func(dst *byte, y *uint32, n int, d float64, single float32)")
	Pragma("noescape")
	Doc("putQuotientsAVX2 writes n integers, a multiple of 8, divided by d as floats. single is d if that is a",
		"float, else 0.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	d, s, zero, exact := YMM(), YMM(), YMM(), YMM()
	VBROADCASTSD(NewParamAddr("d", 24), d)
	VBROADCASTSS(NewParamAddr("single", 32), s)
	VXORPS(zero, zero, zero)
	VCMPPS(Imm(4), zero, s, exact) // not equal
	order := swapper()
	ints, y, z, back := YMM(), YMM(), YMM(), YMM()
	all := GP32()
	Label("loop")
	// A quotient of two floats is the same in single precision and, rounded, in
	// double precision.
	VMOVDQU(Mem{Base: src}, ints)
	VCVTDQ2PS(ints, y)
	VCVTPS2DQ(y, back)
	VPCMPEQD(ints, back, back)
	VPAND(exact, back, back)
	VMOVMSKPS(back, all)
	CMPL(all, Imm(255))
	JNE(LabelRef("double"))
	VDIVPS(s, y, y)
	Label("write")
	VPSHUFB(order, y, y)
	VMOVDQU(y, Mem{Base: dst})
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
	Label("double")
	VCVTDQ2PD(Mem{Base: src}, y)
	VDIVPD(d, y, y)
	VCVTPD2PSY(y, y.AsX())
	VCVTDQ2PD(Mem{Base: src}.Offset(16), z)
	VDIVPD(d, z, z)
	VCVTPD2PSY(z, z.AsX())
	VINSERTF128(Imm(1), z.AsX(), y, y)
	JMP(LabelRef("write"))
}

func products() {
	TEXT("putProductsAVX2", NOSPLIT, "func(dst *byte, y *uint32, n int, d float64)")
	Pragma("noescape")
	Doc("putProductsAVX2 writes n integers, a multiple of 4, multiplied by d as floats.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	d := YMM()
	VBROADCASTSD(NewParamAddr("d", 24), d)
	order := swapper()
	y := YMM()
	each("loop", n, 4, func() {
		VCVTDQ2PD(Mem{Base: src}, y)
		VMULPD(d, y, y)
		VCVTPD2PSY(y, y.AsX())
		VPSHUFB(order.AsX(), y.AsX(), y.AsX())
		VMOVDQU(y.AsX(), Mem{Base: dst})
		ADDQ(Imm(16), src)
		ADDQ(Imm(16), dst)
	})
	VZEROUPPER()
	RET()
}

func split() {
	TEXT("splitBMI2", NOSPLIT, "func(sym *[32]byte, low *byte, u *[32]uint32, k uint64) (or uint32)")
	Pragma("noescape")
	Doc("splitBMI2 is Split. It writes up to 8 bytes after the low bits.")
	sym, low, u := Load(Param("sym"), GP64()), Load(Param("low"), GP64()), Load(Param("u"), GP64())
	k := Load(Param("k"), GP64())
	kx := XMM()
	VMOVQ(k, kx)
	y := []reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
	all := YMM()
	for i := range y {
		VMOVDQU(Mem{Base: u}.Offset(32*i), y[i])
		VPSRLD(kx, y[i], y[i])
	}
	VPOR(y[0], y[1], all)
	VPOR(y[2], all, all)
	VPOR(y[3], all, all)
	bits := GP32()
	sumOf(all, or, bits)
	Store(bits, Return("or"))
	// Numbers below 128 become bytes. Halves of vectors are packed apart.
	VPACKUSDW(y[1], y[0], y[0])
	VPACKUSDW(y[3], y[2], y[2])
	VPACKUSWB(y[2], y[0], y[0])
	places := GLOBL("packed", RODATA|NOPTR)
	for i, v := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(v))
	}
	at := YMM()
	VMOVDQU(places, at)
	VPERMD(y[0], at, y[0])
	VMOVDQU(y[0], Mem{Base: sym})
	VZEROUPPER()
	TESTQ(k, k)
	JZ(LabelRef("done"))
	mask, one := GP64(), GP64()
	MOVQ(I32(1), one)
	SHLXQ(k, one, mask)
	SUBQ(one, mask)
	high := GP64()
	MOVQ(mask, high)
	SHLQ(Imm(32), high)
	ORQ(high, mask)
	ADDQ(k, k)
	acc, n, v := GP64(), GP64(), GP64()
	XORQ(acc, acc)
	XORQ(n, n)
	for i := range 16 {
		PEXTQ(mask, mustLoad(u, 8*i), v)
		SHLXQ(n, v, v)
		ORQ(v, acc)
		MOVQ(acc, Mem{Base: low})
		ADDQ(k, n)
		bytes := GP64()
		MOVQ(n, bytes)
		SHRQ(Imm(3), bytes)
		ADDQ(bytes, low)
		MOVQ(n, bytes)
		ANDQ(I8(-8), bytes)
		SHRXQ(bytes, acc, acc)
		ANDQ(Imm(7), n)
	}
	Label("done")
	RET()
}

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

// mustLoad loads the 8 bytes at an offset.
func mustLoad(base reg.Register, offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(Mem{Base: base}.Offset(offset), r)
	return r
}

func join() {
	TEXT("joinAVX2", NOSPLIT, "func(d *[32]uint32, sym *[32]byte, low *byte, k, t uint64, w *byte)")
	Pragma("noescape")
	Doc("joinAVX2 joins 32 symbols with their k low bits, k up to 25, and shifts the signed numbers left by t.",
		"It reads up to 16 bytes after the low bits.")
	d, sym, low := Load(Param("d"), GP64()), Load(Param("sym"), GP64()), Load(Param("low"), GP64())
	k, w := Load(Param("k"), GP64()), Load(Param("w"), GP64())
	shuffle, shifts, mask, one, zero := YMM(), YMM(), YMM(), broadcast(1), YMM()
	VMOVDQU(Mem{Base: w}, shuffle)
	VMOVDQU(Mem{Base: w}.Offset(32), shifts)
	VPBROADCASTD(Mem{Base: w}.Offset(64), mask)
	VPXOR(zero, zero, zero)
	kx, tx := XMM(), XMM()
	VMOVQ(k, kx)
	t := Load(Param("t"), GP64())
	VMOVQ(t, tx)
	half := GP64()
	MOVQ(k, half)
	SHRQ(Imm(1), half)
	bits, s, neg := YMM(), YMM(), YMM()
	for i := range 4 {
		VMOVDQU(Mem{Base: low}, bits.AsX())
		VINSERTI128(Imm(1), Mem{Base: low, Index: half, Scale: 1}, bits, bits)
		VPSHUFB(shuffle, bits, bits)
		VPSRLVD(shifts, bits, bits)
		VPAND(mask, bits, bits)
		VPMOVZXBD(Mem{Base: sym}.Offset(8*i), s)
		VPSLLD(kx, s, s)
		VPOR(bits, s, s)
		VPAND(one, s, neg)
		VPSUBD(neg, zero, neg)
		VPSRLD(Imm(1), s, s)
		VPXOR(neg, s, s)
		VPSLLD(tx, s, s)
		VMOVDQU(s, Mem{Base: d}.Offset(32*i))
		if i < 3 {
			ADDQ(k, low)
		}
	}
	VZEROUPPER()
	RET()
}

// sumOf adds up the eight elements of a vector.
func sumOf(y reg.VecVirtual, op func(a, b, c Op), out reg.GPVirtual) {
	x := XMM()
	VEXTRACTI128(Imm(1), y, x)
	op(x, y.AsX(), x)
	z := XMM()
	VPSHUFD(Imm(0x4E), x, z)
	op(z, x, x)
	VPSHUFD(Imm(0xB1), x, z)
	op(z, x, x)
	VMOVD(x, out)
}

func add(a, b, c Op) { VPADDD(a, b, c) }
func or(a, b, c Op)  { VPOR(a, b, c) }

func logs() {
	TEXT("logsAVX2", NOSPLIT, "func(r *[32]uint32) (or, sum uint32)")
	Pragma("noescape")
	Doc("logsAVX2 is Logs.")
	r := Load(Param("r"), GP64())
	y := []reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
	all := YMM()
	for i := range y {
		VMOVDQU(Mem{Base: r}.Offset(32*i), y[i])
	}
	VPOR(y[0], y[1], all)
	VPOR(y[2], all, all)
	VPOR(y[3], all, all)
	bits := GP32()
	sumOf(all, or, bits)
	Store(bits, Return("or"))
	t, tx := GP32(), XMM()
	BSFL(bits, t)
	JNZ(LabelRef("some"))
	XORL(t, t)
	Label("some")
	VMOVD(t, tx)
	four, one, neg, sum := broadcast(0x40800000), broadcast(0x3F800000), YMM(), YMM()
	VPXOR(sum, sum, sum)
	for i := range y {
		VPSRAD(tx, y[i], y[i])
		VPSRAD(Imm(31), y[i], neg)
		VPXOR(neg, y[i], y[i])
		VCVTDQ2PS(y[i], y[i])
		VMULPS(four, y[i], y[i])
		VADDPS(one, y[i], y[i])
		VPSRLD(Imm(13), y[i], y[i])
		VPADDD(y[i], sum, sum)
	}
	out := GP32()
	sumOf(sum, add, out)
	Store(out, Return("sum"))
	VZEROUPPER()
	RET()
}

func classify() {
	TEXT("classifyAVX2", NOSPLIT, "func(u, r *[32]uint32, t uint64) (or, sum uint32)")
	Pragma("noescape")
	Doc("classifyAVX2 is Classify.")
	u, r, t := Load(Param("u"), GP64()), Load(Param("r"), GP64()), Load(Param("t"), GP64())
	tx := XMM()
	VMOVQ(t, tx)
	four, unit, all, sum := broadcast(0x40800000), broadcast(1), YMM(), YMM()
	VPXOR(all, all, all)
	VPXOR(sum, sum, sum)
	y, neg, odd := YMM(), YMM(), YMM()
	for i := range 4 {
		VMOVDQU(Mem{Base: r}.Offset(32*i), y)
		VPSRAD(Imm(31), y, neg)
		VPXOR(neg, y, y)
		VPSRLD(tx, y, y)
		VPAND(unit, neg, neg)
		VPADDD(y, y, odd)
		VPOR(neg, odd, odd)
		VMOVDQU(odd, Mem{Base: u}.Offset(32*i))
		VPOR(odd, all, all)
		// 4m + 2s + 1
		VCVTDQ2PS(y, y)
		VMULPS(four, y, y)
		VPADDD(neg, neg, neg)
		VPADDD(unit, neg, neg)
		VCVTDQ2PS(neg, neg)
		VADDPS(neg, y, y)
		VPSRLD(Imm(13), y, y)
		VPADDD(y, sum, sum)
	}
	out := GP32()
	sumOf(all, or, out)
	Store(out, Return("or"))
	sumOf(sum, add, out)
	Store(out, Return("sum"))
	VZEROUPPER()
	RET()
}

// five decodes five symbols of the string whose next bits are in v to dst and adds their
// bits to p. e is a register.
func five(v, e, p reg.GPVirtual, table reg.Register, dst Mem) {
	for j := range 5 {
		MOVL(v.As32(), e.As32())
		ANDL(U32(2047), e.As32())
		MOVWLZX(Mem{Base: table, Index: e, Scale: 2}, e.As32())
		if j < 4 {
			SHRXQ(e, v, v) // by the low byte, the bits of the word
		}
		bits := GP64()
		MOVBLZX(e.As8L(), bits.As32())
		ADDQ(bits, p)
		SHRL(Imm(8), e.As32())
		MOVB(e.As8L(), dst.Offset(j))
	}
}

func decode8() {
	TEXT("decode8BMI2", NOSPLIT, "func(d *byte, n int, src *byte, p *[8]uint64, table *[2048]uint16)")
	Pragma("noescape")
	Doc("decode8BMI2 decodes eight strings of n symbols, a multiple of 5, to places 1024 bytes apart.")
	d, src, table := Load(Param("d"), GP64()), Load(Param("src"), GP64()), Load(Param("table"), GP64())
	ps := Load(Param("p"), GP64())
	var p [8]reg.GPVirtual
	for i := range p {
		p[i] = GP64()
		MOVQ(Mem{Base: ps}.Offset(8*i), p[i])
	}
	n := NewParamAddr("n", 8)
	Label("loop")
	for i := range p {
		v, e := GP64(), GP64()
		MOVQ(p[i], v)
		MOVQ(p[i], e)
		SHRQ(Imm(3), v)
		ANDL(Imm(7), e.As32())
		SHRXQ(e, Mem{Base: src, Index: v, Scale: 1}, v)
		five(v, e, p[i], table, Mem{Base: d}.Offset(1024*i))
	}
	ADDQ(Imm(5), d)
	SUBQ(Imm(5), n)
	JNZ(LabelRef("loop"))
	again := Load(Param("p"), GP64())
	for i := range p {
		MOVQ(p[i], Mem{Base: again}.Offset(8*i))
	}
	RET()
}

func decode4() {
	TEXT("decode4BMI2", NOSPLIT, "func(d *[4]*byte, n int, src *byte, p *[4]uint64, table *[2048]uint16)")
	Pragma("noescape")
	Doc("decode4BMI2 decodes four strings of n symbols, a multiple of 5.")
	ds, src, table := Load(Param("d"), GP64()), Load(Param("src"), GP64()), Load(Param("table"), GP64())
	ps := Load(Param("p"), GP64())
	var d, p [4]reg.GPVirtual
	for i := range 4 {
		d[i], p[i] = GP64(), GP64()
		MOVQ(Mem{Base: ps}.Offset(8*i), p[i])
	}
	for i := range 4 {
		MOVQ(Mem{Base: ds}.Offset(8*i), d[i])
	}
	n := NewParamAddr("n", 8)
	Label("loop")
	for i := range 4 {
		v, e := GP64(), GP64()
		MOVQ(p[i], v)
		MOVQ(p[i], e)
		SHRQ(Imm(3), v)
		ANDL(Imm(7), e.As32())
		SHRXQ(e, Mem{Base: src, Index: v, Scale: 1}, v)
		five(v, e, p[i], table, Mem{Base: d[i]})
		ADDQ(Imm(5), d[i])
	}
	SUBQ(Imm(5), n)
	JNZ(LabelRef("loop"))
	again := Load(Param("p"), GP64())
	for i := range 4 {
		MOVQ(p[i], Mem{Base: again}.Offset(8*i))
	}
	RET()
}
