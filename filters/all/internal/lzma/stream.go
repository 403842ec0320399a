package lzma

import (
	"bytes"
	"io"

	lib "github.com/ulikunitz/xz/lzma"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Format is a format of stored bytes. The numbers are those of Python's module lzma.
type Format uint32

// The formats.
const (
	XZ    Format = 1
	Alone Format = 2
	Raw   Format = 3
)

// Check is a checksum of .xz files.
type Check uint32

// The checksums, with their numbers in The .xz File Format, section 2.1.1.2.
const (
	None   Check = 0
	CRC32  Check = 1
	CRC64  Check = 4
	SHA256 Check = 10
)

// Params are the parameters of the codec.
type Params struct {
	Format Format
	Check  Check // of new .xz files
	Dict   int   // bytes of the dictionary of new streams, at most; 0: DefaultDict
	// Deltas are the distances of delta filters before LZMA2, in the order of encoding.
	// Files in .xz format list them; they are needed to write one and for Raw.
	Deltas []int
}

// DefaultDict is the dictionary of preset 6 of xz, the default of numcodecs.
const DefaultDict = 8 << 20

// Limits of delta filters.
const (
	MaxDelta  = 256
	MaxDeltas = 3 // a chain has four filters (The .xz File Format, 3.1)
)

// dict returns the dictionary for a block of n bytes.
func (p Params) dict(n int) int {
	most := p.Dict
	if most <= 0 {
		most = DefaultDict
	}
	return max(MinDict, min(most, n))
}

// MinDict is the smallest dictionary of the encoder: the library needs a whole chunk of
// LZMA2 in it.
const MinDict = 64 << 10

// lzma2 writes an LZMA2 stream, after the delta filters.
func (p Params) lzma2(out *bytes.Buffer, src []byte) error {
	if len(p.Deltas) > 0 {
		src = bytes.Clone(src)
		for _, d := range p.Deltas {
			for i := len(src) - 1; i >= d; i-- {
				src[i] -= src[i-d]
			}
		}
	}
	w, err := lib.Writer2Config{DictCap: p.dict(len(src))}.NewWriter2(out)
	if err == nil {
		_, err = w.Write(src)
	}
	if err == nil {
		err = w.Close()
	}
	return err
}

// undelta undoes delta filters.
func undelta(b []byte, deltas []int) {
	for k := len(deltas) - 1; k >= 0; k-- {
		d := deltas[k]
		for i := d; i < len(b); i++ {
			b[i] += b[i-d]
		}
	}
}

// decode2 appends an LZMA2 stream that begins src and returns the bytes after it.
func decode2(dst, src []byte, max int) (out, rest []byte, err error) {
	if err := checkChunks(src); err != nil {
		return nil, nil, err
	}
	in := &source{rest: bytes.NewReader(src)}
	r, err := lib.Reader2Config{DictCap: clampDict(max)}.NewReader2(in)
	if err != nil {
		return nil, nil, wire.Causef(wire.ErrDamaged, err, "lzma")
	}
	if dst, err = readAll(dst, r, max, len(src)); err != nil {
		return nil, nil, err
	}
	if in.ended {
		return nil, nil, wire.Damaged("lzma: stream without end")
	}
	return dst, src[len(src)-in.rest.Len():], nil
}

// checkChunks checks the properties in the headers of chunks. The library allocates 6 MiB
// for some that are not allowed.
func checkChunks(src []byte) error {
	for len(src) >= 6 && src[0] != 0 {
		n := 3 + int(src[1])<<8 + int(src[2]) + 1 // stored
		if src[0] >= 0x80 {
			n = 5 + int(src[3])<<8 + int(src[4]) + 1
			if src[0] >= 0xc0 {
				if err := checkProperties(src[5]); err != nil {
					return err
				}
				n++
			}
		}
		src = src[min(n, len(src)):]
	}
	return nil
}

// checkProperties checks the byte of properties, (pb·5 + lp)·9 + lc. Like liblzma, it allows
// at most 4 bits of literal context and position in sum.
func checkProperties(b byte) error {
	if b >= 9*5*5 || b%9+b/9%5 > 4 {
		return wire.Damaged("lzma: wrong properties %d", b)
	}
	return nil
}

// source reads a header and then the rest, and knows whether a reader wanted more. It is an
// io.ByteReader, so that the library does not read ahead.
type source struct {
	head  []byte
	rest  *bytes.Reader
	ended bool
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	n, err := s.rest.Read(p)
	s.ended = s.ended || err != nil
	return n, err
}

func (s *source) ReadByte() (byte, error) {
	var b [1]byte
	_, err := s.Read(b[:])
	return b[0], err
}

// clampDict returns a dictionary that suffices for max decoded bytes.
func clampDict(most int) int { return max(lib.MinDictCap, min(most, 1<<31-1)) }

// readAll appends what r has, at most max bytes. encoded is the length of the source. Callers
// check whether it has ended early.
func readAll(dst []byte, r io.Reader, max, encoded int) ([]byte, error) {
	dst, err := wire.ReadLimited(dst, r, make([]byte, 1), max, encoded)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, wire.Stream("lzma", max, err)
	}
	return dst, nil
}
