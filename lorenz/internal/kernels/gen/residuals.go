package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
	y, carry := YMM(), YMM()
	VPXOR(carry, carry, carry)
	each("loop", n, 8, func() {
		sums(at, y, carry)
		VMOVDQU(y, Mem{Base: at})
		ADDQ(Imm(32), at)
	})
	VZEROUPPER()
	RET()
}

// sums sets y to the sums up to the elements at a place, plus carry, and carry to eight times the
// last sum.
func sums(at reg.Register, y, carry reg.VecVirtual) {
	z := YMM()
	VMOVDQU(Mem{Base: at}, y)
	VPSLLDQ(Imm(4), y, z)
	VPADDD(z, y, y)
	VPSLLDQ(Imm(8), y, z)
	VPADDD(z, y, y)
	// The sum of the first half is added to the second one.
	VPSHUFD(Imm(0xFF), y, z)
	VPERM2I128(Imm(0x08), z, z, z)
	VPADDD(z, y, y)
	VPSHUFD(Imm(0xFF), y, z)
	VPERM2I128(Imm(0x11), z, z, z)
	VPADDD(carry, y, y)
	VPADDD(z, carry, carry)
}

func sumAdd() {
	TEXT("sumAddAVX2", NOSPLIT, "func(to, from *uint32, n int, sum uint32)")
	Pragma("noescape")
	Doc("sumAddAVX2 is SumAdd for n elements, a multiple of 8. to lies at least 8 elements after from, or before it.")
	to, from, n := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("n"), GP64())
	y, carry := YMM(), YMM()
	VMOVD(Load(Param("sum"), GP32()), carry.AsX())
	VPBROADCASTD(carry.AsX(), carry)
	each("loop", n, 8, func() {
		sums(to, y, carry)
		VPADDD(Mem{Base: from}, y, y)
		VMOVDQU(y, Mem{Base: to})
		ADDQ(Imm(32), from)
		ADDQ(Imm(32), to)
	})
	VZEROUPPER()
	RET()
}

func sumBytes() {
	TEXT("sumBytesAVX2", NOSPLIT, "func(b *byte, n int) (most byte)")
	Pragma("noescape")
	Doc("sumBytesAVX2 is SumBytes for n bytes, a multiple of 32 and not 0.")
	b, n := Load(Param("b"), GP64()), Load(Param("n"), GP64())
	last, carry, most := broadcast(0x0F0F0F0F), YMM(), YMM()
	VPXOR(carry, carry, carry)
	VPXOR(most, most, most)
	y, z := YMM(), YMM()
	each("loop", n, 32, func() {
		VMOVDQU(Mem{Base: b}, y)
		for shift := uint64(1); shift < 16; shift *= 2 {
			VPSLLDQ(Imm(shift), y, z)
			VPADDB(z, y, y)
		}
		// The sum of the first half is added to the second one.
		VPSHUFB(last, y, z)
		VPERM2I128(Imm(0x08), z, z, z)
		VPADDB(z, y, y)
		VPADDB(carry, y, y)
		VPSHUFB(last, y, carry)
		VPERM2I128(Imm(0x11), carry, carry, carry)
		VPMAXUB(y, most, most)
		VMOVDQU(y, Mem{Base: b})
		ADDQ(Imm(32), b)
	})
	x, t := XMM(), XMM()
	VEXTRACTI128(Imm(1), most, x)
	VPMAXUB(most.AsX(), x, x)
	for shift := uint64(8); shift > 0; shift /= 2 {
		VPSRLDQ(Imm(shift), x, t)
		VPMAXUB(t, x, x)
	}
	out := GP32()
	VMOVD(x, out)
	Store(out.As8(), Return("most"))
	VZEROUPPER()
	RET()
}

func tally() {
	TEXT("tallyAVX2", NOSPLIT, "func(b *byte, n int, above *[7]uint64)")
	Pragma("noescape")
	Doc("tallyAVX2 adds to above[i] how many of n bytes are above i, for i below 6, and to above[6] the sum of b - 5 over the bytes b above 5.",
		"n is a multiple of 32, not 0 and at most 255 × 32.")
	b, n, above := Load(Param("b"), GP64()), Load(Param("n"), GP64()), Load(Param("above"), GP64())
	var least, count [6]reg.VecVirtual
	for i := range least {
		least[i], count[i] = broadcast(uint32(i+1)*0x01010101), YMM()
		VPXOR(count[i], count[i], count[i])
	}
	zero, over, y, z := YMM(), YMM(), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPXOR(over, over, over)
	each("loop", n, 32, func() {
		VMOVDQU(Mem{Base: b}, y)
		for i := range least {
			VPMAXUB(least[i], y, z)
			VPCMPEQB(z, y, z)
			VPSUBB(z, count[i], count[i])
		}
		VPSUBUSB(least[4], y, y)
		VPSADBW(zero, y, y)
		VPADDQ(y, over, over)
		ADDQ(Imm(32), b)
	})
	sum := GP64()
	for i := range 7 {
		v := over
		if i < len(count) {
			v = count[i]
			VPSADBW(zero, v, v)
		}
		VEXTRACTI128(Imm(1), v, y.AsX())
		VPADDQ(v.AsX(), y.AsX(), y.AsX())
		VPSHUFD(Imm(0x4E), y.AsX(), z.AsX())
		VPADDQ(z.AsX(), y.AsX(), y.AsX())
		VMOVQ(y.AsX(), sum)
		ADDQ(sum, Mem{Base: above}.Offset(8*i))
	}
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
