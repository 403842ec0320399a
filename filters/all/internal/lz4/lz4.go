// Package lz4 codes blocks in the format of HDF5's lz4 filter (LZ4_HDF5_format.md in
// hdf5_plugins): the total size in 8 bytes and the block size in 4, then for each block
// its compressed size in 4 bytes and the LZ4 block. All numbers are big-endian. A
// compressed size equal to the block's size means that the block is stored.
package lz4

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

const (
	header = 12
	// MaxBlock is the largest block size. The plugin refuses larger ones.
	MaxBlock     = 0x7e000000 // LZ4_MAX_INPUT_SIZE of lz4.h
	defaultBlock = 1 << 30    // DEFAULT_BLOCK_SIZE of the plugin's H5Zlz4.c
)

// blockSize returns the block size for n bytes, which is never more than n.
func blockSize(n int, param uint32) int {
	size := int64(defaultBlock)
	if param > 0 {
		size = int64(param)
	}
	return int(min(size, int64(n)))
}

// MaxLen bounds the length of n encoded bytes.
func MaxLen(n int, param uint32) int {
	if n <= 0 {
		return header
	}
	size := blockSize(n, param)
	blocks := (int64(n) + int64(size) - 1) / int64(size)
	return wire.ClampLen(header + int64(n) + 4*blocks)
}

// State encodes blocks, for one goroutine at a time. The zero value is ready.
type State struct {
	table Table
}

// Encode appends the encoded src to dst. param is the block size, 0 for the default.
func (s *State) Encode(dst, src []byte, param uint32) []byte {
	size := blockSize(len(src), param)
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(src)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	for len(src) > 0 {
		in := src[:min(size, len(src))]
		src = src[len(in):]
		at := len(dst)
		dst = Compress(append(dst, 0, 0, 0, 0), in, &s.table)
		n := len(dst) - at - 4
		if n >= len(in) {
			n = len(in)
			dst = append(dst[:at+4], in...)
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(n))
	}
	return dst
}

// Decode appends the decoded src to dst, at most max bytes.
func Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src) < header {
		return nil, wire.Damaged("lz4: expected a header of %d bytes, found %d", header, len(src))
	}
	total64 := binary.BigEndian.Uint64(src)
	if total64 > uint64(max) {
		return nil, wire.TooLong("lz4", max, total64)
	}
	total := int(total64)
	size := int(min(uint64(binary.BigEndian.Uint32(src[8:])), total64))
	src = src[header:]
	if total > 0 && size == 0 {
		return nil, wire.Damaged("lz4: expected a block size above 0, found 0")
	}
	// LZ4 expands one byte to at most 255, so a larger claim is false.
	if uint64(total) > 255*uint64(len(src)) {
		return nil, wire.Damaged("lz4: %d bytes cannot come from %d", total, len(src))
	}
	dst = wire.Grow(dst, total)
	for total > 0 {
		n := min(size, total)
		if len(src) < 4 {
			return nil, wire.Damaged("lz4: expected a block size of 4 bytes, found %d", len(src))
		}
		clen := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(clen) > uint64(len(src)) {
			return nil, wire.Damaged("lz4: expected a block of %d bytes, found %d", clen, len(src))
		}
		in := src[:clen]
		src = src[clen:]
		var out []byte
		dst, out = wire.Extend(dst, n)
		if len(in) == n {
			copy(out, in)
		} else if err := Expand(out, in); err != nil {
			return nil, wire.Causef(wire.ErrDamaged, err, "lz4")
		}
		total -= n
	}
	if len(src) > 0 {
		return nil, wire.Damaged("lz4: expected the end, found %d more bytes", len(src))
	}
	return dst, nil
}
