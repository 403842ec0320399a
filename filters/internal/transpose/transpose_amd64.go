//go:build !purego

package transpose

import "golang.org/x/sys/cpu"

// The kernels in transpose_amd64.s move 32 elements of 2, 4 or 8 bytes at a time with
// AVX2. Next to a fast decoder, the 64-bit words of transpose.go take more than half of
// the time of a block. With AVX2, a chain of shuffle and lz4 decodes twice as fast, and
// one of shuffle and zstd 1.1 times as fast. Microseconds for 256 KiB in cache on an
// AMD EPYC of family 26, where a copy takes 2.0:
//
//	          words             AVX2
//	size      2     4     8     2     4     8
//	shuffle   51    37    32    3.7   2.6   3.0
//	unshuffle 51    38    37    2.4   2.0   2.3
//
// AVX-512 has little to gain over this. To measure, without kernels and with:
//
//	go test -run '^$' -bench "Shuffle|Coder/decode" -tags purego ./filters
//	go test -run '^$' -bench 'Shuffle|Coder/decode' ./filters/internal/transpose ./filters

// useAVX2 is a variable so that tests can switch it.
var useAVX2 = cpu.X86.HasAVX2

// shuffleFast moves n elements like Shuffle and returns how many it moved.
func shuffleFast(dst, src []byte, n, size int) int {
	if !useAVX2 || n < 32 {
		return 0
	}
	_, _ = dst[n*size-1], src[n*size-1]
	switch size {
	case 2:
		shuffle2AVX2(&dst[0], &src[0], n)
	case 4:
		shuffle4AVX2(&dst[0], &src[0], n)
	case 8:
		shuffle8AVX2(&dst[0], &src[0], n)
	default:
		return 0
	}
	return n
}

// unshuffleFast moves n elements like Unshuffle and returns how many it moved.
func unshuffleFast(dst, src []byte, n, size int) int {
	if !useAVX2 || n < 32 {
		return 0
	}
	_, _ = dst[n*size-1], src[n*size-1]
	switch size {
	case 2:
		unshuffle2AVX2(&dst[0], &src[0], n)
	case 4:
		unshuffle4AVX2(&dst[0], &src[0], n)
	case 8:
		unshuffle8AVX2(&dst[0], &src[0], n)
	default:
		return 0
	}
	return n
}

// The kernels move n elements, at least 32; dst and src must not overlap.

//go:noescape
func shuffle2AVX2(dst, src *byte, n int)

//go:noescape
func shuffle4AVX2(dst, src *byte, n int)

//go:noescape
func shuffle8AVX2(dst, src *byte, n int)

//go:noescape
func unshuffle2AVX2(dst, src *byte, n int)

//go:noescape
func unshuffle4AVX2(dst, src *byte, n int)

//go:noescape
func unshuffle8AVX2(dst, src *byte, n int)
