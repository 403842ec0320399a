package numeric

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// part is the number of elements that are converted at a time.
const part = 512

// The loops below are compiled for each type, which is several times as fast as one over
// sizes known at run time only.

// load converts numbers.
func (t Type) load(dst []float64, src []byte) {
	switch {
	case t.Float && t.Size == 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(load[uint32](src[4*i:], t.BigEndian)))
		}
	case t.Float:
		for i := range dst {
			dst[i] = math.Float64frombits(load[uint64](src[8*i:], t.BigEndian))
		}
	case t.Size == 1:
		loadInts[uint8](dst, src, t)
	case t.Size == 2:
		loadInts[uint16](dst, src, t)
	case t.Size == 4:
		loadInts[uint32](dst, src, t)
	default:
		loadInts[uint64](dst, src, t)
	}
}

func loadInts[T unsigned](dst []float64, src []byte, t Type) {
	if !t.Signed {
		for i := range dst {
			dst[i] = float64(load[T](src[i*t.Size:], t.BigEndian))
		}
		return
	}
	shift := 64 - 8*t.Size
	for i := range dst {
		dst[i] = float64(int64(uint64(load[T](src[i*t.Size:], t.BigEndian))<<shift) >> shift)
	}
}

// store is the reverse of load. Numbers are cut to integers for types of integers. It
// stops at a number that the type does not have, and returns how many are stored.
func (t Type) store(dst []byte, src []float64) int {
	switch {
	case t.Float && t.Size == 4:
		for i, v := range src {
			store(dst[4*i:], math.Float32bits(float32(v)), t.BigEndian)
		}
		return len(src)
	case t.Float:
		for i, v := range src {
			store(dst[8*i:], math.Float64bits(v), t.BigEndian)
		}
		return len(src)
	case t.Size == 1:
		return storeInts[uint8](dst, src, t)
	case t.Size == 2:
		return storeInts[uint16](dst, src, t)
	case t.Size == 4:
		return storeInts[uint32](dst, src, t)
	}
	return storeInts[uint64](dst, src, t)
}

func storeInts[T unsigned](dst []byte, src []float64, t Type) int {
	low, top := 0.0, math.Ldexp(1, 8*t.Size)
	if t.Signed {
		low, top = -top/2, top/2
	}
	for i, v := range src {
		v = math.Trunc(v)
		if !(v >= low && v < top) {
			return i
		}
		bits := uint64(int64(v))
		if v >= 1<<63 {
			bits = uint64(v)
		}
		store(dst[i*t.Size:], T(bits), t.BigEndian)
	}
	return len(src)
}

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

func load[T unsigned](p []byte, big bool) T {
	switch uint64(^T(0)) {
	case 1<<8 - 1:
		return T(p[0])
	case 1<<16 - 1:
		v := binary.LittleEndian.Uint16(p)
		if big {
			v = bits.ReverseBytes16(v)
		}
		return T(v)
	case 1<<32 - 1:
		v := binary.LittleEndian.Uint32(p)
		if big {
			v = bits.ReverseBytes32(v)
		}
		return T(v)
	}
	v := binary.LittleEndian.Uint64(p)
	if big {
		v = bits.ReverseBytes64(v)
	}
	return T(v)
}

func store[T unsigned](p []byte, v T, big bool) {
	switch uint64(^T(0)) {
	case 1<<8 - 1:
		p[0] = byte(v)
	case 1<<16 - 1:
		v := uint16(v)
		if big {
			v = bits.ReverseBytes16(v)
		}
		binary.LittleEndian.PutUint16(p, v)
	case 1<<32 - 1:
		v := uint32(v)
		if big {
			v = bits.ReverseBytes32(v)
		}
		binary.LittleEndian.PutUint32(p, v)
	default:
		v := uint64(v)
		if big {
			v = bits.ReverseBytes64(v)
		}
		binary.LittleEndian.PutUint64(p, v)
	}
}
