package scaleoffset

import (
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// float is a floating-point type. HDF5 computes in the type of the data, so the results
// depend on it.
type float interface{ float32 | float64 }

func fromBits[T float](v uint64, size int) T {
	if size == 4 {
		return T(math.Float32frombits(uint32(v)))
	}
	return T(math.Float64frombits(v))
}

func toBits[T float](v T, size int) uint64 {
	if size == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(float64(v))
}

// decimal is the arithmetic of HDF5's D-scaling.
type decimal[T float] struct {
	Params
	scale     T // 10^Factor
	tolerance float64
	least     T
	fill      T
	width     uint
}

func newDecimal[T float](p Params) decimal[T] {
	return decimal[T]{
		Params: p, scale: T(math.Pow10(p.Factor)), tolerance: math.Pow10(-p.Factor),
		fill: fromBits[T](p.Fill, p.Size),
	}
}

// isFill reports whether a value is the fill value, or so close that HDF5 takes it as
// such.
func (d decimal[T]) isFill(v T) bool {
	return d.HasFill && math.Abs(float64(v-d.fill)) < d.tolerance
}

// steps returns the difference of two values in units of the last decimal place. The
// conversions keep the compiler from fusing operations.
func (d decimal[T]) steps(v, least T) float64 {
	return math.Round(float64(T(T(v*d.scale) - T(least*d.scale))))
}

// value returns the value of a stored number.
func (d decimal[T]) value(k uint64) T {
	if d.HasFill && k == 1<<d.width-1 {
		return d.fill
	}
	n := int64(k)
	if d.Size == 4 {
		n = int64(int32(k))
	}
	return T(T(n)/d.scale) + d.least
}

func encodeFloats[T float](dst []byte, e wire.Elements, p Params) ([]byte, error) {
	d := newDecimal[T](p)
	var most T
	found := false
	for i := range e.Len() {
		v := fromBits[T](e.At(i), p.Size)
		if d.isFill(v) {
			continue
		}
		if !found {
			d.least, most, found = v, v, true
		}
		d.least, most = min(d.least, v), max(most, v)
	}
	span := d.steps(most, d.least)
	if !(span <= math.Ldexp(1, 8*p.Size-1)-1) {
		return appendWhole(dst, e, 0), nil
	}
	d.width = ceilLog2(uint64(span) + 1)
	if p.HasFill {
		d.width = ceilLog2(uint64(span) + 2)
	}
	least := toBits(d.least, p.Size)
	if d.width == e.Bits() {
		return appendWhole(dst, e, least), nil
	}
	number := func(i int) uint64 {
		v := fromBits[T](e.At(i), p.Size)
		if d.isFill(v) {
			return 1<<d.width - 1
		}
		return uint64(int64(d.steps(v, d.least)))
	}
	for i := range e.Len() {
		if k := number(i); k > 1<<d.width-1 || toBits(d.value(k), p.Size) != e.At(i) {
			return nil, wire.Errorf(wire.ErrParam, "scaleoffset: expected numbers of %d decimal places, found %v", p.Factor, fromBits[T](e.At(i), p.Size))
		}
	}
	return p.pack(dst, d.width, least, number), nil
}

func decodeFloats[T float](e wire.Elements, r wire.BitReader, width uint, least uint64, p Params) {
	d := newDecimal[T](p)
	d.width, d.least = width, fromBits[T](least, p.Size)
	for i := range e.Len() {
		e.Set(i, toBits(d.value(r.Get(width)), p.Size))
	}
}
