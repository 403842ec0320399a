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
