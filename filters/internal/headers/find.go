package headers

import (
	"encoding/binary"
	"math/bits"
)

// The search for repeats: chains of places with the same hash of four bytes, and the last place with the same two and
// the same three bytes.

const (
	hashBits  = 13
	hash3Bits = 12
	hash2Bits = 12

	// places of a chain that are compared, and the length of a repeat that ends the search
	quickTries, quickEnough = 8, 32
	tries, enough           = 24, 64
)

// finder finds earlier occurrences of the next bytes. Places are counted from 1 in the tables.
type finder struct {
	buf   []byte
	from  int // where the block begins, after the dictionary
	head4 [1 << hashBits]uint32
	head3 [1 << hash3Bits]uint32
	head2 [1 << hash2Bits]uint32
	prev  []uint32
}

// match is a repeat of n bytes, at a distance less 1.
type match struct {
	n    int
	dist uint32
}

func hash4(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 0x9E3779B1 >> (32 - hashBits) }

func hash3(b []byte) uint32 {
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16) * 0x9E3779B1 >> (32 - hash3Bits)
}

func hash2(b []byte) uint32 { return (uint32(b[0]) | uint32(b[1])<<8) * 0x9E3779B1 >> (32 - hash2Bits) }

func (f *finder) insert(at int) {
	b := f.buf[at:]
	if len(b) < 4 {
		return
	}
	h := hash4(b)
	f.prev[at], f.head4[h] = f.head4[h], uint32(at+1)
	f.head3[hash3(b)] = uint32(at + 1)
	f.head2[hash2(b)] = uint32(at + 1)
}

// find appends the nearest repeats of the bytes at a place, each longer than the one before it.
func (f *finder) find(out []match, at, tries, enough int) []match {
	b := f.buf[at:]
	if len(b) < 4 {
		return out
	}
	most, best := min(len(b), maxMatch), 1
	try := func(place uint32) {
		if place == 0 {
			return
		}
		j := int(place) - 1
		if n := common(f.buf[j:], b[:most]); n > best {
			best = n
			out = append(out, match{n, uint32(at - j - 1)})
		}
	}
	try(f.head2[hash2(b)])
	try(f.head3[hash3(b)])
	place := f.head4[hash4(b)]
	for range tries {
		if place == 0 || best >= most || best >= enough {
			break
		}
		if j := int(place) - 1; f.buf[j+best] == b[best] {
			try(place)
		}
		place = f.prev[place-1]
	}
	return out
}

// common counts the equal bytes at the start of a and b.
func common(a, b []byte) int {
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
