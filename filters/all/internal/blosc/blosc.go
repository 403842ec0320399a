// Package blosc codes blocks in the format of c-blosc 1 (README_CHUNK_FORMAT.rst): a
// header of 16 bytes, the offset of each part, and the parts. A part may be shuffled by
// bytes or bits. It is one compressed stream, or as many as an element has bytes.
package blosc

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
	Part    int // bytes of a part, 0 for the choice of c-blosc, which also changes unsuitable lengths
}

// Header is the length of the header, by which a stored block can exceed its input.
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
	if p.Part > 0 {
		part = max(p.Part, minLen)
	} else if n >= cache {
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

// bitsApply reports whether the bits of n bytes are shuffled. c-blosc leaves parts as
// they are whose elements do not fill bytes with their bits.
func bitsApply(n, size int) bool { return n >= size && n/size%8 == 0 }
