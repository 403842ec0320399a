package kernels

import "unsafe"

// Groups is the state of joining symbols and low bits to groups of 32 numbers.
type Groups struct {
	next    [32]uint32 // for each class below 32 the offset of its stream in this struct
	Group   int        // the next group
	Low     int        // its low bits begin at this byte
	Streams [7]Joined
}

// Joined is the position in a stream of symbols.
type Joined struct {
	Sym   int // the next symbol
	Place int // where to keep the place of the next group
}

// SetStream sets the stream of a class below 32.
func (g *Groups) SetStream(class, stream int) {
	g.next[class] = uint32(unsafe.Offsetof(g.Streams)) + uint32(unsafe.Sizeof(Joined{}))*uint32(stream)
}

// Join joins groups of signed numbers from at.Group on, as many as it can, which may be none, and updates
// at. It sets d to the numbers of all groups, whose upper bits are symbols and whose lower bits are in low:
// as many as the class is larger than 5. They are shifted left by zeros, unless that is nil. The groups of
// class 0 have neither. For each of the others it sets the next one of places to its number, and to
// the offset of its low bits in the upper half. syms and places must be long enough for all groups.
func Join(d []uint32, class, zeros, low, syms []byte, places []uint64, at *Groups) {
	joinFast(d, class, zeros, low, syms, places, at)
}
