// Package gzip decodes blocks that are gzip members.
package gzip

import (
	"bytes"

	"github.com/klauspost/compress/gzip"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// State decodes blocks that are single gzip members (RFC 1952), for one goroutine at a
// time. The zero value is ready.
type State struct {
	r     *gzip.Reader
	in    bytes.Reader
	probe [1]byte
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, max int) ([]byte, error) {
	s.in.Reset(src)
	defer s.in.Reset(nil)
	var err error
	if s.r == nil {
		s.r, err = gzip.NewReader(&s.in)
	} else {
		err = s.r.Reset(&s.in)
	}
	if err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "gzip")
	}
	s.r.Multistream(false)
	if dst, err = wire.ReadLimited(dst, s.r, s.probe[:], max, len(src)); err != nil {
		return nil, wire.Stream("gzip", max, err)
	}
	if s.in.Len() > 0 {
		return nil, wire.Damaged("gzip: expected the end, found %d more bytes", s.in.Len())
	}
	return dst, nil
}
