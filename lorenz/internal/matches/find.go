package matches

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// The search for copies: chains of places with the same hash of four bytes, and the last place with the same two and the
// same three bytes.

const (
	hash4Bits = 14
	hash3Bits = 13
	hash2Bits = 12
)

// finder finds earlier occurrences of the next bytes. Places are counted from 1 in the tables.
type finder struct {
	buf   []byte
	base  int // where the block begins, after the dictionary
	head4 [1 << hash4Bits]uint32
	head3 [1 << hash3Bits]uint32
	head2 [1 << hash2Bits]uint32
	prev  []uint32
}

// found is an earlier occurrence of n bytes.
type found struct {
	n    int
	dist uint32
}

func hash4(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 0x9E3779B1 >> (32 - hash4Bits) }

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

// find appends the nearest occurrences of the bytes at a place, each longer than the one before it. It compares tries
// places of a chain, until one is long.
func (f *finder) find(out []found, at, tries, long int) []found {
	b := f.buf[at:]
	if len(b) < 4 {
		return out
	}
	best := 1
	try := func(place uint32) {
		if place == 0 {
			return
		}
		j := int(place) - 1
		if n := kernels.CommonPrefix(f.buf[j:], b); n > best {
			best = n
			out = append(out, found{n, uint32(at - j)})
		}
	}
	try(f.head2[hash2(b)])
	try(f.head3[hash3(b)])
	place := f.head4[hash4(b)]
	for range tries {
		if place == 0 || best >= min(len(b), long) {
			break
		}
		if j := int(place) - 1; f.buf[j+best] == b[best] {
			try(place)
		}
		place = f.prev[place-1]
	}
	return out
}
