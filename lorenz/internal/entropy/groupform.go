package entropy

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// The group coder stores residuals in groups of 32. A group has a class c that follows
// its magnitude. c = 0 means all zeros. Otherwise the k = max(0, c-5) low bits of each
// value are stored unchanged, and the bits above them as a symbol in one of up to six
// streams, chosen by the class.
const (
	GroupLen = 32
	nStreams = 6
)

// Flags of a group stream. Bits 3 to 7 are the merged streams: bit 3+i is set if
// stream i+1 continues stream i.
const (
	groupsTZ       = 1 << 0 // trailing zeros common to a group are cut off
	groupsUnsigned = 1 << 1 // values are unsigned, without zigzag
	groupsMerge    = 3
)

// lowBits returns how many low bits of values of a class are stored unchanged.
func lowBits(c uint8) uint {
	if c <= 5 {
		return 0
	}
	return uint(c) - 5
}

// streamOf returns the stream of each class below 6 for the flags. Larger classes are
// in the stream of class 6, the last entry.
func streamOf(flags byte) (s [nStreams + 1]uint8) {
	n := uint8(0)
	for i := 1; i < nStreams; i++ {
		s[i] = n
		if flags>>(groupsMerge+i-1)&1 == 0 {
			n++
		}
	}
	s[nStreams] = n
	return s
}

// How the symbols of a stream are formed. Part of the format.
const (
	pack1 = 0 // one value a symbol
	pack2 = 1 // two values of 4 bits, the first one low, 15 for larger ones
	pack4 = 2 // four values of 2 bits, 3 for larger ones
)

// LogFrac is the number of fractional bits of Log2.
const LogFrac = 10

// Log2 approximates Log2(2u+1) + 1 in units of 2^-LogFrac. Only the encoder
// depends on it.
func Log2[T Lane](u T) uint64 {
	if LaneBits[T]() == 32 {
		return uint64(kernels.Log(uint32(u))) - 126<<LogFrac
	}
	x := uint64(u)<<1 | 1
	n := uint64(bits.Len64(x))
	if uint64(u)>>63 != 0 {
		return 66 << LogFrac
	}
	return n<<LogFrac | x<<(64-n)<<1>>(64-LogFrac)
}
