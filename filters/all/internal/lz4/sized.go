package lz4

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// The format of numcodecs: the size in 4 bytes, little-endian, and one LZ4 block.

const (
	sizedHeader     = 4
	maxAcceleration = 65537 // LZ4_ACCELERATION_MAX of lz4.c
)

// MaxSizedLen bounds the length of n encoded bytes (LZ4_compressBound).
func MaxSizedLen(n int) int { return wire.ClampLen(sizedHeader + int64(n) + int64(n)/255 + 16) }

// EncodeSized appends the encoded src to dst.
func (s *State) EncodeSized(dst, src []byte, acceleration int) ([]byte, error) {
	if len(src) > MaxBlock {
		return nil, wire.Errorf(wire.ErrParam, "lz4: expected blocks of at most %d bytes, found %d", MaxBlock, len(src))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	return CompressFast(dst, src, &s.table, min(max(acceleration, 1), maxAcceleration)), nil
}

// DecodeSized appends the decoded src to dst, at most max bytes.
func DecodeSized(dst, src []byte, max int) ([]byte, error) {
	if len(src) < sizedHeader {
		return nil, wire.Damaged("lz4: expected a header of %d bytes, found %d", sizedHeader, len(src))
	}
	size := binary.LittleEndian.Uint32(src)
	src = src[sizedHeader:]
	if uint64(size) > uint64(max) {
		return nil, wire.TooLong("lz4", max, size)
	}
	if uint64(size) > 255*uint64(len(src)) {
		return nil, wire.Damaged("lz4: %d bytes cannot come from %d", size, len(src))
	}
	n := int(size)
	dst, out := wire.Extend(dst, n)
	if err := Expand(out, src); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "lz4")
	}
	return dst, nil
}
