package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
