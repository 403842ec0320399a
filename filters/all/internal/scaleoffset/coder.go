package scaleoffset

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

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
