// Package scaleoffset codes blocks in the format of HDF5's scaleoffset filter
// (H5Zscaleoffset.c): the number of bits of an element, the least value, and the
// differences to it, most significant bit first. Fill values are all ones.
package scaleoffset

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Params are the parameters of a block.
type Params struct {
	// Factor is the number of bits of an integer, or 0 if the encoder computes it, or the
	// number of decimal places of a float.
	Factor    int
	Elements  int
	Float     bool
	Signed    bool
	Size      int // of an element: 1, 2, 4 or 8 bytes, 4 or 8 for a float
	BigEndian bool
	HasFill   bool
	Fill      uint64 // the bits of the fill value
}

// The header has the number of bits, the number of bytes of the least value, and that
// value. HDF5 reserves 16 bytes for it and uses 8.
const (
	headerLen = 21
	minvalLen = 8
)

// Whole reports whether blocks are stored without a header. HDF5 does this if the user
// asks for as many bits as an integer has.
func (p Params) Whole() bool { return !p.Float && p.Factor == 8*p.Size }

// encodedLen returns the length of a block whose elements have so many bits. HDF5 adds a
// byte for the last bits even if there are none.
func (p Params) encodedLen(width uint) int {
	if int(width) == 8*p.Size {
		return headerLen + p.Elements*p.Size
	}
	return wire.ClampLen(headerLen + int64(p.Elements)*int64(width)/8 + 1)
}

// appendHeader appends the header of a block.
func appendHeader(dst []byte, width uint, least uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
	dst = append(dst, minvalLen)
	dst = binary.LittleEndian.AppendUint64(dst, least)
	return append(dst, make([]byte, headerLen-4-1-minvalLen)...)
}

// appendWhole appends a block whose elements have all their bits.
func appendWhole(dst []byte, e wire.Elements, least uint64) []byte {
	dst, out := wire.Extend(appendHeader(dst, e.Bits(), least), len(e.P))
	raw := wire.Elements{P: out, Size: e.Size}
	for i := range e.Len() {
		raw.Set(i, e.At(i))
	}
	return dst
}

// pack appends a block of the elements that at returns.
func (p Params) pack(dst []byte, width uint, least uint64, at func(i int) uint64) []byte {
	end := len(dst) + p.encodedLen(width)
	w := wire.BitWriter{Buf: appendHeader(wire.Grow(dst, end-len(dst)), width, least)}
	if width > 0 {
		for i := range p.Elements {
			w.Put(at(i), width)
		}
		w.Align()
	}
	for len(w.Buf) < end {
		w.Buf = append(w.Buf, 0)
	}
	return w.Buf
}

// ceilLog2 returns the number of bits that tell so many numbers apart.
func ceilLog2(n uint64) uint { return uint(bits.Len64(n - 1)) }
