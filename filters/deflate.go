package filters

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
)

// deflateMethod is HDF5's deflate (H5Zdeflate.c): one zlib stream (RFC 1950)
// without a preset dictionary. Its parameter is the level, 0 to 9. Level 0 stores.
// Incompressible data goes into stored deflate blocks, 5 bytes each.
var deflateMethod = Method{
	ID:         Deflate,
	Name:       "deflate",
	New:        func() Session { return new(deflateState) },
	Check:      levelCheck("deflate", 0, 9, false),
	Defaults:   []uint32{6},
	Compresses: true,
	// zlib's deflateBound for the worst settings (deflate.c), with a margin for
	// encoders that end blocks often.
	MaxEncodedLen: func(n int, _ []uint32) int { return clampLen(int64(n) + int64(n)>>5 + 1024) },
	Memory:        func(int, []uint32) int64 { return 64 << 10 },
	Codec:         levelCodec("zlib", 1, 0),
}

// zlibDictionary is the bit FDICT of a zlib stream's second byte (RFC 1950, 2.2).
const zlibDictionary = 1 << 5

type deflateState struct {
	w     [10]*zlib.Writer // by level
	out   sink
	r     io.Reader
	in    bytes.Reader
	probe [1]byte
}

func (s *deflateState) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	s.out.buf = dst
	defer func() { s.out.buf = nil }()
	w := s.w[params[0]]
	if w == nil {
		var err error
		if w, err = zlib.NewWriterLevel(&s.out, int(params[0])); err != nil {
			return nil, causef(ErrParam, err, "deflate")
		}
		s.w[params[0]] = w
	} else {
		w.Reset(&s.out)
	}
	if _, err := w.Write(src); err != nil {
		return nil, causef(ErrDamaged, err, "deflate")
	}
	if err := w.Close(); err != nil {
		return nil, causef(ErrDamaged, err, "deflate")
	}
	return s.out.buf, nil
}

func (s *deflateState) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	if len(src) > 1 && src[1]&zlibDictionary != 0 {
		return nil, errorf(ErrDamaged, "deflate: expected no preset dictionary, found one")
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
		return nil, causef(ErrDamaged, err, "deflate")
	}
	dst, err = readLimited(dst, s.r, s.probe[:], max, len(src))
	if err != nil {
		return nil, inStage("deflate", max, err)
	}
	if s.in.Len() > 0 {
		return nil, errorf(ErrDamaged, "deflate: expected the end, found %d more bytes", s.in.Len())
	}
	return dst, nil
}
