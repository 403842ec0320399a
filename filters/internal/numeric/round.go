package numeric

import (
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Quantize appends the floats of src, rounded to a number of decimal digits after the point as
// numcodecs.Quantize does: to the nearest multiple of a power of 2 that is small enough.
func Quantize(dst, src []byte, t Type, digits int) ([]byte, error) {
	if err := t.whole("quantize", len(src)); err != nil {
		return nil, err
	}
	// 2^bits is the first power of 2 that is at least 10^digits.
	scale := math.Exp2(math.Ceil(math.Log2(math.Pow10(digits))))
	dst, out := wire.Extend(dst, len(src))
	in, enc := t.elements(src), t.elements(out)
	for i := range in.Len() {
		// Scaling by powers of 2 is exact, unless it overflows as in numpy.
		v := in.At(i)
		if t.Size == 4 {
			x := float32(scale) * math.Float32frombits(uint32(v))
			v = uint64(math.Float32bits(float32(math.RoundToEven(float64(x))) / float32(scale)))
		} else {
			v = math.Float64bits(math.RoundToEven(scale*math.Float64frombits(v)) / scale)
		}
		enc.Set(i, v)
	}
	return dst, nil
}

// BitRound appends the floats of src with the mantissa rounded to keep bits, half to even,
// as numcodecs.BitRound does. Infinities and NaNs do not change.
func BitRound(dst, src []byte, t Type, keep int) ([]byte, error) {
	if err := t.whole("bitround", len(src)); err != nil {
		return nil, err
	}
	mantissa := 23
	if t.Size == 8 {
		mantissa = 52
	}
	drop := uint(max(mantissa-keep, 0))
	dst, out := wire.Extend(dst, len(src))
	in, enc := t.elements(src), t.elements(out)
	exponent := t.mask() >> 1 >> mantissa << mantissa
	for i := range in.Len() {
		v := in.At(i)
		if drop > 0 && v&exponent != exponent {
			half := uint64(1)<<(drop-1) - 1
			v = (v + v>>drop&1 + half) >> drop << drop
		}
		enc.Set(i, v)
	}
	return dst, nil
}
