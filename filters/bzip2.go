package filters

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"io"

	"github.com/dsnet/compress/bzip2"
)

// bzip2Method is the bzip2 filter of the HDF5 plugins (BZIP2/src/H5Zbzip2.c):
// one plain .bz2 stream. Its parameter is the size of bzip2's own blocks in
// units of 100 000 bytes, 1 to 9; without it the size is 9.
type bzip2Method struct{}

func (bzip2Method) Check(params []uint32) error {
	if len(params) > 1 {
		return errorf(ErrParam, "bzip2: expected at most 1 parameter, found %d", len(params))
	}
	if l := bzip2Level(params); l < 1 || l > 9 {
		return errorf(ErrParam, "bzip2: expected a level from 1 to 9, found %d", l)
	}
	return nil
}

const bzip2Default = 9 // of H5Zbzip2.c

// bzip2Level is the level that the parameters ask for.
func bzip2Level(params []uint32) uint32 {
	if len(params) == 0 {
		return bzip2Default
	}
	return params[0]
}

// MaxEncodedLen: the bzip2 manual (section 3.4.1) gives 1 % and 600 bytes for
// the reference encoder. Any encoder's first run-length coding may add a quarter, and
// its six tables of 258 code lengths, each up to 41 bits, are 8 KB.
func (bzip2Method) MaxEncodedLen(n int, _ []uint32) int {
	return clampLen(int64(n) + int64(n)>>2 + 8<<10)
}

func (bzip2Method) session() Method { return &bzip2State{} }

func (m bzip2Method) Encode(dst, src []byte, params []uint32) ([]byte, error) {
	return m.session().Encode(dst, src, params)
}

// Decode uses the standard library, which is safe with hostile streams. It
// reads streams that follow each other as one; HDF5's filter does not.
func (bzip2Method) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	at := len(dst)
	for from, tries := 4, 0; ; tries++ {
		// A second stream can only start where its signature is. Those bytes
		// may also turn up by accident, so read up to there and see whether
		// the stream is complete.
		end := nextStream(src, from)
		out, err := readLimited(dst[:at], stdbzip2.NewReader(bytes.NewReader(src[:end])), make([]byte, 1), max, len(src))
		switch {
		case err == nil && end < len(src):
			return nil, errorf(ErrDamaged, "bzip2: end of block, found %d more bytes", len(src)-end)
		case err == nil:
			return out, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && end < len(src) && tries < 8:
			dst, from = out, end+1
		default:
			return nil, inStage("bzip2", max, err)
		}
	}
}

// nextStream is the first place at or after from where a bzip2 stream could
// start: signature, level, and the magic number of a block or of the end.
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

type bzip2State struct {
	bzip2Method
	w     *bzip2.Writer
	level int
	out   sink
}

func (s *bzip2State) Encode(dst, src []byte, params []uint32) ([]byte, error) {
	if err := s.Check(params); err != nil {
		return nil, err
	}
	s.out.buf = dst
	defer func() { s.out.buf = nil }()
	level := int(bzip2Level(params))
	if s.w == nil || s.level != level {
		w, err := bzip2.NewWriter(&s.out, &bzip2.WriterConfig{Level: level})
		if err != nil {
			return nil, causef(ErrParam, err, "bzip2: level %d", level)
		}
		s.w, s.level = w, level
	} else if err := s.w.Reset(&s.out); err != nil {
		return nil, causef(ErrDamaged, err, "bzip2")
	}
	if _, err := s.w.Write(src); err != nil {
		return nil, causef(ErrDamaged, err, "bzip2")
	}
	if err := s.w.Close(); err != nil {
		return nil, causef(ErrDamaged, err, "bzip2")
	}
	return s.out.buf, nil
}
