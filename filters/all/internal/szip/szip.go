// Package szip codes blocks in the format of HDF5's szip filter (H5Zszip.c): the length of
// the data in four bytes, little-endian, and a stream of CCSDS 121.0-B, as libaec and
// szlib write it.
//
// The data is a sequence of pixels in lines. Pixels of 32 and 64 bits are shuffled by
// bytes and coded as pixels of 8 bits. Each line is filled up to a multiple of the coding
// block and coded on its own.
package szip

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/transpose"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Params are the parameters of the filter.
type Params struct {
	Neighbour bool // code differences between pixels
	BigEndian bool // order of pixels of more than 8 bits
	Block     int  // pixels of a coding block, even, 2 to 32
	Bits      int  // of a pixel: 1 to 24, 32 or 64
	Line      int  // pixels of a line, 1 to MaxLine
}

// MaxLine is the longest line (szlib.h).
const MaxLine = 4096

const header = 4

// word returns the number of bytes by which pixels are shuffled, 1 if they are not.
func (p Params) word() int {
	if p.Bits == 32 || p.Bits == 64 {
		return p.Bits / 8
	}
	return 1
}

// sample describes the pixels that are coded.
func (p Params) sample() (bits, size int) {
	switch {
	case p.Bits <= 8 || p.Bits > 24:
		return min(p.Bits, 8), 1
	case p.Bits <= 16:
		return p.Bits, 2
	}
	return p.Bits, 4
}

// blocks returns the number of coding blocks of a line.
func (p Params) blocks() int { return (p.Line + p.Block - 1) / p.Block }

// MaxLen bounds the length of n encoded bytes, for any encoder.
func (p Params) MaxLen(n int) int {
	bits, size := p.sample()
	lines := (int64(n)/int64(size) + int64(p.Line) - 1) / int64(p.Line)
	coded := lines * int64(p.blocks()) * int64(5+1+p.Block*bits)
	return wire.ClampLen(header + coded/8 + 1)
}

// pixels returns data as the elements that are coded.
func (p Params) pixels(data []byte) wire.Elements {
	_, size := p.sample()
	return wire.Elements{P: data, Size: size, Big: p.BigEndian}
}

// State encodes and decodes, for one goroutine at a time. The zero value is ready.
type State struct {
	bytes []byte   // shuffled
	line  []uint32 // pixels of a line, or differences
}

// maxKept is the longest data for which memory is kept.
const maxKept = 1 << 20

func (s *State) buffers(n int, p Params) (bytes []byte, line []uint32) {
	if cap(s.bytes) < n || cap(s.bytes) > 2*maxKept && n <= maxKept {
		s.bytes = make([]byte, n)
	}
	if len(s.line) == 0 {
		s.line = make([]uint32, MaxLine+32)
	}
	return s.bytes[:n], s.line[:p.blocks()*p.Block]
}

// whole checks that data has whole pixels.
func (p Params) whole(n int) bool {
	_, size := p.sample()
	return n%max(size, p.word()) == 0
}

// Encode appends the encoded src to dst. It is an error if src has a part of a pixel, or
// bits above those of a pixel.
func (s *State) Encode(dst, src []byte, p Params) ([]byte, error) {
	if !p.whole(len(src)) {
		return nil, wire.Errorf(wire.ErrParam, "szip: expected pixels of %d bits, found %d bytes", p.Bits, len(src))
	}
	bytes, line := s.buffers(len(src), p)
	if p.word() > 1 {
		transpose.Shuffle(bytes, src, p.word())
	} else {
		bytes = src
	}
	bits, _ := p.sample()
	e := newEncoder(binary.LittleEndian.AppendUint32(dst, uint32(len(src))), bits, p)
	pixels := p.pixels(bytes)
	for at := 0; at < pixels.Len(); {
		n := min(p.Line, pixels.Len()-at)
		for i := range n {
			v := pixels.At(at + i)
			if v>>bits != 0 {
				return nil, wire.Errorf(wire.ErrParam, "szip: expected pixels of %d bits, found 0x%x", bits, v)
			}
			line[i] = uint32(v)
		}
		at += n
		// Fill up with what costs least.
		var fill uint32
		if p.Neighbour {
			fill = line[n-1]
		}
		for i := n; i < len(line); i++ {
			line[i] = fill
		}
		e.line(line)
	}
	e.w.Align()
	return e.w.Buf, nil
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, p Params, max int) ([]byte, error) {
	if len(src) < header {
		return nil, wire.Damaged("szip: expected a length of %d bytes, found %d", header, len(src))
	}
	n64 := binary.LittleEndian.Uint32(src)
	if uint64(n64) > uint64(max) {
		return nil, wire.TooLong("szip", max, n64)
	}
	n := int(n64)
	if !p.whole(n) {
		return nil, wire.Damaged("szip: expected pixels of %d bits, found %d bytes", p.Bits, n)
	}
	bits, _ := p.sample()
	bytes, line := s.buffers(n, p)
	dst, out := wire.Extend(dst, n)
	if p.word() == 1 {
		bytes = out
	}
	d := decoder{r: wire.NewBitReader(src[header:]), coding: newCoding(bits, p)}
	pixels := p.pixels(bytes)
	for at := 0; at < pixels.Len(); {
		if err := d.line(line); err != nil {
			return nil, err
		}
		for _, v := range line[:min(p.Line, pixels.Len()-at)] {
			pixels.Set(at, uint64(v))
			at++
		}
	}
	if r := d.r.Rest(); r > 0 {
		return nil, wire.Damaged("szip: expected the end, found %d more bytes", r)
	}
	if p.word() > 1 {
		transpose.Unshuffle(out, bytes, p.word())
	}
	return dst, nil
}
