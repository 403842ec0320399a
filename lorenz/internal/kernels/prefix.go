package kernels

import (
	"encoding/binary"
	"math/bits"
)

// CommonPrefix returns the number of equal bytes at the start of a and b. a must be at least as long as b.
func CommonPrefix(a, b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
