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
	splitBits()
	joinBits()
	sums()
	Generate()
}

// constant returns a register with the same 32 bytes as v, repeated.
func constant(name string, v ...byte) reg.VecVirtual {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(v[i%len(v)]))
	}
	y := YMM()
	VMOVDQU(m, y)
	return y
}

// splitBits takes the highest bit of 32 bytes at once and then shifts the next one up.
func splitBits() {
	TEXT("splitBitsAVX2", NOSPLIT, "func(dst, src *byte, n, stride int)")
	Pragma("noescape")
	Doc("splitBitsAVX2 writes bit b of n·32 bytes to the n·4 bytes at b·stride.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, stride := Load(Param("n"), GP64()), Load(Param("stride"), GP64())
	last := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, last)
	LEAQ(Mem{Base: last, Index: stride, Scale: 4}, last) // 7·stride
	Label("loop")
	y, bits, at := YMM(), GP32(), GP64()
	VMOVDQU(Mem{Base: src}, y)
	MOVQ(dst, at)
	ADDQ(last, at)
	for b := 7; b >= 0; b-- {
		VPMOVMSKB(y, bits)
		MOVL(bits, Mem{Base: at})
		if b > 0 {
			SUBQ(stride, at)
			VPADDB(y, y, y)
		}
	}
	ADDQ(Imm(32), src)
	ADDQ(Imm(4), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// joinBits gathers eight bytes of one position each in a word, and exchanges bits within it.
func joinBits() {
	TEXT("joinBitsAVX2", NOSPLIT, "func(dst, src *byte, n, stride int)")
	Pragma("noescape")
	Doc("joinBitsAVX2 undoes splitBitsAVX2.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, stride := Load(Param("n"), GP64()), Load(Param("stride"), GP64())
	columns := constant("columns", 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
	mask7 := constant("mask7", 0xaa, 0, 0xaa, 0, 0xaa, 0, 0xaa, 0)
	mask14 := constant("mask14", 0xcc, 0xcc, 0, 0, 0xcc, 0xcc, 0, 0)
	mask28 := constant("mask28", 0xf0, 0xf0, 0xf0, 0xf0, 0, 0, 0, 0)
	Label("loop")
	at := GP64()
	MOVQ(src, at)
	half := [2]reg.VecVirtual{XMM(), XMM()}
	for h, x := range half {
		VMOVD(Mem{Base: at}, x)
		for j := 1; j < 4; j++ {
			ADDQ(stride, at)
			VPINSRD(Imm(uint64(j)), Mem{Base: at}, x, x)
		}
		if h == 0 {
			ADDQ(stride, at)
		}
		VPSHUFB(columns.AsX(), x, x)
	}
	y, high := YMM(), XMM()
	VPUNPCKHDQ(half[1], half[0], high)
	VPUNPCKLDQ(half[1], half[0], y.AsX())
	VINSERTI128(Imm(1), high, y, y)
	for _, s := range []struct {
		n    uint64
		mask reg.VecVirtual
	}{{7, mask7}, {14, mask14}, {28, mask28}} {
		t, u := YMM(), YMM()
		VPSRLQ(Imm(s.n), y, t)
		VPXOR(y, t, t)
		VPAND(s.mask, t, t)
		VPSLLQ(Imm(s.n), t, u)
		VPXOR(t, y, y)
		VPXOR(u, y, y)
	}
	VMOVDQU(y, Mem{Base: dst})
	ADDQ(Imm(32), dst)
	ADDQ(Imm(4), src)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// sums adds the high and the low bytes of words apart.
func sums() {
	TEXT("sumsAVX2", NOSPLIT, "func(out *uint64, src *byte, n int)")
	Pragma("noescape")
	Doc("sumsAVX2 computes the sums of n·32 bytes.")
	out, src, n := Load(Param("out"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	var highWeights, lowWeights []byte
	for j := range 16 {
		highWeights = append(highWeights, byte(16-j), 0)
		lowWeights = append(lowWeights, 0, byte(16-j))
	}
	wh, wl := constant("highWeights", highWeights...), constant("lowWeights", lowWeights...)
	lowBytes := constant("lowBytes", 0, 0xff)
	ones := constant("ones", 1, 0)
	sum, prefix, high, low, zero := YMM(), YMM(), YMM(), YMM(), YMM()
	for _, y := range []reg.VecVirtual{sum, prefix, high, low, zero} {
		VPXOR(y, y, y)
	}
	Label("loop")
	y, a, b := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: src}, y)
	VPADDQ(sum, prefix, prefix)
	VPAND(lowBytes, y, a)
	VPSADBW(zero, a, a)
	VPADDQ(a, sum, sum)
	VPANDN(y, lowBytes, b)
	VPSADBW(zero, b, b)
	VPSLLQ(Imm(8), b, b)
	VPADDQ(b, sum, sum)
	c, d := YMM(), YMM()
	VPMADDUBSW(wh, y, c)
	VPMADDWD(ones, c, c)
	VPADDD(c, high, high)
	VPMADDUBSW(wl, y, d)
	VPMADDWD(ones, d, d)
	VPADDD(d, low, low)
	ADDQ(Imm(32), src)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for i, y := range []reg.VecVirtual{sum, prefix, high, low} {
		VMOVDQU(y, Mem{Base: out, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}
