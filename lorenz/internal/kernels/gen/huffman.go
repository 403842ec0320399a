package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// apart is kernels.Apart.
const apart = 512

func decode8() {
	TEXT("decode8BMI2", NOSPLIT, "func(d *byte, n int, src *byte, p *[8]uint64, table *[2048]uint16)")
	Pragma("noescape")
	Doc("decode8BMI2 decodes eight strings of n symbols, a multiple of 5, to places 512 bytes apart.")
	d, src, table := Load(Param("d"), reg.RDI), Load(Param("src"), GP64()), Load(Param("table"), GP64())
	tables := make([]reg.Register, 8)
	for i := range tables {
		tables[i] = table
	}
	strings(d, src, tables)
}

func decode4() {
	TEXT("decode4BMI2", NOSPLIT, "func(d *byte, n int, src *byte, p *[4]uint64, tables *[4]*[2048]uint16)")
	Pragma("noescape")
	Doc("decode4BMI2 decodes four strings of n symbols, a multiple of 5, to places 512 bytes apart. Each has a table.")
	d, src, from := Load(Param("d"), reg.RDI), Load(Param("src"), GP64()), Load(Param("tables"), GP64())
	tables := make([]reg.Register, 4)
	for i := range tables {
		tables[i] = mustLoad(from, 8*i)
	}
	strings(d, src, tables)
}

// strings decodes strings with these tables.
func strings(d, src reg.Register, tables []reg.Register) {
	ps := Load(Param("p"), GP64())
	p := make([]reg.GPVirtual, len(tables))
	for i := range p {
		p[i] = mustLoad(ps, 8*i)
	}
	n, width := NewParamAddr("n", 8), GP64()
	MOVL(U32(11), width.As32())
	Label("loop")
	for i, t := range tables {
		five(src, t, p[i], width, Mem{Base: d}.Offset(apart*i))
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

// five decodes five symbols at bit p of src to dst, and adds their bits to p. width is the bits of
// the table's index.
func five(src, table reg.Register, p, width reg.GPVirtual, dst Mem) {
	// The upper byte of AX is stored as it is. Such stores need a base below R8.
	v, e, sum := GP64(), reg.RAX, GP64()
	MOVQ(p, v)
	SHRQ(Imm(3), v)
	MOVQ(Mem{Base: src, Index: v, Scale: 1}, v)
	MOVQ(p, e)
	ANDL(Imm(7), e.As32())
	SHRXQ(e, v, v)
	for j := range 5 {
		BZHIL(width.As32(), v.As32(), e.As32())
		MOVWLZX(Mem{Base: table, Index: e, Scale: 2}, e.As32())
		if j < 4 {
			SHRXQ(e, v, v) // by the low byte, the bits of the word
		}
		if j == 0 {
			MOVL(e.As32(), sum.As32())
		} else {
			ADDL(e.As32(), sum.As32()) // the low bytes, at most 55, do not overflow
		}
		MOVB(reg.AH, dst.Offset(j))
	}
	MOVBLZX(sum.As8L(), sum.As32())
	ADDQ(sum, p)
}

func words() {
	TEXT("wordsBMI2", NOSPLIT, "func(dst, syms *byte, n int, words *[256]uint32, acc, bits uint64) (done int, rest, left uint64)")
	Pragma("noescape")
	Doc("wordsBMI2 is Words for n symbols, a multiple of 4 and not 0.")
	dst, syms, n := Load(Param("dst"), GP64()), Load(Param("syms"), GP64()), Load(Param("n"), GP64())
	table, acc, bits := Load(Param("words"), GP64()), Load(Param("acc"), GP64()), Load(Param("bits"), GP64()).(reg.GPVirtual)
	s, w := GP64(), GP64()
	each("loop", n, 4, func() {
		for i := range 4 {
			MOVBLZX(Mem{Base: syms}.Offset(i), s.As32())
			MOVL(Mem{Base: table, Index: s, Scale: 4}, s.As32())
			MOVL(s.As32(), w.As32())
			SHRL(Imm(8), w.As32())
			SHLXQ(bits, w, w) // by the low six bits
			ORQ(w, acc)
			ADDQ(s, bits) // the low bytes, at most 51, do not overflow
		}
		MOVQ(acc, Mem{Base: dst})
		MOVBLZX(bits.As8L(), bits.As32())
		MOVL(bits.As32(), s.As32())
		SHRL(Imm(3), s.As32())
		ADDQ(s, dst)
		MOVL(bits.As32(), s.As32())
		ANDL(I8(-8), s.As32())
		SHRXQ(s, acc, acc)
		ANDL(Imm(7), bits.As32())
		ADDQ(Imm(4), syms)
	})
	start := Load(Param("dst"), GP64())
	SUBQ(start, dst)
	Store(dst, Return("done"))
	Store(acc, Return("rest"))
	Store(bits, Return("left"))
	RET()
}
