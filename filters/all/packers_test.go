package all

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// smallInts returns integers from 40 to 54.
func smallInts(size int, big bool) []byte {
	e := wire.Elements{P: make([]byte, 15*size), Size: size, Big: big}
	for i := range e.Len() {
		e.Set(i, uint64(40+i*4%15))
	}
	return e.P
}

// decimals returns blocks of floats of the given type.
func decimals(dtype string, size int) [][]byte {
	make1 := func(n int, at func(i int) float64) []byte {
		e := wire.Elements{P: make([]byte, n*size), Size: size, Big: dtype[0] == '>'}
		for i := range n {
			if size == 4 {
				e.Set(i, uint64(math.Float32bits(float32(at(i)))))
			} else {
				e.Set(i, math.Float64bits(at(i)))
			}
		}
		return e.P
	}
	return [][]byte{
		make1(10, func(i int) float64 { return float64(i) }),
		make1(1000, func(i int) float64 { return 273.15 + float64(i%321)/100 }),
		make1(1000, func(i int) float64 { return 1000 * math.Sin(float64(i)) }),
		make1(100, func(i int) float64 { return []float64{1e20, -5.25}[i%2] }),
		make1(7, func(int) float64 { return -3.5 }),
		make1(100, func(i int) float64 { return float64(i) * 1e15 }),
	}
}

// keepBits clears the bits of integers that are not significant.
func keepBits(b []byte, dtype string, precision, offset int) []byte {
	b = bytes.Clone(b)
	e := wire.Elements{P: b, Size: int(dtype[2] - '0'), Big: dtype[0] == '>'}
	for i := range e.Len() {
		e.Set(i, e.At(i)&(^uint64(0)>>(64-precision)<<offset))
	}
	return b
}

func TestPackerVectors(t *testing.T) {
	i16 := unhex(t, "0064 0065 0066 0067 0068 0069 006a 006b 006c 006d")
	raw40 := unhex(t, raw40Hex)
	so := func(typ, factor, n, class, size, sign uint32) filters.Chain {
		return filters.Chain{{ID: filters.ScaleOffset, Params: append(u(typ, factor, n, class, size, sign, 1, 1), make([]uint32, 12)...)}}
	}
	header := func(s string) string { return s + strings.Repeat("00", 21-len(s)/2) }
	for _, v := range []struct {
		name        string
		chain       filters.Chain
		raw, stored []byte
	}{
		{"integers", so(2, 0, 10, 0, 2, 1), i16, unhex(t, header("040000000864")+"012345678900")},
		{"4 bits", so(2, 4, 10, 0, 2, 1), i16, unhex(t, header("040000000864")+"012345678900")},
		{"constant", so(2, 0, 10, 0, 2, 1), bytes.Repeat([]byte{0, 7}, 10), unhex(t, header("010000000807")+"0000")},
		{"floats", so(0, 2, 10, 1, 4, 0), raw40, unhex(t, header("0a000000080000803f")+"ffc00190c84b1907d258af3200")},
		{"szip", filtertest.Chain(t, "4,177,8,32,10"), raw40, unhex(t, "2800000080003ff4000047f0080ff4080404040c03fff00000000000100040")},
		{"szip, entropy", filtertest.Chain(t, "4,149,8,32,10"), raw40, unhex(t, "28000000d4924907c0000000a10fe22000001c0200010202830381403f800208")},
		{"nbit", filtertest.Chain(t, "5,8,1,10,1,4,1,32,0"), raw40, raw40},
	} {
		k := filtertest.Coder(t, v.chain)
		dst := make([]byte, len(v.raw))
		if err := k.Decode(dst, v.stored, 0); err != nil || !bytes.Equal(dst, v.raw) {
			t.Errorf("%s: %v, %x", v.name, err, dst)
		}
		if got := filtertest.CheckRound(t, k, v.raw); !bytes.Equal(got, v.stored) {
			t.Errorf("%s: encoded %x", v.name, got)
		}
	}
}

// TestPackersRefuse checks that blocks that would not be restored exactly are refused.
func TestPackersRefuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		chain filters.Chain
		block filters.Block
		raw   []byte
	}{
		{"more bits than asked for", filters.Chain{{ID: filters.ScaleOffset, Params: u(2, 3)}}, filters.Block{Len: 30, Kind: filters.Int, Size: 2}, smallInts(2, true)},
		{"not decimal", filters.Chain{{ID: filters.ScaleOffset, Params: u(0, 2)}}, filters.Block{Len: 4000, Kind: filters.Float, Size: 4}, decimals(">f4", 4)[2]},
		{"other length", filters.Chain{{ID: filters.ScaleOffset, Params: u(2, 0)}}, filters.Block{Len: 32, Kind: filters.Int, Size: 2}, smallInts(2, true)},
		{"insignificant bits", filtertest.Chain(t, "5,8,0,15,1,2,1,3,0"), filters.Block{}, smallInts(2, true)},
	} {
		chain, err := c.chain.Complete(c.block)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := filtertest.Coder(t, chain).Encode(nil, c.raw); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s: %v", c.name, err)
		}
		chain[0].Optional = true
		stored, mask, err := filtertest.Coder(t, chain).Encode(nil, c.raw)
		if err != nil || mask != 1 || !bytes.Equal(stored, c.raw) {
			t.Errorf("%s, optional: mask %d, %v", c.name, mask, err)
		}
	}
}

func TestPackersComplete(t *testing.T) {
	for _, c := range []struct {
		spec  string
		block filters.Block
		want  string // "" for an error
	}{
		{"6,2,0", filters.Block{Len: 80, Kind: filters.Int, Size: 2}, "6,2,0,40,0,2,1,1" + zeros(13)},
		{"6,2,7", filters.Block{Len: 80, Kind: filters.Uint, Size: 8, LittleEndian: true}, "6,2,7,10,0,8" + zeros(15)},
		{"6,0,2", filters.Block{Len: 80, Kind: filters.Float, Size: 8}, "6,0,2,10,1,8,0,1" + zeros(13)},
		{"6,0,2", filters.Block{Len: 80, Kind: filters.Int, Size: 8}, ""},
		{"6,2,0", filters.Block{Len: 80, Kind: filters.Float, Size: 8}, ""},
		{"6,1,2", filters.Block{Len: 80, Kind: filters.Float, Size: 4}, ""}, // E-scaling
		{"6,2,17", filters.Block{Len: 80, Kind: filters.Int, Size: 2}, ""},
		{"6,2,0", filters.Block{Len: 80, Kind: filters.Text, Size: 1}, ""},
		{"6,2,0", filters.Block{Len: -1, Kind: filters.Int, Size: 2}, ""},
		{"6", filters.Block{Len: 80, Kind: filters.Int, Size: 2}, ""},
		{"4,32,8", filters.Block{Len: 40, Kind: filters.Float, Size: 4}, "4,177,8,32,10"},
		{"4,4,8", filters.Block{Len: 80, Kind: filters.Float, Size: 8, Shape: []int{5, 2}, LittleEndian: true}, "4,141,8,64,10"},
		{"4,32,4", filters.Block{Len: 80000, Kind: filters.Int, Size: 2, Shape: []int{5, 8000}}, "4,177,4,16,512"},
		{"4,32,4", filters.Block{Len: 2000, Kind: filters.Int, Size: 2, Shape: []int{1, 1000}}, "4,177,4,16,512"},
		{"4,32,16", filters.Block{Len: 40, Kind: filters.Float, Size: 4}, ""}, // fewer elements than a block
		{"4,32,7", filters.Block{Len: 400, Kind: filters.Float, Size: 4}, ""},
		{"4,32,34", filters.Block{Len: 400, Kind: filters.Float, Size: 4}, ""},
		{"4,32,8,26,10", filters.Block{}, ""},
		{"4,32,8,32,5000", filters.Block{}, ""},
		{"5", filters.Block{Len: 80, Kind: filters.Float, Size: 4}, "5,8,1,20,1,4,1,32,0"},
		{"5", filters.Block{Len: 80, Kind: filters.Text, Size: 1}, ""},
		{"5,8,0,20,3,4,1,32,0", filters.Block{}, ""},        // compound
		{"5,8,0,20,1,4,1,33,0", filters.Block{}, ""},        // too many bits
		{"5,8,0,20,1,4,1,30,3", filters.Block{}, ""},        // too many bits
		{"5,8,0,20,1,3,1,20,0", filters.Block{}, ""},        // size 3
		{"5,9,0,20,1,4,1,32,0", filters.Block{}, ""},        // wrong count
		{"5,8,0,4294967295,1,8,1,3,0", filters.Block{}, ""}, // too long
	} {
		got, err := filtertest.Chain(t, c.spec).Complete(c.block)
		switch {
		case c.want == "" && !errors.Is(err, filters.ErrParam):
			t.Errorf("%s: %v, %s", c.spec, err, got)
		case c.want != "" && (err != nil || got.String() != c.want):
			t.Errorf("%s: expected %s, found %s, %v", c.spec, c.want, got, err)
		case c.want != "":
			if given := got.Given().String(); given != c.spec {
				t.Errorf("%s: given %s", c.spec, given)
			}
		}
	}
}

// zeros returns n parameters of 0 in the form of mustChain.
func zeros(n int) string { return strings.Repeat(",0", n) }
