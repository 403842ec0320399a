package lorenz

import "fmt"

// Version is the version of the format, the first filter parameter.
const Version = 1

// MaxBytes is the largest block.
const MaxBytes = 1 << 30

// Order is the byte order of the elements.
type Order uint8

// Byte orders. Part of the format.
const (
	BigEndian    Order = 0
	LittleEndian Order = 1
)

// Params describes the blocks of a variable: all blocks of one variable share
// them.
type Params struct {
	Type  Type
	Order Order
	Dims  []int // the shape of a block, slowest dimension first; empty for a scalar
}

// check returns the number of elements of a block.
func (p Params) check() (int, error) {
	size := p.Type.Size()
	if size == 0 {
		return 0, fmt.Errorf("lorenz: expected an element type of 1 to 11, found %d", p.Type)
	}
	if p.Order > LittleEndian {
		return 0, fmt.Errorf("lorenz: expected byte order 0 or 1, found %d", p.Order)
	}
	n := 1
	for _, d := range p.Dims {
		if d < 0 || d > MaxBytes {
			return 0, fmt.Errorf("lorenz: expected a dimension of 0 to %d, found %d", MaxBytes, d)
		}
		if d > 0 && n > MaxBytes/size/d {
			return 0, fmt.Errorf("lorenz: expected a block of at most %d bytes, found shape %v", MaxBytes, p.Dims)
		}
		n *= d
	}
	return n, nil
}

// Uint32s returns the parameters as the filter's parameter vector: version,
// element type, byte order, number of dimensions, dimensions. Leading
// dimensions of 1 are left out.
func (p Params) Uint32s() ([]uint32, error) {
	if _, err := p.check(); err != nil {
		return nil, err
	}
	dims := p.Dims
	for len(dims) > 0 && dims[0] == 1 {
		dims = dims[1:]
	}
	v := []uint32{Version, uint32(p.Type), uint32(p.Order), uint32(len(dims))}
	for _, d := range dims {
		v = append(v, uint32(d))
	}
	return v, nil
}

// ParseParams is the inverse of [Params.Uint32s].
func ParseParams(v []uint32) (Params, error) {
	if len(v) < 4 {
		return Params{}, fmt.Errorf("lorenz: expected at least 4 parameters, found %d", len(v))
	}
	if v[0] != Version {
		return Params{}, fmt.Errorf("lorenz: expected format version %d, found %d", Version, v[0])
	}
	if v[1] > 11 || v[2] > 1 {
		return Params{}, fmt.Errorf("lorenz: expected an element type up to 11 and an order up to 1, found %d and %d", v[1], v[2])
	}
	if uint64(v[3]) != uint64(len(v)-4) {
		return Params{}, fmt.Errorf("lorenz: expected %d dimensions, found %d", v[3], len(v)-4)
	}
	p := Params{Type: Type(v[1]), Order: Order(v[2]), Dims: make([]int, len(v)-4)}
	for i, d := range v[4:] {
		if d > MaxBytes {
			return Params{}, fmt.Errorf("lorenz: expected a dimension of at most %d, found %d", MaxBytes, d)
		}
		p.Dims[i] = int(d)
	}
	if _, err := p.check(); err != nil {
		return Params{}, err
	}
	return p, nil
}
