package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
