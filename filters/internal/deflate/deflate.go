// Package deflate codes blocks as single zlib streams.
package deflate

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// dictionary is the bit FDICT of a zlib stream's second byte (RFC 1950, 2.2).
const dictionary = 1 << 5

// State encodes and decodes blocks, for one goroutine at a time. The zero value is ready.
type State struct {
	w     [10]*zlib.Writer // by level
	out   wire.Sink
	r     io.Reader
	in    bytes.Reader
	probe [1]byte
}

// Encode appends the stream of src to dst. The level is that of zlib, 0 to 9.
func (s *State) Encode(dst, src []byte, level int) ([]byte, error) {
	s.out.Buf = dst
	defer func() { s.out.Buf = nil }()
	w := s.w[level]
	if w == nil {
		var err error
		if w, err = zlib.NewWriterLevel(&s.out, level); err != nil {
			return nil, wire.Causef(wire.ErrParam, err, "deflate")
		}
		s.w[level] = w
	} else {
		w.Reset(&s.out)
	}
	if _, err := w.Write(src); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "deflate")
	}
	if err := w.Close(); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "deflate")
	}
	return s.out.Buf, nil
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src) > 1 && src[1]&dictionary != 0 {
		return nil, wire.Damaged("deflate: expected no preset dictionary, found one")
	}
	s.in.Reset(src)
	defer s.in.Reset(nil)
	var err error
	if s.r == nil {
		var r io.ReadCloser
		if r, err = zlib.NewReader(&s.in); err == nil {
			s.r = r
		}
	} else {
		err = s.r.(zlib.Resetter).Reset(&s.in, nil)
	}
	if err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "deflate")
	}
	dst, err = wire.ReadLimited(dst, s.r, s.probe[:], max, len(src))
	if err != nil {
		return nil, wire.Stream("deflate", max, err)
	}
	if s.in.Len() > 0 {
		return nil, wire.Damaged("deflate: expected the end, found %d more bytes", s.in.Len())
	}
	return dst, nil
}
