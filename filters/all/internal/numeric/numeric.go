// Package numeric codes blocks in the formats of numcodecs' codecs for numbers: delta,
// fixedscaleoffset and packbits. It also rounds floats as quantize and bitround do.
package numeric

import (
	"bytes"
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Type is a type of numbers.
type Type struct {
	Size      int // bytes: 1, 2, 4 or 8, 4 or 8 for a float
	Float     bool
	Signed    bool
	BigEndian bool
}

func (t Type) elements(p []byte) wire.Elements {
	return wire.Elements{P: p, Size: t.Size, Big: t.BigEndian}
}

// whole checks that a block has whole elements.
func (t Type) whole(name string, n int) error {
	if n%t.Size != 0 {
		return wire.Errorf(wire.ErrParam, "%s: expected elements of %d bytes, found %d bytes", name, t.Size, n)
	}
	return nil
}

// mask has the bits of an element set.
func (t Type) mask() uint64 { return ^uint64(0) >> (64 - 8*t.Size) }

// Scale is the parameters of fixedscaleoffset: numbers x of type From are stored as
// (x - Offset)·Scale of the integer type To, rounded to even.
type Scale struct {
	From, To      Type
	Scale, Offset float64
}

// Encode appends the encoded src to dst. It is an error if src would not be restored
// exactly.
func (s Scale) Encode(dst, src []byte) ([]byte, error) {
	if err := s.From.whole("fixedscaleoffset", len(src)); err != nil {
		return nil, err
	}
	dst, out := wire.Extend(dst, len(src)/s.From.Size*s.To.Size)
	var buf [part]float64
	var back [8 * part]byte
	for len(src) > 0 {
		n := min(part, len(src)/s.From.Size)
		x, in, enc := buf[:n], src[:n*s.From.Size], out[:n*s.To.Size]
		s.From.load(x, in)
		for i := range x {
			x[i] = math.RoundToEven(float64(x[i]-s.Offset) * s.Scale)
		}
		same := s.To.store(enc, x)
		if same == n {
			if same = s.decode(back[:len(in)], enc, x); same == n {
				same = samePrefix(back[:len(in)], in) / s.From.Size
			}
		}
		if same < n {
			s.From.load(x, in)
			return nil, wire.Errorf(wire.ErrParam, "fixedscaleoffset: %v is not restored exactly", x[same])
		}
		src, out = src[len(in):], out[len(enc):]
	}
	return dst, nil
}

// decode decodes numbers in numpy's arithmetic, with a buffer for them. It returns how
// many the type has before one that it does not have.
func (s Scale) decode(out, enc []byte, buf []float64) int {
	s.To.load(buf, enc)
	for i := range buf {
		buf[i] = buf[i]/s.Scale + s.Offset
	}
	return s.From.store(out, buf)
}

// samePrefix returns how many bytes are the same before the first that differs.
func samePrefix(a, b []byte) int {
	if bytes.Equal(a, b) {
		return len(a)
	}
	n := 0
	for a[n] == b[n] {
		n++
	}
	return n
}

// Decode appends the decoded src to dst, at most max bytes.
func (s Scale) Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src)%s.To.Size != 0 {
		return nil, wire.Damaged("fixedscaleoffset: expected elements of %d bytes, found %d bytes", s.To.Size, len(src))
	}
	all := len(src) / s.To.Size
	if n := int64(all) * int64(s.From.Size); n > int64(max) {
		return nil, wire.TooLong("fixedscaleoffset", max, uint64(n))
	}
	dst, out := wire.Extend(dst, all*s.From.Size)
	var buf [part]float64
	for at := 0; at < all; at += part {
		n := min(part, all-at)
		if got := s.decode(out[at*s.From.Size:][:n*s.From.Size], src[at*s.To.Size:][:n*s.To.Size], buf[:n]); got < n {
			return nil, wire.Damaged("fixedscaleoffset: element %d is out of range", at+got)
		}
	}
	return dst, nil
}

// AppendBits appends the number of unused bits at the end, and a bit for each byte of
// src, which must be 0 or 1, most significant first.
func AppendBits(dst, src []byte) ([]byte, error) {
	w := wire.BitWriter{Buf: append(dst, byte(-len(src)&7))}
	for _, b := range src {
		if b > 1 {
			return nil, wire.Errorf(wire.ErrParam, "packbits: expected bytes of 0 or 1, found %d", b)
		}
		w.Put(uint64(b), 1)
	}
	w.Align()
	return w.Buf, nil
}

// AppendBools undoes [AppendBits]. It appends at most max bytes.
func AppendBools(dst, src []byte, max int) ([]byte, error) {
	if len(src) == 0 || src[0] > 7 || len(src) == 1 && src[0] > 0 {
		return nil, wire.Damaged("packbits: expected the number of unused bits and bytes")
	}
	n := 8*int64(len(src)-1) - int64(src[0])
	if n > int64(max) {
		return nil, wire.TooLong("packbits", max, uint64(n))
	}
	if src[len(src)-1]&(1<<src[0]-1) != 0 && len(src) > 1 {
		return nil, wire.Damaged("packbits: expected unused bits to be 0")
	}
	r := wire.NewBitReader(src[1:])
	dst, out := wire.Extend(dst, int(n))
	for i := range out {
		out[i] = byte(r.Get(1))
	}
	return dst, nil
}
