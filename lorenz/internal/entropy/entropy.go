// Package entropy codes sequences of symbols, numbers and residuals for lorenz:
// bit strings, Huffman codes, streams that can be entered at every chunk, and
// groups of residuals. docs/LORENZ.md specifies the bytes.
package entropy

import "math/bits"

// Lane is an integer that holds one transformed value. All arithmetic on lanes
// is modulo 2^32 or 2^64.
type Lane interface{ uint32 | uint64 }

// LaneBits returns the bits of a lane.
func LaneBits[T Lane]() uint {
	return uint(bits.Len64(uint64(^T(0))))
}

// Grow returns a slice of length n, s itself if it is large enough. Its
// contents are undefined.
func Grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
