package blosc

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/transpose"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Encode appends the encoded src to dst. Incompressible data is stored.
func (s *State) Encode(dst, src []byte, p Params) ([]byte, error) {
	if len(src) > math.MaxInt32-Header {
		return nil, wire.Errorf(wire.ErrParam, "blosc: expected blocks of at most %d bytes, found %d", math.MaxInt32-Header, len(src))
	}
	if p.Size > maxSize {
		p.Size = 1
	}
	part := p.partLen(len(src))
	flags := byte(p.Codec.format() << codecShift)
	switch p.Shuffle {
	case ByteShuffle:
		flags |= byteShuffled
	case BitShuffle:
		flags |= bitShuffled
	}
	if !p.split(part) {
		flags |= single
	}
	start := len(dst)
	dst = append(dst, version, 1, flags, byte(p.Size))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(part))
	dst = append(dst, 0, 0, 0, 0)
	head := len(dst)
	var err error
	if p.Level > 0 && len(src) >= minLen {
		if dst, err = s.encodeParts(dst, src, p, part, start); err != nil {
			return nil, err
		}
	}
	if n := len(dst) - head; n == 0 || n > len(src) {
		dst[start+2] |= stored
		dst = append(dst[:head], src...)
	}
	binary.LittleEndian.PutUint32(dst[start+12:], uint32(len(dst)-start))
	return dst, nil
}

// encodeParts appends the offsets of the parts, counted from start, and the parts. It
// stops early if the result is longer than src.
func (s *State) encodeParts(dst, src []byte, p Params, part, start int) ([]byte, error) {
	offsets, limit := len(dst), len(dst)+len(src)
	dst = append(dst, make([]byte, 4*((len(src)+part-1)/part))...)
	for i := 0; len(src) > 0 && len(dst) <= limit; i++ {
		in := src[:min(part, len(src))]
		src = src[len(in):]
		binary.LittleEndian.PutUint32(dst[offsets+4*i:], uint32(len(dst)-start))
		count := 1
		if len(in) == part && p.split(part) {
			count = p.Size
		}
		shuffled := s.shuffle(in, p)
		for n := len(in) / count; len(shuffled) > 0; shuffled = shuffled[n:] {
			at := len(dst)
			var err error
			if dst, err = s.compress(append(dst, 0, 0, 0, 0), shuffled[:n], p); err != nil {
				return nil, err
			}
			if len(dst)-at-4 >= n {
				dst = append(dst[:at+4], shuffled[:n]...)
			}
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
	}
	return dst, nil
}

// shuffle returns a part with its bytes rearranged.
func (s *State) shuffle(in []byte, p Params) []byte {
	tmp, planes := s.buffers(len(in))
	switch {
	case p.Shuffle == ByteShuffle && p.Size > 1:
		transpose.Shuffle(planes, in, p.Size)
	case p.Shuffle == BitShuffle && bitsApply(len(in), p.Size):
		n := len(in) / p.Size * p.Size
		transpose.BitShuffle(planes[:n], in[:n], tmp[:n], p.Size)
		copy(planes[n:], in[n:])
	default:
		return in
	}
	return planes
}
