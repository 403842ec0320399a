package lorenz

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Kinds of value transforms. Part of the format.
const (
	mapOrder  = 0 // integers as they are, floats in the order of their values
	mapFix    = 1 // k × 2^q
	mapRatio  = 2 // k / d
	mapDict   = 3 // index into the distinct values
	mapSingle = 4 // doubles that are floats

	mapKinds = 5
)

// maxDivisor is the largest divisor of mapRatio. Part of the format.
const maxDivisor = 1 << 53

// inverse is a value transform in the decoder: from lanes to the big-endian bytes of
// elements.
type inverse struct {
	typ     Type
	kind    byte
	scale   float64 // of mapFix
	divisor float64 // of mapRatio
	dict    []byte  // the elements of mapDict, big-endian
}

// allowed reports whether a transform exists for a type and lane width.
func allowed(t Type, kind byte, wide bool) bool {
	double := t == Float64
	switch kind {
	case mapOrder:
		return wide == (t.Size() == 8)
	case mapFix, mapRatio:
		return double || t == Float32 && !wide
	case mapDict:
		return !wide
	case mapSingle:
		return double && !wide
	}
	return false
}

// put32 writes the elements whose lanes are y.
func (v *inverse) put32(dst []byte, y []uint32) {
	single := v.typ == Float32
	switch v.kind {
	case mapOrder:
		v.order32(dst, y)
	case mapFix:
		if single {
			kernels.PutProducts(dst, y, v.scale)
			return
		}
		for i, k := range y {
			binary.BigEndian.PutUint64(dst[8*i:], math.Float64bits(float64(int32(k))*v.scale))
		}
	case mapRatio:
		if single {
			kernels.PutQuotients(dst, y, v.divisor)
			return
		}
		for i, k := range y {
			binary.BigEndian.PutUint64(dst[8*i:], math.Float64bits(float64(int32(k))/v.divisor))
		}
	case mapDict:
		v.lookup(dst, y)
	case mapSingle:
		for i, k := range y {
			x := float64(math.Float32frombits(kernels.Unordered(k)))
			binary.BigEndian.PutUint64(dst[8*i:], math.Float64bits(x))
		}
	}
}

// order32 writes the elements of mapOrder.
func (v *inverse) order32(dst []byte, y []uint32) {
	switch {
	case v.typ == Float32:
		kernels.PutOrdered(dst, y)
	case v.typ.Size() == 4:
		putBits32(dst, y)
	case v.typ.Size() == 2:
		for i, k := range y {
			binary.BigEndian.PutUint16(dst[2*i:], uint16(k))
		}
	default:
		for i, k := range y {
			dst[i] = byte(k)
		}
	}
}

// put64 is put32 for wide lanes.
func (v *inverse) put64(dst []byte, y []uint64) {
	switch v.kind {
	case mapOrder:
		if !v.typ.float() {
			putBits64(dst, y)
			return
		}
		for i, k := range y {
			binary.BigEndian.PutUint64(dst[8*i:], kernels.Unordered(k))
		}
	case mapFix:
		for i, k := range y {
			binary.BigEndian.PutUint64(dst[8*i:], math.Float64bits(float64(int64(k))*v.scale))
		}
	case mapRatio:
		for i, k := range y {
			binary.BigEndian.PutUint64(dst[8*i:], math.Float64bits(float64(int64(k))/v.divisor))
		}
	}
}

// lookup writes dictionary entries, the first one for an index that is too
// large, which masked elements may have.
func (v *inverse) lookup(dst []byte, y []uint32) {
	size := v.typ.Size()
	n := uint32(len(v.dict) / size)
	if size == 4 {
		kernels.Lookup(dst, y, v.dict)
		return
	}
	for i, k := range y {
		if k >= n {
			k = 0
		}
		copy(dst[i*size:(i+1)*size], v.dict[int(k)*size:])
	}
}

// putBits32 writes integers or the bits of floats.
func putBits32(dst []byte, y []uint32) {
	kernels.Put(dst, y)
}

func putBits64(dst []byte, y []uint64) {
	for i, k := range y {
		binary.BigEndian.PutUint64(dst[8*i:], k)
	}
}

// swap reverses the bytes of each element.
func swap(b []byte, size int) {
	switch size {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			b[0], b[1] = b[1], b[0]
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
		}
	}
}

// loadBits32 reads big-endian elements of up to 4 bytes as their bits, with signed
// integers sign-extended.
func loadBits32(dst []uint32, src []byte, t Type) {
	switch t.Size() {
	case 4:
		kernels.Load(dst, src)
	case 2:
		for i := range dst {
			dst[i] = uint32(binary.BigEndian.Uint16(src[2*i:]))
		}
		if t.signed() {
			for i, v := range dst {
				dst[i] = uint32(int32(int16(v)))
			}
		}
	case 1:
		for i := range dst {
			dst[i] = uint32(src[i])
		}
		if t.signed() {
			for i, v := range dst {
				dst[i] = uint32(int32(int8(v)))
			}
		}
	}
}

// loadBits64 reads big-endian elements of 8 bytes as their bits.
func loadBits64(dst []uint64, src []byte) {
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(src[8*i:])
	}
}

// order32 and order64 map the bits of elements to the lanes of mapOrder.
func order32(dst, u []uint32, t Type) {
	if !t.float() {
		copy(dst, u)
		return
	}
	kernels.Order(dst, u)
}

func order64(dst, u []uint64, t Type) {
	if !t.float() {
		copy(dst, u)
		return
	}
	for i, v := range u {
		dst[i] = kernels.Ordered(v)
	}
}
