package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func join() {
	TEXT("joinAVX2", NOSPLIT, "func(d *uint32, n int, class, zeros, low *byte, end int, syms *byte, places *uint64, w, at *byte)")
	Pragma("noescape")
	Doc("joinAVX2 is Join for n groups. low has end bytes. zeros may be nil, and at points to a Groups.")
	d, class, zeros, low := Load(Param("d"), GP64()), Load(Param("class"), GP64()), Load(Param("zeros"), GP64()), Load(Param("low"), GP64())
	syms, places := Load(Param("syms"), GP64()), Load(Param("places"), GP64())
	widths, at := Load(Param("w"), GP64()), Load(Param("at"), GP64())
	param := func(name string) Mem {
		p, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		return p.Addr
	}
	n, end := param("n"), param("end")
	const group, offset = 128, 136 // in Groups
	i, off := mustLoad(at, group), mustLoad(at, offset)
	{
		skip := GP64()
		MOVQ(i, skip)
		SHLQ(Imm(7), skip)
		ADDQ(skip, d)
	}
	one, zero := broadcast(1), YMM()
	VPXOR(zero, zero, zero)
	shuffle, shifts, mask, bits, s, neg := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	kx, tx := XMM(), XMM()
	k, next, t, sym := GP64(), GP64(), GP64(), GP64()
	sign := func() {
		VPAND(one, s, neg)
		VPSUBD(neg, zero, neg)
		VPSRLD(Imm(1), s, s)
		VPXOR(neg, s, s)
		VPSLLD(tx, s, s)
	}
	// begin finds the stream, the symbols and the trailing zeros of a group, and keeps its place.
	begin := func(name string) {
		VPXOR(tx, tx, tx)
		TESTQ(zeros, zeros)
		JZ(LabelRef("unshifted" + name))
		MOVBQZX(Mem{Base: zeros, Index: i, Scale: 1}, t)
		VMOVQ(t, tx)
		Label("unshifted" + name)
		ADDQ(at, next)
		MOVQ(Mem{Base: next}.Offset(8), t)
		MOVQ(off, sym)
		SHLQ(Imm(32), sym)
		ORQ(i, sym)
		MOVQ(sym, Mem{Base: places, Index: t, Scale: 8})
		INCQ(t)
		MOVQ(t, Mem{Base: next}.Offset(8))
		MOVQ(Mem{Base: next}, sym)
		LEAQ(Mem{Base: sym}.Offset(32), t)
		MOVQ(t, Mem{Base: next})
		ADDQ(syms, sym)
	}
	CMPQ(i, n)
	JGE(LabelRef("done"))
	Label("group")
	MOVBQZX(Mem{Base: class, Index: i, Scale: 1}, k)
	TESTQ(k, k)
	JZ(LabelRef("zero"))
	CMPQ(k, Imm(maxJoin+5))
	JA(LabelRef("done"))
	MOVLQZX(Mem{Base: at, Index: k, Scale: 4}, next)
	SUBQ(Imm(5), k)
	JBE(LabelRef("symbols"))
	LEAQ(Mem{Base: off, Index: k, Scale: 4}.Offset(16), t)
	CMPQ(t, end)
	JGT(LabelRef("done"))
	begin("")
	IMUL3Q(Imm(68), k, t)
	ADDQ(widths, t)
	VMOVDQU(Mem{Base: t}, shuffle)
	VMOVDQU(Mem{Base: t}.Offset(32), shifts)
	VPBROADCASTD(Mem{Base: t}.Offset(64), mask)
	VMOVQ(k, kx)
	LEAQ(Mem{Base: low, Index: off, Scale: 1}, next)
	MOVQ(k, t)
	SHRQ(Imm(1), t)
	for j := range 4 {
		VMOVDQU(Mem{Base: next}, bits.AsX())
		VINSERTI128(Imm(1), Mem{Base: next, Index: t, Scale: 1}, bits, bits)
		VPSHUFB(shuffle, bits, bits)
		VPSRLVD(shifts, bits, bits)
		VPAND(mask, bits, bits)
		VPMOVZXBD(Mem{Base: sym}.Offset(8*j), s)
		VPSLLD(kx, s, s)
		VPOR(bits, s, s)
		sign()
		VMOVDQU(s, Mem{Base: d}.Offset(32*j))
		if j < 3 {
			ADDQ(k, next)
		}
	}
	LEAQ(Mem{Base: off, Index: k, Scale: 4}, off)
	step := func(again string) {
		SUBQ(I8(-128), d)
		INCQ(i)
		CMPQ(i, n)
		JL(LabelRef(again))
		JMP(LabelRef("done"))
	}
	step("group")
	Label("symbols") // without low bits
	begin("Symbols")
	for j := range 4 {
		VPMOVZXBD(Mem{Base: sym}.Offset(8*j), s)
		sign()
		VMOVDQU(s, Mem{Base: d}.Offset(32*j))
	}
	step("group")
	Label("zero")
	for j := range 4 {
		VMOVDQU(zero, Mem{Base: d}.Offset(32*j))
	}
	step("group")
	Label("done")
	MOVQ(i, Mem{Base: at}.Offset(group))
	MOVQ(off, Mem{Base: at}.Offset(offset))
	VZEROUPPER()
	RET()
}

// maxJoin is the most low bits of joinAVX2.
const maxJoin = 25

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

func price() {
	TEXT("priceAVX2", NOSPLIT, "func(u *[32]uint32, k uint64, prices *[256]uint32) (sum, all uint32)")
	Pragma("noescape")
	Doc("priceAVX2 is Price. all are the bits of the shifted numbers. If that has the highest bit, sum is undefined.")
	u, k, prices := Load(Param("u"), GP64()), Load(Param("k"), GP64()), Load(Param("prices"), GP64())
	kx := XMM()
	VMOVQ(k, kx)
	all, sum, v, mask := YMM(), YMM(), YMM(), YMM()
	VPXOR(all, all, all)
	VPXOR(sum, sum, sum)
	most, base, last := broadcast(191), broadcast(184-126), broadcast(255)
	y, large, len := YMM(), YMM(), YMM()
	for i := range 4 {
		VMOVDQU(Mem{Base: u}.Offset(32*i), y)
		VPSRLD(kx, y, y)
		VPOR(y, all, all)
		// The exponent of a float is the bit length. Without its second bit the number is not
		// rounded up to the next power of two.
		VPCMPGTD(most, y, large)
		VPSRLD(Imm(1), y, len)
		VPANDN(y, len, len)
		VCVTDQ2PS(len, len)
		VPSRLD(Imm(23), len, len)
		VPADDD(base, len, len)
		VPBLENDVB(large, len, y, y)
		VPMINUD(last, y, y) // so that prices are read whatever the numbers are
		VPCMPEQD(mask, mask, mask)
		VPGATHERDD(mask, Mem{Base: prices, Index: y, Scale: 4}, v)
		VPADDD(v, sum, sum)
	}
	out := GP32()
	sumOf(all, or, out)
	Store(out, Return("all"))
	sumOf(sum, add, out)
	Store(out, Return("sum"))
	VZEROUPPER()
	RET()
}

func deltas() {
	TEXT("deltasAVX2", NOSPLIT, "func(r *[32]uint32, y *uint32, back *int, plus, minus int)")
	Pragma("noescape")
	Doc("deltasAVX2 sets r to 32 numbers plus those plus distances back, less those at the minus distances that follow.",
		"There is at least one of the latter.")
	y, back := Load(Param("y"), GP64()), Load(Param("back"), GP64())
	plus, minus := Load(Param("plus"), GP64()), Load(Param("minus"), GP64())
	v := []reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
	for i := range v {
		VMOVDQU(Mem{Base: y}.Offset(32*i), v[i])
	}
	at := GP64()
	next := func() {
		MOVQ(Mem{Base: back}, at)
		NEGQ(at)
		ADDQ(Imm(8), back)
	}
	TESTQ(plus, plus)
	JZ(LabelRef("minus"))
	each("plus", plus, 1, func() {
		next()
		for i := range v {
			VPADDD(Mem{Base: y, Index: at, Scale: 4}.Offset(32*i), v[i], v[i])
		}
	})
	Label("minus")
	each("subtract", minus, 1, func() {
		next()
		for i := range v {
			VPSUBD(Mem{Base: y, Index: at, Scale: 4}.Offset(32*i), v[i], v[i])
		}
	})
	r := Load(Param("r"), GP64())
	for i := range v {
		VMOVDQU(v[i], Mem{Base: r}.Offset(32*i))
	}
	VZEROUPPER()
	RET()
}

// tails has eight numbers of all ones, and then eight zeros: the first n elements of a vector
// are those from 8 - n on.
func tails() Mem {
	m := GLOBL("tails", RODATA|NOPTR)
	for i := range 16 {
		v := uint32(0)
		if i < 8 {
			v = ^v
		}
		DATA(4*i, U32(v))
	}
	return m
}

// counts has the numbers 0 to 7.
func counts() Mem {
	m := GLOBL("counts", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(i))
	}
	return m
}

func predict() {
	TEXT("predictAVX2", NOSPLIT, "func(y *uint32, n int, back *int, plus, minus int, c, step uint32)")
	Pragma("noescape")
	Doc("predictAVX2 sets n numbers, at least 1, to c, c + step and so on, plus those plus distances back, less those at the minus",
		"distances that follow. Distances are at least 8.")
	y, n, back := Load(Param("y"), GP64()), Load(Param("n"), GP64()), Load(Param("back"), GP64())
	plus, minus := Load(Param("plus"), GP64()), Load(Param("minus"), GP64())
	c, v := YMM(), YMM()
	VMOVD(Load(Param("c"), GP32()), c.AsX())
	VPBROADCASTD(c.AsX(), c)
	step, iota := YMM(), YMM()
	VMOVD(Load(Param("step"), GP32()), step.AsX())
	VPBROADCASTD(step.AsX(), step)
	VMOVDQU(counts(), iota)
	VPMULLD(iota, step, iota)
	VPADDD(iota, c, c)
	VPSLLD(Imm(3), step, step)
	at, next, left := GP64(), GP64(), GP64()
	Label("vector")
	VMOVDQA(c, v)
	MOVQ(back, next)
	distances := func(name string, count reg.Register, op func(m, a, b Op)) {
		MOVQ(count, left)
		TESTQ(left, left)
		JZ(LabelRef("no" + name))
		each(name, left, 1, func() {
			MOVQ(Mem{Base: next}, at)
			NEGQ(at)
			op(Mem{Base: y, Index: at, Scale: 4}, v, v)
			ADDQ(Imm(8), next)
		})
		Label("no" + name)
	}
	distances("plus", plus, add)
	distances("minus", minus, func(m, a, b Op) { VPSUBD(m, a, b) })
	CMPQ(n, Imm(8))
	JL(LabelRef("rest"))
	VMOVDQU(v, Mem{Base: y})
	VPADDD(step, c, c)
	ADDQ(Imm(32), y)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("vector"))
	VZEROUPPER()
	RET()
	Label("rest")
	table, mask := GP64(), YMM()
	LEAQ(tails().Offset(32), table)
	NEGQ(n)
	VMOVDQU(Mem{Base: table, Index: n, Scale: 4}, mask)
	VPMASKMOVD(v, mask, Mem{Base: y})
	VZEROUPPER()
	RET()
}

func marks() {
	TEXT("marksAVX2", NOSPLIT, "func(y *[34]uint32, m uint32) (marks uint32)")
	Pragma("noescape")
	Doc("marksAVX2 is Marks.")
	y := Load(Param("y"), GP64())
	m := YMM()
	VMOVD(Load(Param("m"), GP32()), m.AsX())
	VPBROADCASTD(m.AsX(), m)
	out, part := GP32(), GP32()
	one, a, b, c, t := broadcast(1), YMM(), YMM(), YMM(), YMM()
	for i := range 4 {
		VMOVDQU(Mem{Base: y}.Offset(32*i), a)
		VMOVDQU(Mem{Base: y}.Offset(32*i+4), b)
		VMOVDQU(Mem{Base: y}.Offset(32*i+8), c)
		VPSLLD(Imm(1), b, t)
		VPADDD(t, b, b)
		VPSLLD(Imm(2), c, t)
		VPADDD(t, c, c)
		VPADDD(b, a, a)
		VPADDD(c, a, a)
		VPMULLD(m, a, a)
		VPSRLD(Imm(28), a, a)
		VPCMPEQD(one, a, a)
		if i == 0 {
			VMOVMSKPS(a, out)
			continue
		}
		VMOVMSKPS(a, part)
		SHLL(Imm(uint64(8*i)), part)
		ORL(part, out)
	}
	Store(out, Return("marks"))
	VZEROUPPER()
	RET()
}
