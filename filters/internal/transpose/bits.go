package transpose

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/kernels"
)

// BitShuffle writes bit b of byte j of all elements, eight to a byte and the first lowest,
// to plane 8j+b, as bitshuffle does. The number of elements of size bytes is a multiple
// of 8. tmp, dst and src have the same length and must not overlap.
func BitShuffle(dst, src, tmp []byte, size int) {
	Shuffle(tmp, src, size)
	n := len(src) / size
	for j := range size {
		splitBits(dst[j*n:j*n+n], tmp[j*n:j*n+n])
	}
}

// BitUnshuffle undoes [BitShuffle].
func BitUnshuffle(dst, src, tmp []byte, size int) {
	n := len(src) / size
	for j := range size {
		joinBits(tmp[j*n:j*n+n], src[j*n:j*n+n])
	}
	Unshuffle(dst, tmp, size)
}

// splitBits writes bit b of all bytes to the eighth b of dst.
func splitBits(dst, src []byte) {
	n := len(src) / 8
	for i := kernels.SplitBits(dst, src); i < n; i++ {
		x := flip8(binary.LittleEndian.Uint64(src[8*i:]))
		for b := range 8 {
			dst[b*n+i] = byte(x >> (8 * b))
		}
	}
}

// joinBits undoes splitBits.
func joinBits(dst, src []byte) {
	n := len(src) / 8
	for i := kernels.JoinBits(dst, src); i < n; i++ {
		var x uint64
		for b := range 8 {
			x |= uint64(src[b*n+i]) << (8 * b)
		}
		binary.LittleEndian.PutUint64(dst[8*i:], flip8(x))
	}
}

// flip8 exchanges bit b of byte i with bit i of byte b (Warren, Hacker's Delight,
// 7-3).
func flip8(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}
