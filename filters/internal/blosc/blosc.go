// Package blosc codes blocks in the format of c-blosc 1 (README_CHUNK_FORMAT.rst): a
// header of 16 bytes, the offset of each part, and the parts. A part may be shuffled by
// bytes or bits. It is one compressed stream, or as many as an element has bytes.
package blosc

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/transpose"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Codec is a compressor (blosc.h).
type Codec int

// The compressors, numbered as in blosc.h.
const (
	BloscLZ Codec = iota
	LZ4
	LZ4HC
	Snappy
	Zlib
	Zstd
)

// Shuffle is how the bytes of a part are rearranged.
type Shuffle int

// The kinds of shuffle, numbered as in blosc.h.
const (
	NoShuffle Shuffle = iota
	ByteShuffle
	BitShuffle
)

// Params are the parameters of the encoder. The stored bytes hold all that decoding needs.
type Params struct {
	Size    int // of an element, in bytes
	Level   int // 0 to 9, 0 stores
	Shuffle Shuffle
	Codec   Codec
}

// Header is the length of the header and thus what a block can get longer by.
const Header = 16

// From blosc.h and blosc.c of c-blosc 1.21. All compressors have format version 1.
const (
	version       = 2
	maxSize       = 255 // of elements. Larger ones are taken as bytes
	minLen        = 128 // bytes of a block or stream worth compressing
	maxStreams    = 16
	cache         = 32 << 10
	maxSplitPart  = 256 << 10
	minSplitPart  = 64 << 10
	mostSplitPart = 1 << 20

	byteShuffled = 1 << 0
	stored       = 1 << 1
	bitShuffled  = 1 << 2
	reserved     = 1 << 3
	single       = 1 << 4 // one stream in each part
	codecShift   = 5
)

// State encodes and decodes, for one goroutine at a time. The zero value is ready.
type State struct {
	streams
	tmp, planes []byte
}

// maxKept is the longest part for which memory is kept.
const maxKept = 1 << 20

// buffers returns two buffers for a part of n bytes.
func (s *State) buffers(n int) (tmp, planes []byte) {
	if cap(s.tmp) < n || cap(s.tmp) > 2*maxKept && n <= maxKept {
		s.tmp, s.planes = make([]byte, n), make([]byte, n)
	}
	return s.tmp[:n], s.planes[:n]
}

// split reports whether parts of n bytes have several streams. c-blosc calls this mode
// forward compatible.
func (p Params) split(n int) bool {
	return p.Codec != Zstd && p.Size <= maxStreams && n/p.Size >= minLen
}

// partLen returns the length of the parts of n bytes, which is that of c-blosc.
func (p Params) partLen(n int) int {
	if n < p.Size {
		return 1
	}
	part := n
	if n >= cache {
		part = cache
		high := p.Codec == LZ4HC || p.Codec == Zlib || p.Codec == Zstd
		if high {
			part *= 2
		}
		part = part * []int{1, 2, 4, 8, 16, 16, 32, 32, 32, 32}[p.Level] / 4
		if p.Level == 9 && high {
			part *= 2
		}
	}
	if p.Level > 0 && p.split(part) {
		part = min(max(min(part, maxSplitPart)*p.Size, minSplitPart), mostSplitPart)
	}
	part = min(part, n)
	if part > p.Size {
		part = part / p.Size * p.Size
	}
	return part
}

// Encode appends the encoded src to dst. What cannot be compressed is stored.
func (s *State) Encode(dst, src []byte, p Params) ([]byte, error) {
	if len(src) > math.MaxInt32-Header {
		return nil, wire.Errorf(wire.ErrParam, "blosc: expected blocks of at most %d bytes, found %d", math.MaxInt32-Header, len(src))
	}
	if p.Size > maxSize {
		p.Size = 1
	}
	part := p.partLen(len(src))
	flags := byte(p.Codec.format() << codecShift)
	switch p.Shuffle {
	case ByteShuffle:
		flags |= byteShuffled
	case BitShuffle:
		flags |= bitShuffled
	}
	if !p.split(part) {
		flags |= single
	}
	start := len(dst)
	dst = append(dst, version, 1, flags, byte(p.Size))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(part))
	dst = append(dst, 0, 0, 0, 0)
	head := len(dst)
	var err error
	if p.Level > 0 && len(src) >= minLen {
		if dst, err = s.encodeParts(dst, src, p, part, start); err != nil {
			return nil, err
		}
	}
	if n := len(dst) - head; n == 0 || n > len(src) {
		dst[start+2] |= stored
		dst = append(dst[:head], src...)
	}
	binary.LittleEndian.PutUint32(dst[start+12:], uint32(len(dst)-start))
	return dst, nil
}

// encodeParts appends the offsets of the parts, counted from start, and the parts. It
// stops early if the result is longer than src.
func (s *State) encodeParts(dst, src []byte, p Params, part, start int) ([]byte, error) {
	offsets, limit := len(dst), len(dst)+len(src)
	dst = append(dst, make([]byte, 4*((len(src)+part-1)/part))...)
	for i := 0; len(src) > 0 && len(dst) <= limit; i++ {
		in := src[:min(part, len(src))]
		src = src[len(in):]
		binary.LittleEndian.PutUint32(dst[offsets+4*i:], uint32(len(dst)-start))
		count := 1
		if len(in) == part && p.split(part) {
			count = p.Size
		}
		shuffled := s.shuffle(in, p)
		for n := len(in) / count; len(shuffled) > 0; shuffled = shuffled[n:] {
			at := len(dst)
			var err error
			if dst, err = s.compress(append(dst, 0, 0, 0, 0), shuffled[:n], p); err != nil {
				return nil, err
			}
			if len(dst)-at-4 >= n {
				dst = append(dst[:at+4], shuffled[:n]...)
			}
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
	}
	return dst, nil
}

// shuffle returns a part with its bytes rearranged.
func (s *State) shuffle(in []byte, p Params) []byte {
	tmp, planes := s.buffers(len(in))
	switch {
	case p.Shuffle == ByteShuffle && p.Size > 1:
		transpose.Shuffle(planes, in, p.Size)
	case p.Shuffle == BitShuffle && bitsApply(len(in), p.Size):
		n := len(in) / p.Size * p.Size
		transpose.BitShuffle(planes[:n], in[:n], tmp[:n], p.Size)
		copy(planes[n:], in[n:])
	default:
		return in
	}
	return planes
}

// bitsApply reports whether the bits of n bytes are shuffled. c-blosc leaves parts as
// they are whose elements do not fill bytes with their bits.
func bitsApply(n, size int) bool { return n >= size && n/size%8 == 0 }
