package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

var packed Mem

// places is the order of the fours of bytes of 32 numbers that were packed twice in the halves of
// vectors.
func places() Mem {
	if packed.Symbol.Name == "" {
		packed = GLOBL("packed", RODATA|NOPTR)
		for i, v := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
			DATA(4*i, U32(v))
		}
	}
	return packed
}
