package filters

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
)

// deflateMethod is HDF5's deflate (H5Zdeflate.c): one zlib stream (RFC 1950),
// without a preset dictionary. Its parameter is the level, 0 to 9; 0 stores.
// Data that cannot be compressed goes into stored deflate blocks, 5 bytes each.
type deflateMethod struct{}

func (deflateMethod) Check(params []uint32) error {
	if err := wantParams("deflate", params, 1); err != nil {
		return err
	}
	if params[0] > 9 {
		return errorf(ErrParam, "deflate: level from 0 to 9, found %d", params[0])
	}
	return nil
}

// MaxEncodedLen is zlib's deflateBound for the least favourable settings
// (deflate.c), with a margin for encoders that end blocks often.
func (deflateMethod) MaxEncodedLen(n int, _ []uint32) int {
	return clampLen(int64(n) + int64(n)>>5 + 1024)
}

func (deflateMethod) session() Method { return &deflateState{} }

func (m deflateMethod) Encode(dst, src []byte, params []uint32) ([]byte, error) {
	return m.session().Encode(dst, src, params)
}

func (m deflateMethod) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	return m.session().Decode(dst, src, params, max)
}

type deflateState struct {
	deflateMethod
	w     *zlib.Writer
	level int
	out   sink
	r     io.Reader
	in    bytes.Reader
	probe [1]byte
}

func (s *deflateState) Encode(dst, src []byte, params []uint32) ([]byte, error) {
	if err := s.Check(params); err != nil {
		return nil, err
	}
	s.out.buf = dst
	defer func() { s.out.buf = nil }()
	level := int(params[0])
	if s.w == nil || s.level != level {
		w, err := zlib.NewWriterLevel(&s.out, level)
		if err != nil {
			return nil, causef(ErrParam, err, "deflate: level %d", level)
		}
		s.w, s.level = w, level
	} else {
		s.w.Reset(&s.out)
	}
	if _, err := s.w.Write(src); err != nil {
		return nil, causef(ErrDamaged, err, "deflate")
	}
	if err := s.w.Close(); err != nil {
		return nil, causef(ErrDamaged, err, "deflate")
	}
	return s.out.buf, nil
}

func (s *deflateState) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
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
		return nil, errorf(ErrDamaged, "deflate: end of block, found %d more bytes", s.in.Len())
	}
	return dst, nil
}
