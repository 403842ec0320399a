package zstd

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

const (
	magic    = 0xfd2fb528 // RFC 8878 3.1.1
	maxBlock = 128 << 10  // Block_Maximum_Size, RFC 8878 3.1.1.2.3
)

// Bits of a frame header's descriptor (RFC 8878 3.1.1.1.1).
const (
	hasDictionary = 3 << 0
	hasChecksum   = 1 << 2
	single        = 1 << 5
	descriptorPos = 4
)

// Types of zstd blocks (RFC 8878 3.1.1.2.2).
const (
	rawBlock = iota
	rleBlock
	compressedBlock
)

// singleSegment changes the frame that starts at b[at:], written by a stream
// encoder with content size and window descriptor, into one without a window
// descriptor. Its window is then the content. The frame gets one byte shorter, and
// decoders need not reserve more than the block.
func singleSegment(b []byte, at int) []byte {
	d := at + descriptorPos
	if b[d]&single != 0 {
		return b
	}
	b[d] |= single
	return append(b[:d+1], b[d+2:]...)
}

// frame checks that src is exactly one frame as docs/FORMAT.md requires, using the
// headers of the frame and its blocks (RFC 8878, 3.1.1). It returns the content size,
// which the blocks can hold.
func frame(src []byte) (size uint64, err error) {
	size, p, err := frameHeader(src)
	if err != nil {
		return 0, err
	}
	var least, most uint64 // bytes of content
	for last := false; !last; {
		if len(p) < 3 {
			return 0, wire.Damaged("zstd: expected a block header of 3 bytes, found %d", len(p))
		}
		h := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
		n, stored := uint64(h>>3), uint64(h>>3)
		if n > maxBlock {
			return 0, wire.Damaged("zstd: expected blocks of at most %d bytes, found %d", maxBlock, n)
		}
		switch h >> 1 & 3 {
		case rawBlock:
			least, most = least+n, most+n
		case rleBlock:
			least, most, stored = least+n, most+n, 1
		case compressedBlock:
			most += maxBlock
		default:
			return 0, wire.Damaged("zstd: reserved block type")
		}
		p = p[3:]
		if uint64(len(p)) < stored {
			return 0, wire.Damaged("zstd: expected a block of %d bytes, found %d", stored, len(p))
		}
		p, last = p[stored:], h&1 != 0
	}
	switch {
	case len(p) > 0:
		return 0, wire.Damaged("zstd: expected the end, found %d more bytes", len(p))
	case size < least || size > most:
		return 0, wire.Damaged("zstd: expected a content size from %d to %d, found %d", least, most, size)
	}
	return size, nil
}

// frameHeader parses the header of a frame. It returns the content size and the
// bytes after the header.
func frameHeader(src []byte) (size uint64, p []byte, err error) {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != magic {
		return 0, nil, wire.Damaged("zstd: expected a frame, found none")
	}
	d := src[descriptorPos]
	p = src[descriptorPos+1:]
	n := [4]int{0, 2, 4, 8}[d>>6] // bytes of the content size
	if d&single != 0 {
		n = max(n, 1)
	} else {
		p = p[1:] // skip the window
	}
	switch {
	case d&hasChecksum != 0:
		return 0, nil, wire.Damaged("zstd: expected no checksum, found one")
	case d&hasDictionary != 0:
		return 0, nil, wire.Damaged("zstd: expected no dictionary, found one")
	case n == 0:
		return 0, nil, wire.Damaged("zstd: expected a content size, found none")
	case len(p) < n:
		return 0, nil, wire.Damaged("zstd: expected a content size of %d bytes, found %d", n, len(p))
	}
	for i := range n {
		size |= uint64(p[i]) << (8 * i)
	}
	if n == 2 {
		size += 256
	}
	return size, p[n:], nil
}
