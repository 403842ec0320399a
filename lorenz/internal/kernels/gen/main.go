// Command gen writes the assembly of package kernels for amd64. Users of cdfz do not
// depend on avo, since this is another module.
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

// mustLoad loads the 8 bytes at an offset.
func mustLoad(base reg.Register, offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(Mem{Base: base}.Offset(offset), r)
	return r
}
