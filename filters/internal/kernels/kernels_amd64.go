//go:build !purego

package kernels

import "golang.org/x/sys/cpu"

var useAVX2 = cpu.X86.HasAVX2

// SplitBits writes bit b of all bytes of src, the first lowest, to the eighth b of dst,
// which is as long. It returns how many bytes of each eighth are done.
func SplitBits(dst, src []byte) int {
	n := len(src) / 32
	if !useAVX2 || n == 0 {
		return 0
	}
	_ = dst[len(src)-1]
	splitBitsAVX2(&dst[0], &src[0], n, len(src)/8)
	return 4 * n
}

// JoinBits undoes [SplitBits] and returns the same.
func JoinBits(dst, src []byte) int {
	n := len(src) / 32
	if !useAVX2 || n == 0 {
		return 0
	}
	_ = dst[len(src)-1]
	joinBitsAVX2(&dst[0], &src[0], n, len(src)/8)
	return 4 * n
}

// Fletcher computes the sums of p, at most [MaxSums] bytes, and returns how many bytes
// they cover.
func Fletcher(s *Sums, p []byte) int {
	n := len(p) / 32
	if !useAVX2 || n == 0 {
		return 0
	}
	sumsAVX2(&s.lanes[0], &p[0], n)
	return 32 * n
}
