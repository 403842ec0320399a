// Package bzip2 codes blocks as single bzip2 streams.
package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"io"

	"github.com/dsnet/compress/bzip2"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Default is the level that H5Zbzip2.c uses if it has no parameter.
const Default = 9

// State encodes and decodes blocks, for one goroutine at a time. The zero value is ready.
type State struct {
	w   [10]*bzip2.Writer // by level
	out wire.Sink
}

// Encode appends the stream of src to dst. The level is that of bzip2, 1 to 9.
func (s *State) Encode(dst, src []byte, level int) ([]byte, error) {
	s.out.Buf = dst
	defer func() { s.out.Buf = nil }()
	w := s.w[level]
	if w == nil {
		var err error
		if w, err = bzip2.NewWriter(&s.out, &bzip2.WriterConfig{Level: level}); err != nil {
			return nil, wire.Causef(wire.ErrParam, err, "bzip2: level %d", level)
		}
		s.w[level] = w
	} else if err := w.Reset(&s.out); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "bzip2")
	}
	if _, err := w.Write(src); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "bzip2")
	}
	if err := w.Close(); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "bzip2")
	}
	return s.out.Buf, nil
}

// Decode appends the decoded src to dst, at most max bytes. It uses the standard library,
// which is safe with hostile streams. The library would read consecutive streams as one,
// but HDF5's filter does not.
func (*State) Decode(dst, src []byte, max int) ([]byte, error) {
	at := len(dst)
	for from, tries := 4, 0; ; tries++ {
		// A second stream can only start at its signature. Those bytes may also occur
		// by chance, though hardly twice, so read up to there and check whether the
		// stream is complete. Each try takes 4 MB.
		end := nextStream(src, from)
		out, err := wire.ReadLimited(dst[:at], stdbzip2.NewReader(bytes.NewReader(src[:end])), make([]byte, 1), max, len(src))
		switch {
		case err == nil && end < len(src):
			return nil, wire.Damaged("bzip2: expected the end, found %d more bytes", len(src)-end)
		case err == nil:
			return out, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && end < len(src) && tries < 1:
			dst, from = out, end+1
		default:
			return nil, wire.Stream("bzip2", max, err)
		}
	}
}

// nextStream returns the first place at or after from where a bzip2 stream could start:
// signature, level, and the magic number of a block or of the end.
func nextStream(p []byte, from int) int {
	for from < len(p) {
		i := bytes.Index(p[from:], []byte("BZh"))
		if i < 0 {
			break
		}
		from += i
		if rest := p[from+3:]; len(rest) >= 7 && (string(rest[1:7]) == "1AY&SY" || string(rest[1:7]) == "\x17\x72\x45\x38\x50\x90") {
			return from
		}
		from++
	}
	return len(p)
}
