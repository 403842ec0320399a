package cf

import (
	"context"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// Array returns a view of stored values as type p.Stored.
func (p *Packing) Array(a slab.Array) slab.Array {
	if a == nil || a.Type() == p.Stored {
		return a
	}
	return resignedArray{a, p.Stored}
}

// resignedArray is an array of integers with the other signedness.
type resignedArray struct {
	slab.Array
	typ cdf3.Type
}

func (a resignedArray) Type() cdf3.Type { return a.typ }

// NaN returns the NaN for missing values. It has the bits that C and numpy use.
func NaN() float64 { return math.Float64frombits(0x7ff8 << 48) }

// packed is an array that knows its packing, such as a variable of package archive.
type packed interface{ Packing() (*Packing, error) }

// packingOf returns p, or the packing of an array if p is nil.
func packingOf(a slab.Array, p *Packing) (*Packing, error) {
	if p != nil {
		return p, nil
	}
	if v, ok := a.(packed); ok {
		return v.Packing()
	}
	if a == nil {
		return nil, fmt.Errorf("cf: no array: %w", slab.ErrType)
	}
	return &Packing{Stored: a.Type(), Type: a.Type(), Scale: 1, own: a.Type()}, nil
}

// Read reads a hyperslab of numbers and unpacks it into a new slice. A nil p is the packing of
// the variable if a is one of package archive, and none for other arrays. Values are computed in
// p.Type, whatever T is. Text is an error. Like slab.Read, it refuses, with slab.ErrLength, values
// that do not fit into memory or that the file cannot hold.
func Read[T float32 | float64](ctx context.Context, a slab.Array, s slab.Sel, p *Packing) ([]T, error) {
	const sizes = 8 + 8 // of a value in dst and in the slice of stored values, at most
	n, err := slab.Confirm(ctx, a, s, sizes)
	if err != nil {
		return nil, err
	}
	dst := make([]T, n)
	if err := ReadInto(ctx, a, dst, s, p); err != nil {
		return nil, err
	}
	return dst, nil
}

// ReadInto is Read into dst, whose length must be the number of selected elements.
func ReadInto[T float32 | float64](ctx context.Context, a slab.Array, dst []T, s slab.Sel, p *Packing) error {
	p, err := packingOf(a, p)
	if err != nil {
		return err
	}
	a = p.Array(a)
	switch p.Stored {
	case cdf3.Byte:
		return read[int8](ctx, a, dst, s, p)
	case cdf3.UByte:
		return read[uint8](ctx, a, dst, s, p)
	case cdf3.Short:
		return read[int16](ctx, a, dst, s, p)
	case cdf3.UShort:
		return read[uint16](ctx, a, dst, s, p)
	case cdf3.Int:
		return read[int32](ctx, a, dst, s, p)
	case cdf3.UInt:
		return read[uint32](ctx, a, dst, s, p)
	case cdf3.Int64:
		return read[int64](ctx, a, dst, s, p)
	case cdf3.UInt64:
		return read[uint64](ctx, a, dst, s, p)
	case cdf3.Float:
		return read[float32](ctx, a, dst, s, p)
	case cdf3.Double:
		return read[float64](ctx, a, dst, s, p)
	}
	return fmt.Errorf("cf: expected numbers to unpack, found type %s: %w", p.Stored, slab.ErrType)
}

func read[S cdf3.Number, T float32 | float64](ctx context.Context, a slab.Array, dst []T, s slab.Sel, p *Packing) error {
	src := make([]S, len(dst))
	if err := slab.ReadInto(ctx, a, src, s); err != nil {
		return err
	}
	if p.Type == cdf3.Float {
		unpack[float32](dst, src, p)
	} else {
		unpack[float64](dst, src, p)
	}
	return nil
}

// unpack computes in the type C.
func unpack[C, T float32 | float64, S cdf3.Number](dst []T, src []S, p *Packing) {
	missing := Missing[S](p, p.Stored)
	scale, offset := C(p.Scale), C(p.Offset)
	for i, x := range src {
		y := C(x)
		if p.Scaled {
			// The conversions prevent fused multiply-add, so that all processors agree.
			y = C(C(y*scale) + offset)
		}
		if Contains(missing, x) {
			y = C(NaN())
		}
		dst[i] = T(y)
	}
}
