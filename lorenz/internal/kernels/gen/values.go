package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
	// Numbers below 256 become bytes. Halves of vectors are packed apart.
	VPACKUSDW(y[1], y[0], y[0])
	VPACKUSDW(y[3], y[2], y[2])
	VPACKUSWB(y[2], y[0], y[0])
	at := YMM()
	VMOVDQU(places(), at)
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

// stopAt writes the end of a loop over step elements: it leaves the loop if any lane of bad
// is not 0, otherwise moves on, and stores how many elements were done.
func stopAt(bad reg.VecVirtual, at, n reg.Register, step uint64) {
	VPTEST(bad, bad)
	JNZ(LabelRef("done"))
	ADDQ(Imm(step), at)
	CMPQ(at, n)
	JNE(LabelRef("loop"))
	Label("done")
	Store(at, Return("done"))
	VZEROUPPER()
	RET()
}

// double loads the argument c, a double.
func double() reg.VecVirtual {
	x, y := Load(Param("c"), XMM()).(reg.VecVirtual), YMM()
	VBROADCASTSD(x.AsX(), y)
	return y
}

func multiples() {
	TEXT("multiplesAVX2", NOSPLIT, "func(k, y *uint32, n int, c float32) (done int)")
	Pragma("noescape")
	Doc("multiplesAVX2 is Multiples for n elements, a multiple of 8.")
	k, y, n := Load(Param("k"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	c, at := YMM(), GP64()
	x := Load(Param("c"), XMM()).(reg.VecVirtual)
	VBROADCASTSS(x.AsX(), c)
	top, none, ones := broadcast(1<<31), YMM(), YMM()
	VPXOR(none, none, none)
	VPCMPEQD(ones, ones, ones)
	XORQ(at, at)
	u, f, i, bad, t := YMM(), YMM(), YMM(), YMM(), YMM()
	Label("loop")
	VMOVDQU(Mem{Base: y, Index: at, Scale: 4}, u)
	VPXOR(ones, u, t)
	VPSRAD(Imm(31), t, t)
	VPOR(top, t, t)
	VPXOR(t, u, u)
	VMULPS(c, u, f)
	VCVTTPS2DQ(f, i)
	VCVTDQ2PS(i, t)
	const notEqual = 4 // true for NaN
	VCMPPS(Imm(notEqual), t, f, bad)
	// Only +0 is 0, and the smallest integer is out of range.
	VPCMPEQD(none, i, t)
	VPAND(u, t, t)
	VPOR(t, bad, bad)
	VPCMPEQD(top, i, t)
	VPOR(t, bad, bad)
	VMOVDQU(i, Mem{Base: k, Index: at, Scale: 4})
	stopAt(bad, at, n, 8)
}

func numerators() {
	TEXT("numeratorsAVX2", NOSPLIT, "func(k, y *uint32, n int, c float64, single float32) (done int)")
	Pragma("noescape")
	Doc("numeratorsAVX2 is Numerators for n elements, a multiple of 8. single is c, which is a float.")
	k, y, n := Load(Param("k"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	c, s, at := double(), YMM(), GP64()
	VBROADCASTSS(NewParamAddr("single", 32), s)
	half, r := YMM(), GP64()
	MOVQ(U64(0x4338000000000000), r) // 3 << 51
	VMOVQ(r, half.AsX())
	VBROADCASTSD(half.AsX(), half)
	top, ones := broadcast(1<<31), YMM()
	VPCMPEQD(ones, ones, ones)
	XORQ(at, at)
	u, t, bad := YMM(), YMM(), YMM()
	f := []reg.VecVirtual{YMM(), YMM()}
	Label("loop")
	VMOVDQU(Mem{Base: y, Index: at, Scale: 4}, u)
	VPXOR(ones, u, t)
	VPSRAD(Imm(31), t, t)
	VPOR(top, t, t)
	VPXOR(t, u, u)
	VEXTRACTF128(Imm(1), u, t.AsX())
	VCVTPS2PD(u.AsX(), f[0])
	VCVTPS2PD(t.AsX(), f[1])
	for _, f := range f {
		VMULPD(c, f, f)
		VADDPD(half, f, f)
		VSUBPD(half, f, f)
		VCVTTPD2DQY(f, f.AsX())
	}
	i := f[0]
	VINSERTI128(Imm(1), f[1].AsX(), i, i)
	VMOVDQU(i, Mem{Base: k, Index: at, Scale: 4})
	// The absolute value must be below 1 << 24. Others are 1 << 31.
	VPABSD(i, bad)
	VPSRLD(Imm(24), bad, bad)
	// A quotient of two floats is the same in single precision and, rounded, in double precision.
	VCVTDQ2PS(i, t)
	VDIVPS(s, t, t)
	VPCMPEQD(u, t, t)
	VPXOR(ones, t, t)
	VPOR(t, bad, bad)
	stopAt(bad, at, n, 8)
}
