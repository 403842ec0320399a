// Package numeric codes blocks in the formats of numcodecs' codecs for numbers: delta,
// fixedscaleoffset and packbits. It also rounds floats as quantize and bitround do.
package numeric

import (
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

// value returns the number with the given bits.
func (t Type) value(v uint64) float64 {
	switch {
	case t.Float && t.Size == 4:
		return float64(math.Float32frombits(uint32(v)))
	case t.Float:
		return math.Float64frombits(v)
	case t.Signed:
		return float64(t.signed(v))
	}
	return float64(v)
}

func (t Type) signed(v uint64) int64 {
	shift := 64 - 8*t.Size
	return int64(v<<shift) >> shift
}

// bits returns the bits of a number, which is cut to an integer for integers. ok is false
// if an integer type does not have it.
func (t Type) bits(v float64) (bits uint64, ok bool) {
	switch {
	case t.Float && t.Size == 4:
		return uint64(math.Float32bits(float32(v))), true
	case t.Float:
		return math.Float64bits(v), true
	}
	v = math.Trunc(v)
	top := math.Ldexp(1, 8*t.Size)
	if t.Signed {
		if !(v >= -top/2 && v < top/2) {
			return 0, false
		}
		return uint64(int64(v)), true
	}
	if !(v >= 0 && v < top) {
		return 0, false
	}
	return uint64(v), true
}

// mask has the bits of an element set.
func (t Type) mask() uint64 { return ^uint64(0) >> (64 - 8*t.Size) }

// AppendDelta appends the first integer of src and the difference of each other one to
// the one before, modulo the size of the type.
func AppendDelta(dst, src []byte, t Type) ([]byte, error) {
	if err := t.whole("delta", len(src)); err != nil {
		return nil, err
	}
	dst, out := wire.Extend(dst, len(src))
	in, enc := t.elements(src), t.elements(out)
	var last uint64
	for i := range in.Len() {
		v := in.At(i)
		enc.Set(i, v-last)
		last = v
	}
	return dst, nil
}

// AppendSums undoes [AppendDelta]. It appends at most max bytes.
func AppendSums(dst, src []byte, t Type, max int) ([]byte, error) {
	if len(src) > max {
		return nil, wire.TooLong("delta", max, len(src))
	}
	if len(src)%t.Size != 0 {
		return nil, wire.Damaged("delta: expected elements of %d bytes, found %d bytes", t.Size, len(src))
	}
	dst, out := wire.Extend(dst, len(src))
	in, dec := t.elements(src), t.elements(out)
	var sum uint64
	for i := range in.Len() {
		sum += in.At(i)
		dec.Set(i, sum)
	}
	return dst, nil
}

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
	in := s.From.elements(src)
	dst, out := wire.Extend(dst, in.Len()*s.To.Size)
	enc := s.To.elements(out)
	for i := range in.Len() {
		x := in.At(i)
		k, ok := s.To.bits(math.RoundToEven(float64(s.From.value(x)-s.Offset) * s.Scale))
		if ok {
			var back uint64
			back, ok = s.decode(k & s.To.mask())
			ok = ok && back&s.From.mask() == x
		}
		if !ok {
			return nil, wire.Errorf(wire.ErrParam, "fixedscaleoffset: %v is not restored exactly", s.From.value(x))
		}
		enc.Set(i, k)
	}
	return dst, nil
}

// decode returns the bits of the number that is stored as k, in numpy's arithmetic.
func (s Scale) decode(k uint64) (bits uint64, ok bool) {
	return s.From.bits(s.To.value(k)/s.Scale + s.Offset)
}

// Decode appends the decoded src to dst, at most max bytes.
func (s Scale) Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src)%s.To.Size != 0 {
		return nil, wire.Damaged("fixedscaleoffset: expected elements of %d bytes, found %d bytes", s.To.Size, len(src))
	}
	enc := s.To.elements(src)
	if n := int64(enc.Len()) * int64(s.From.Size); n > int64(max) {
		return nil, wire.TooLong("fixedscaleoffset", max, uint64(n))
	}
	dst, out := wire.Extend(dst, enc.Len()*s.From.Size)
	dec := s.From.elements(out)
	for i := range enc.Len() {
		v, ok := s.decode(enc.At(i))
		if !ok {
			return nil, wire.Damaged("fixedscaleoffset: element %d is out of range", i)
		}
		dec.Set(i, v)
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
