package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// pack writes a function that joins two or four bytes, each at most most, to one. factors are
// those of each pair.
func pack(name, of string, per int, most, factors uint32) {
	TEXT(name, NOSPLIT, "func(dst, v *byte, n int)")
	Pragma("noescape")
	Doc(name + " is " + of + " for n bytes of v, a multiple of 64.")
	dst, v, n := Load(Param("dst"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	limit, pairs, two := broadcast(most), broadcast(factors), broadcast(16<<16|1)
	a, b := YMM(), YMM()
	each("loop", n, 64, func() {
		VPMINUB(Mem{Base: v}, limit, a)
		VPMADDUBSW(pairs, a, a)
		VPMINUB(Mem{Base: v}.Offset(32), limit, b)
		VPMADDUBSW(pairs, b, b)
		if per == 4 {
			VPMADDWD(two, a, a)
			VPMADDWD(two, b, b)
			VPACKUSDW(b, a, a)
			VPERMQ(Imm(0xD8), a, a)
			VPACKUSWB(a, a, a)
			VPERMQ(Imm(0xD8), a, a)
			VMOVDQU(a.AsX(), Mem{Base: dst})
		} else {
			VPACKUSWB(b, a, a)
			VPERMQ(Imm(0xD8), a, a)
			VMOVDQU(a, Mem{Base: dst})
		}
		ADDQ(Imm(64), v)
		ADDQ(Imm(uint64(64/per)), dst)
	})
	VZEROUPPER()
	RET()
}
