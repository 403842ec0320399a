package numeric

import (
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Exponents of infinities and NaNs.
const (
	inf32 uint32 = 0xff << 23
	inf64 uint64 = 0x7ff << 52
)

// Quantize appends the floats of src, rounded to a number of decimal digits after the point as
// numcodecs.Quantize does: to the nearest multiple of a power of 2 that is small enough.
// Values in keep, as bits, do not change. Neither do infinities, NaNs, and values so large
// that the product with that power overflows, which numcodecs makes infinite: they are
// multiples already.
func Quantize(dst, src []byte, t Type, digits int, keep []uint64) ([]byte, error) {
	if err := t.whole("quantize", len(src)); err != nil {
		return nil, err
	}
	// 2^bits is the first power of 2 that is at least 10^digits.
	scale := math.Exp2(math.Ceil(math.Log2(math.Pow10(digits))))
	dst, out := wire.Extend(dst, len(src))
	in, enc := t.elements(src), t.elements(out)
	for i := range in.Len() {
		// Scaling by powers of 2 is exact, unless it overflows.
		v := in.At(i)
		if t.Size == 4 {
			x := float32(scale) * math.Float32frombits(uint32(v))
			if r := math.Float32bits(float32(math.RoundToEven(float64(x))) / float32(scale)); r&inf32 != inf32 && !slices.Contains(keep, v) {
				v = uint64(r)
			}
		} else {
			x := scale * math.Float64frombits(v)
			if r := math.Float64bits(math.RoundToEven(x) / scale); r&inf64 != inf64 && !slices.Contains(keep, v) {
				v = r
			}
		}
		enc.Set(i, v)
	}
	return dst, nil
}

// BitRound appends the floats of src with the mantissa rounded to a number of bits, half to
// even, as numcodecs.BitRound does. Values in keep, as bits, do not change. Neither do
// infinities, NaNs, and values that would become infinite.
func BitRound(dst, src []byte, t Type, bits int, keep []uint64) ([]byte, error) {
	if err := t.whole("bitround", len(src)); err != nil {
		return nil, err
	}
	mantissa := 23
	if t.Size == 8 {
		mantissa = 52
	}
	drop := uint(max(mantissa-bits, 0))
	dst, out := wire.Extend(dst, len(src))
	in, enc := t.elements(src), t.elements(out)
	exponent := t.mask() >> 1 >> mantissa << mantissa
	for i := range in.Len() {
		v := in.At(i)
		if drop > 0 && v&exponent != exponent && !slices.Contains(keep, v) {
			half := uint64(1)<<(drop-1) - 1
			if r := (v + v>>drop&1 + half) >> drop << drop; r&exponent != exponent {
				v = r
			}
		}
		enc.Set(i, v)
	}
	return dst, nil
}
