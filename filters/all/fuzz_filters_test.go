package all

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// fuzzFilters are the filters that [FuzzFilters] decodes with. Seeds contain positions in
// this list, so new ones go to the end.
var fuzzFilters = []struct {
	name, spec string
	src        []byte // encoded as a seed
}{
	{"scaleoffset", "6,2,0,15,0,2,1,1" + zeros(13), smallInts(2, true)},
	{"scaleoffset-fill", "6,2,0,15,0,4,1,1,1,41" + zeros(11), smallInts(4, true)},
	{"scaleoffset-bits", "6,2,5,15,0,8,0,0" + zeros(13), smallInts(8, false)},
	{"scaleoffset-floats", "6,0,0,10,1,4,0,1" + zeros(13), decimals(">f4", 4)[0]},
	{"scaleoffset-doubles", "6,0,2,7,1,8,0,0,1" + zeros(12), decimals("<f8", 8)[4]},
	{"nbit", "5,8,0,15,1,2,1,10,0", smallInts(2, true)},
	{"nbit-offset", "5,8,0,15,1,8,0,60,0", smallInts(8, false)},
	{"lzf", "32000,4,261,500", filtertest.Field(500)},
	{"bitshuffle", "32008,0,3,4", filtertest.Field(1200)},
	{"bitshuffle-lz4", "32008,0,3,4,64,2", filtertest.Field(1100)},
	{"bitshuffle-zstd", "32008,0,3,2,0,3,3", filtertest.Field(1100)},
	{"blosc-stored", "32001,2,2,4,0,0,1,1", filtertest.Field(300)},
	{"blosclz", "32001,2,2,4,0,5,1,0", filtertest.Field(1100)},
	{"blosc-lz4", "32001,2,2,4,0,5,2,1", filtertest.Field(1100)},
	{"blosc-lz4hc", "32001,2,2,8,0,9,1,2", filtertest.Field(1200)},
	{"blosc-snappy", "32001,2,2,4,0,5,1,3", filtertest.Field(1100)},
	{"blosc-zlib", "32001,2,2,4,0,5,0,4", filtertest.Field(1100)},
	{"blosc-zstd", "32001,2,2,2,0,5,2,5", filtertest.Field(1100)},
	{"delta", "52724,1,2,1", smallInts(2, true)},
	{"fixedscaleoffset", "52725,3,4,1,2,1,0,0,1072693248,0,0", decimals(">f4", 4)[0]}, // scale 1, offset 0
	{"quantize", "52726,1,3,4,1", decimals(">f4", 4)[0]},
	{"bitround", "52727,10,3,4,1", decimals(">f4", 4)[0]},
	{"packbits", "52728", []byte{1, 0, 1, 1, 0, 0, 1, 0, 1, 1}},
	{"crc32", "52729", filtertest.Field(50)},
	{"adler32-end", "52730,1", filtertest.Field(50)},
	{"szip-floats", "4,177,8,32,50", filtertest.Field(400)},
	{"szip-entropy", "4,149,16,8,60", smallInts(8, true)},
	{"szip-shorts", "4,177,32,16,64", smallInts(2, true)},
	{"szip-24-bits", "4,169,4,24,7", []byte{1, 2, 3, 0, 1, 2, 3, 0, 250, 240, 230, 0, 0, 0, 0, 0}},
	{"lzma", "52732", filtertest.Field(500)},
	{"lzma-sha256", "52732,1,10,65536,4", filtertest.Field(500)},
	{"lzma-alone", "52732,2,0,0", filtertest.Field(500)},
	{"lzma-raw", "52732,3,0,0,2", filtertest.Field(500)},
	{"lzma-preset", "52732,1,4294967295,7", filtertest.Field(500)},
	{"numcodecs-lz4", "52734,3", filtertest.Field(500)},
	{"blosc-parts", "32001,2,2,4,0,5,1,1,256", filtertest.Field(1100)},
}

// FuzzFilters passes hostile blocks to the decoder of a filter. Memory must stay bounded.
// What decodes either survives another round trip or is refused by the encoder.
func FuzzFilters(f *testing.F) {
	var coders []*filters.Coder
	s := seeds.Of(f)
	for i, c := range fuzzFilters {
		k := filtertest.Coder(f, filtertest.Chain(f, c.spec))
		coders = append(coders, k)
		stored, _, err := k.Encode(nil, c.src)
		if err != nil {
			f.Fatalf("%s: %v", c.name, err)
		}
		s.Add(c.name, uint8(i), stored, uint16(len(c.src)))
		cut := stored[:len(stored)*2/3]
		f.Add(uint8(i), cut, uint16(len(c.src)))
	}
	f.Fuzz(func(t *testing.T, i uint8, stored []byte, n uint16) {
		k := coders[int(i)%len(coders)]
		dst, guard := filtertest.Guarded(int(n))
		var err error
		grew := allocated(func() { err = k.Decode(dst, stored, 0) })
		guard(t)
		if bound := uint64(2*k.Memory(int(n)) + 1<<20); grew > bound {
			t.Errorf("%s: expected at most %d bytes of memory, found %d", k.Chain(), bound, grew)
		}
		if err != nil {
			if !filtertest.KnownErr(err) {
				t.Errorf("%s: %v", k.Chain(), err)
			}
			return
		}
		again, _, err := k.Encode(nil, dst)
		if errors.Is(err, filters.ErrParam) {
			return
		}
		back := make([]byte, n)
		if err == nil {
			err = k.Decode(back, again, 0)
		}
		if err != nil || !bytes.Equal(back, dst) {
			t.Fatalf("%s: decode again: %v", k.Chain(), err)
		}
	})
}

// TestFilterDamage changes and cuts the blocks of all filters of the list.
func TestFilterDamage(t *testing.T) {
	for _, c := range fuzzFilters {
		k := filtertest.Coder(t, filtertest.Chain(t, c.spec))
		stored := filtertest.CheckRound(t, k, c.src)
		step := 1
		if testing.Short() {
			step = 5
		}
		for i := 0; i < len(stored); i += step {
			for _, p := range [][]byte{stored[:i], change(stored, i, 0x01), change(stored, i, 0x80), change(stored, i, 0xff)} {
				dst, guard := filtertest.Guarded(len(c.src))
				if err := k.Decode(dst, p, 0); err != nil && !filtertest.KnownErr(err) {
					t.Errorf("%s, byte %d: %v", c.name, i, err)
				} else if err == nil && len(p) < len(stored) && len(p) > 0 && bytes.Equal(dst, c.src) {
					t.Errorf("%s: %d bytes suffice", c.name, i)
				}
				guard(t)
			}
		}
		for _, extra := range []int{1, 100} {
			if err := k.Decode(make([]byte, len(c.src)), append(bytes.Clone(stored), make([]byte, extra)...), 0); !filtertest.KnownErr(err) {
				t.Errorf("%s: %d more bytes: %v", c.name, extra, err)
			}
		}
		for _, n := range []int{0, len(c.src) - 1, len(c.src) + 1} {
			if err := k.Decode(make([]byte, n), stored, 0); !filtertest.KnownErr(err) {
				t.Errorf("%s, %d bytes: %v", c.name, n, err)
			}
		}
	}
}

func change(p []byte, i int, x byte) []byte {
	p = bytes.Clone(p)
	p[i] ^= x
	return p
}
