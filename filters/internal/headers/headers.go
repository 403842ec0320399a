// Package headers codes netCDF headers: a length and an LZMA stream, whose window begins with the vocabulary
// of such headers. docs/FORMAT.md, section 9.6, specifies the stored bytes.
package headers

import (
	"encoding/binary"
	"sync"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Bounds of a block. They are those of one chunk of LZMA2, as which libraries can decode it.
const (
	MaxLen    = 1 << 21 // bytes of a block
	MaxStream = 1 << 16 // bytes of its LZMA stream
)

// State encodes and decodes blocks, for one goroutine at a time. The zero value is ready.
type State struct {
	model model
}

// encoders are shared by all states, since each has tables of more than 100 KB.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Encode appends the encoded src to dst. The effort is 0 or 1. Errors wrap [wire.ErrParam] if src is too long or hardly
// compressible.
func (s *State) Encode(dst, src []byte, number uint32, effort int) ([]byte, error) {
	if len(src) > MaxLen {
		return nil, wire.Errorf(wire.ErrParam, "header: expected at most %d bytes, found %d", MaxLen, len(src))
	}
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	if len(src) == 0 {
		return dst, nil
	}
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	s.model.reset()
	at := len(dst)
	dst = e.encode(dst, src, &s.model, number, effort)
	if n := len(dst) - at; n > MaxStream {
		return nil, wire.Errorf(wire.ErrParam, "header: expected a stream of at most %d bytes, found %d", MaxStream, n)
	}
	return dst, nil
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, number uint32, max int) ([]byte, error) {
	size, k := binary.Uvarint(src)
	switch {
	case k <= 0 || k > 4 || k > 1 && src[k-1] == 0:
		return nil, wire.Damaged("header: malformed length")
	case size > MaxLen:
		return nil, wire.Damaged("header: expected at most %d bytes, found %d", MaxLen, size)
	case size > uint64(max):
		return nil, wire.TooLong("header", max, size)
	case len(src)-k > MaxStream:
		return nil, wire.Damaged("header: expected a stream of at most %d bytes, found %d", MaxStream, len(src)-k)
	}
	src = src[k:]
	if size == 0 {
		if len(src) > 0 {
			return nil, wire.Damaged("header: expected the end, found %d more bytes", len(src))
		}
		return dst, nil
	}
	// Not more memory than the stored bytes can fill: the bits of a match of maxMatch bytes take at least 0.3 bits.
	dst = wire.Grow(dst, int(min(size, uint64(len(src))<<13)))
	s.model.reset()
	return s.model.decode(dst, src, int(size), dictionary(number))
}
