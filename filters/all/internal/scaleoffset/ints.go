package scaleoffset

import "github.com/cdfz-format/cdfz/filters/internal/wire"

func encodeInts(dst []byte, e wire.Elements, p Params) ([]byte, error) {
	mask := e.Mask()
	fill := p.Fill & mask
	// Signed numbers have the order of unsigned ones once their sign is inverted.
	var sign uint64
	if p.Signed {
		sign = 1 << (e.Bits() - 1)
	}
	least, most := mask, uint64(0)
	for i := range e.Len() {
		v := e.At(i)
		if p.HasFill && v == fill {
			continue
		}
		v ^= sign
		least, most = min(least, v), max(most, v)
	}
	var span uint64 // the largest difference
	if least > most {
		least = sign // no values: HDF5 starts from 0
	} else {
		span = most - least
	}
	least = (least ^ sign) & mask
	stored := least
	if p.Signed {
		stored = signExtend(least, e.Bits())
	}
	need := e.Bits()
	if span <= mask-2 {
		need = ceilLog2(span + 1)
		if p.HasFill {
			need = ceilLog2(span + 2)
		}
	} else if p.HasFill && p.Factor == 0 {
		stored = 0 // HDF5 returns before it stores the least value
	}
	width := uint(p.Factor)
	if width == 0 {
		width = need
	}
	if need > width {
		return nil, wire.Errorf(wire.ErrParam, "scaleoffset: expected integers of %d bits, found some of %d", width, need)
	}
	if width == e.Bits() {
		return appendWhole(dst, e, stored), nil
	}
	ones := uint64(1)<<width - 1
	return p.pack(dst, width, stored, func(i int) uint64 {
		if v := e.At(i); !p.HasFill || v != fill {
			return (v - least) & mask
		}
		return ones
	}), nil
}

func decodeInts(e wire.Elements, r wire.BitReader, width uint, least uint64, p Params) {
	ones := uint64(1)<<width - 1
	for i := range e.Len() {
		v := r.Get(width)
		if p.HasFill && v == ones {
			v = p.Fill
		} else {
			v += least
		}
		e.Set(i, v)
	}
}

func signExtend(v uint64, width uint) uint64 {
	return uint64(int64(v<<(64-width)) >> (64 - width))
}
