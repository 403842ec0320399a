// Package bitshuffle codes blocks in the format of HDF5's bitshuffle filter
// (bshuf_h5filter.c): bits of the same weight are stored together, in blocks of a few
// kilobytes. The blocks may be compressed. Compressed data starts with its length in eight
// bytes and the length of a block in four. The compressed length of each block, in four
// bytes, precedes it. All numbers are big-endian. The last elements, fewer than eight, are
// stored unchanged.
package bitshuffle

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/all/internal/lz4"
	"github.com/cdfz-format/cdfz/filters/internal/transpose"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/filters/internal/zstd"
)

// Compression is how blocks are compressed.
type Compression uint32

// The compressions.
const (
	None Compression = 0
	LZ4  Compression = 2
	Zstd Compression = 3
)

// Params are the parameters of the filter.
type Params struct {
	Size        int // of an element, in bytes
	Block       int // elements of a block, a multiple of 8, 0 for the default
	Compression Compression
	Level       int // of zstd
}

const (
	header      = 12
	multiple    = 8    // elements in a byte of a plane
	targetBlock = 8192 // bytes, BSHUF_TARGET_BLOCK_SIZE_B
	minBlock    = 128  // elements, BSHUF_MIN_RECOMMEND_BLOCK
)

// block returns the number of elements of a block.
func (p Params) block() int {
	if p.Block > 0 {
		return p.Block
	}
	return max(minBlock, targetBlock/p.Size/multiple*multiple)
}

// MaxLen bounds the length of n encoded bytes, for any encoder.
func MaxLen(n int, p Params) int {
	if p.Compression == None {
		return n
	}
	blocks := int64(n)/int64(p.block())/int64(p.Size) + 1
	return wire.ClampLen(header + int64(n) + int64(n)/128 + 32*blocks)
}

// State encodes and decodes, for one goroutine at a time. The zero value is ready.
type State struct {
	table       lz4.Table
	zstd        zstd.State
	tmp, planes []byte
}

// buffers returns two buffers for a block of n bytes.
func (s *State) buffers(n int) (tmp, planes []byte) {
	if cap(s.tmp) < n || cap(s.tmp) > 2*maxKept && n <= maxKept {
		s.tmp, s.planes = make([]byte, n), make([]byte, n+zstd.Slack)
	}
	return s.tmp[:n], s.planes[:n]
}

// maxKept is the longest block for which memory is kept.
const maxKept = 1 << 20

// Encode appends the encoded src to dst. It is an error if src has a part of an element.
func (s *State) Encode(dst, src []byte, p Params) ([]byte, error) {
	if len(src)%p.Size != 0 {
		return nil, wire.Errorf(wire.ErrParam, "bitshuffle: expected elements of %d bytes, found %d bytes", p.Size, len(src))
	}
	block := min(int64(p.block())*int64(p.Size), int64(1)<<31-1)
	if p.Compression != None {
		dst = binary.BigEndian.AppendUint64(dst, uint64(len(src)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(block))
	}
	for len(src) >= multiple*p.Size {
		n := int(min(block, int64(len(src)/(multiple*p.Size)*(multiple*p.Size))))
		tmp, planes := s.buffers(n)
		if p.Compression == None {
			dst, planes = wire.Extend(dst, n)
		}
		transpose.BitShuffle(planes, src[:n], tmp, p.Size)
		src = src[n:]
		if p.Compression == None {
			continue
		}
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if p.Compression == LZ4 {
			dst = lz4.Compress(dst, planes, &s.table)
		} else {
			var err error
			if dst, err = s.zstd.Encode(dst, planes, p.Level, 0); err != nil {
				return nil, err
			}
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return append(dst, src...), nil
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, p Params, max int) ([]byte, error) {
	total, block := len(src), int64(p.block())*int64(p.Size)
	if p.Compression != None {
		if len(src) < header {
			return nil, wire.Damaged("bitshuffle: expected a header of %d bytes, found %d", header, len(src))
		}
		total64 := binary.BigEndian.Uint64(src)
		block = int64(binary.BigEndian.Uint32(src[8:]))
		src = src[header:]
		if total64 > uint64(max) {
			return nil, wire.TooLong("bitshuffle", max, total64)
		}
		total = int(total64)
		if block == 0 || block%int64(multiple*p.Size) != 0 {
			return nil, wire.Damaged("bitshuffle: expected blocks of a multiple of %d bytes, found %d", multiple*p.Size, block)
		}
	}
	switch {
	case total > max:
		return nil, wire.TooLong("bitshuffle", max, total)
	case total%p.Size != 0:
		return nil, wire.Damaged("bitshuffle: expected elements of %d bytes, found %d bytes", p.Size, total)
	}
	for total >= multiple*p.Size {
		n := int(min(block, int64(total/(multiple*p.Size)*(multiple*p.Size))))
		if p.Compression != None && len(src) < 4 {
			return nil, wire.Damaged("bitshuffle: expected a length of 4 bytes, found %d", len(src))
		}
		var planes, in []byte
		var err error
		if p.Compression == None {
			planes, src = src[:n], src[n:]
		} else {
			c := binary.BigEndian.Uint32(src)
			if src = src[4:]; uint64(c) > uint64(len(src)) {
				return nil, wire.Damaged("bitshuffle: expected a block of %d bytes, found %d", c, len(src))
			}
			if in, src = src[:c], src[c:]; n > 255*len(in) && p.Compression == LZ4 {
				return nil, wire.Damaged("bitshuffle: %d bytes cannot come from %d", n, len(in))
			}
			if planes, err = s.expand(in, n, p.Compression); err != nil {
				return nil, err
			}
		}
		tmp, _ := s.buffers(n)
		var out []byte
		dst, out = wire.Extend(dst, n)
		transpose.BitUnshuffle(out, planes, tmp, p.Size)
		total -= n
	}
	if len(src) != total {
		return nil, wire.Damaged("bitshuffle: expected %d bytes at the end, found %d", total, len(src))
	}
	return append(dst, src...), nil
}

// expand decompresses a block of n bytes.
func (s *State) expand(in []byte, n int, c Compression) ([]byte, error) {
	if c == LZ4 {
		_, planes := s.buffers(n)
		if err := lz4.Expand(planes[:n], in); err != nil {
			return nil, wire.Causef(wire.ErrDamaged, err, "bitshuffle")
		}
		return planes, nil
	}
	_, planes := s.buffers(n)
	out, err := s.zstd.Decode(planes[:0], in, n)
	if err != nil {
		return nil, err
	}
	if len(out) != n {
		return nil, wire.Damaged("bitshuffle: expected a block that decodes to %d bytes, found %d", n, len(out))
	}
	return out, nil
}
