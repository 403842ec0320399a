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

// Encode appends the encoded src to dst. It is an error if decoding would not restore
// src exactly: integers that need more than Factor bits, or floats that are not decimal
// numbers of Factor places.
func Encode(dst, src []byte, p Params) ([]byte, error) {
	if len(src) != p.Elements*p.Size {
		return nil, wire.Errorf(wire.ErrParam, "scaleoffset: expected blocks of %d bytes, found %d", p.Elements*p.Size, len(src))
	}
	if p.Whole() {
		return append(dst, src...), nil
	}
	e := wire.Elements{P: src, Size: p.Size, Big: p.BigEndian}
	switch {
	case !p.Float:
		return encodeInts(dst, e, p)
	case p.Size == 4:
		return encodeFloats[float32](dst, e, p)
	}
	return encodeFloats[float64](dst, e, p)
}

// Decode appends the decoded src to dst, at most max bytes.
func Decode(dst, src []byte, p Params, max int) ([]byte, error) {
	if p.Elements > max/p.Size {
		return nil, wire.TooLong("scaleoffset", max, uint64(p.Elements)*uint64(p.Size))
	}
	if p.Whole() {
		if len(src) != p.Elements*p.Size {
			return nil, wire.Damaged("scaleoffset: expected %d bytes, found %d", p.Elements*p.Size, len(src))
		}
		return append(dst, src...), nil
	}
	if len(src) < headerLen {
		return nil, wire.Damaged("scaleoffset: expected a header of %d bytes, found %d", headerLen, len(src))
	}
	width64 := binary.LittleEndian.Uint32(src)
	if width64 > uint32(8*p.Size) {
		return nil, wire.Damaged("scaleoffset: expected at most %d bits, found %d", 8*p.Size, width64)
	}
	width := uint(width64)
	if len(src) != p.encodedLen(width) {
		return nil, wire.Damaged("scaleoffset: expected %d bytes, found %d", p.encodedLen(width), len(src))
	}
	least := binary.LittleEndian.Uint64(src[5:])
	if n := src[4]; n < minvalLen {
		least &= 1<<(8*n) - 1
	}
	dst, out := wire.Extend(dst, p.Elements*p.Size)
	e := wire.Elements{P: out, Size: p.Size, Big: p.BigEndian}
	r := wire.NewBitReader(src[headerLen:])
	switch {
	case width == e.Bits(): // not packed, but little-endian whatever the type
		raw := wire.Elements{P: src[headerLen:], Size: p.Size}
		for i := range p.Elements {
			e.Set(i, raw.At(i))
		}
	case !p.Float:
		decodeInts(e, r, width, least, p)
	case p.Size == 4:
		decodeFloats[float32](e, r, width, least, p)
	default:
		decodeFloats[float64](e, r, width, least, p)
	}
	return dst, nil
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
