package blosc

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/transpose"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// layout is what the header of a block claims.
type layout struct {
	flags byte
	size  int // of an element
	part  int // length of the parts
	codec Codec
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src) < Header {
		return nil, wire.Damaged("blosc: expected a header of %d bytes, found %d", Header, len(src))
	}
	l := layout{flags: src[2], size: int(src[3])}
	n64, part64 := binary.LittleEndian.Uint32(src[4:]), binary.LittleEndian.Uint32(src[8:])
	var ok bool
	l.codec, ok = codecOf(int(l.flags >> codecShift))
	switch total := binary.LittleEndian.Uint32(src[12:]); {
	case src[0] != version || src[1] != 1 || l.flags&reserved != 0:
		return nil, wire.Damaged("blosc: expected versions %d and 1, found %d and %d, flags 0x%x", version, src[0], src[1], l.flags)
	case !ok:
		return nil, wire.Damaged("blosc: unknown compressor %d", l.flags>>codecShift)
	case uint64(total) != uint64(len(src)):
		return nil, wire.Damaged("blosc: expected %d bytes, found %d", total, len(src))
	case uint64(n64) > uint64(max):
		return nil, wire.TooLong("blosc", max, n64)
	case l.size == 0:
		return nil, wire.Damaged("blosc: expected elements of at least 1 byte")
	case n64 > 0 && (part64 == 0 || part64 > n64):
		return nil, wire.Damaged("blosc: expected parts of 1 to %d bytes, found %d", n64, part64)
	}
	n := int(n64)
	l.part = int(part64)
	if l.flags&stored != 0 {
		if len(src)-Header != n {
			return nil, wire.Damaged("blosc: expected %d bytes, found %d", n, len(src)-Header)
		}
		return append(dst, src[Header:]...), nil
	}
	if n == 0 {
		if len(src) > Header {
			return nil, wire.Damaged("blosc: expected the end, found %d more bytes", len(src)-Header)
		}
		return dst, nil
	}
	count := (n-1)/l.part + 1
	if count > (len(src)-Header)/4 {
		return nil, wire.Damaged("blosc: expected %d offsets, found %d bytes", count, len(src)-Header)
	}
	dst, out := wire.Extend(dst, n)
	return dst, s.decodeParts(out, src, l, count)
}

// decodeParts fills out with the parts of a block. They may be in any order, since
// c-blosc's threads write them.
func (s *State) decodeParts(out, src []byte, l layout, count int) error {
	used := Header + 4*count
	for i := range count {
		at := binary.LittleEndian.Uint32(src[Header+4*i:])
		if uint64(at) > uint64(len(src)) || int(at) < Header+4*count {
			return wire.Damaged("blosc: expected a part within %d bytes, found offset %d", len(src), at)
		}
		part := out[:min(l.part, len(out))]
		out = out[len(part):]
		n, err := s.decodePart(part, src[at:], l)
		if err != nil {
			return err
		}
		if used += n; used > len(src) {
			break
		}
	}
	if used != len(src) {
		return wire.Damaged("blosc: expected parts of %d bytes, found more or fewer", len(src))
	}
	return nil
}

// decodePart fills out with the part at the start of src and returns its encoded length.
func (s *State) decodePart(out, src []byte, l layout) (used int, err error) {
	count := 1
	if l.flags&single == 0 && l.size <= maxStreams && l.part/l.size >= minLen && len(out) == l.part {
		count = l.size
	}
	tmp, planes := s.buffers(len(out))
	bytewise := l.flags&byteShuffled != 0 && l.size > 1
	bitwise := !bytewise && l.flags&bitShuffled != 0 && bitsApply(len(out), l.size)
	to := out
	if bytewise || bitwise {
		to = planes
	}
	// A part is a multiple of the element size, but this one need not be.
	if len(out)%count != 0 {
		return 0, wire.Damaged("blosc: expected parts of whole elements of %d bytes, found %d bytes", l.size, len(out))
	}
	for n := len(out) / count; len(to) > 0; to = to[n:] {
		if len(src)-used < 4 {
			return 0, wire.Damaged("blosc: expected a length of 4 bytes, found %d", len(src)-used)
		}
		c := binary.LittleEndian.Uint32(src[used:])
		used += 4
		if uint64(c) > uint64(len(src)-used) {
			return 0, wire.Damaged("blosc: expected a stream of %d bytes, found %d", c, len(src)-used)
		}
		in := src[used : used+int(c)]
		used += int(c)
		if len(in) == n {
			copy(to[:n], in)
		} else if err := s.expand(to[:n], in, l.codec); err != nil {
			return 0, err
		}
	}
	switch {
	case bytewise:
		transpose.Unshuffle(out, planes, l.size)
	case bitwise:
		n := len(out) / l.size * l.size
		transpose.BitUnshuffle(out[:n], planes[:n], tmp[:n], l.size)
		copy(out[n:], planes[n:])
	}
	return used, nil
}
