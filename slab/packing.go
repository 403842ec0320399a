package slab

import (
	"context"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Packing says how stored values stand for real ones, after the CF conventions
// (section 8.1) and netCDF's attributes: a value is Scale times the stored one
// plus Offset, unless that stands for a missing value. The zero value changes
// nothing but the type.
type Packing struct {
	// Scale and Offset are scale_factor and add_offset; a Scale of 0 means 1.
	Scale, Offset float64
	// Missing are stored values that stand for none: _FillValue and missing_value.
	// NaN stands for all NaNs.
	Missing []float64
	// Unsigned reads stored integers as if their type had no sign (_Unsigned).
	Unsigned bool
}

// unsignedOf is the unsigned type of the same size.
var unsignedOf = map[cdf3.Type]cdf3.Type{cdf3.Byte: cdf3.UByte, cdf3.Short: cdf3.UShort, cdf3.Int: cdf3.UInt, cdf3.Int64: cdf3.UInt64}

// Unpack reads a hyperslab of numbers and unpacks it: missing values become NaN.
// Text gives ErrType.
func Unpack(ctx context.Context, a Array, dst []float64, s Sel, p *Packing) error {
	if err := check(a); err != nil {
		return err
	}
	b := plain{a.Type(), a.Shape(), a.Values()}
	if u, ok := unsignedOf[b.typ]; ok && p.Unsigned {
		b.typ = u
	}
	if b.typ == cdf3.Char {
		return fmt.Errorf("slab: text cannot be unpacked: %w", ErrType)
	}
	if err := Convert(ctx, b, dst, s); err != nil {
		return err
	}
	scale := p.Scale
	if scale == 0 {
		scale = 1
	}
	plain := scale == 1 && p.Offset == 0
	if plain && len(p.Missing) == 0 {
		return nil
	}
	for i, x := range dst {
		switch {
		case p.missing(x):
			dst[i] = math.NaN()
		case !plain:
			dst[i] = x*scale + p.Offset
		}
	}
	return nil
}

func (p *Packing) missing(x float64) bool {
	for _, m := range p.Missing {
		if x == m || x != x && m != m {
			return true
		}
	}
	return false
}
