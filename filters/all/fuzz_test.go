package all

import (
	"bytes"
	"testing"

	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// Each decoder gets hostile blocks. Memory must stay bounded, and decoded data must
// survive another round trip. The seeds of testdata/fuzz that are not generated are
// blocks of other programs and faults found in them.
func fuzzDecoder(f *testing.F, spec string) {
	k := filtertest.Coder(f, filtertest.Chain(f, spec))
	s := seeds.Of(f)
	for i, src := range [][]byte{nil, []byte("a"), filtertest.Field(100), make([]byte, 300), filtertest.Noise(40)} {
		stored, _, err := k.Encode(nil, src)
		if err != nil {
			f.Fatal(err)
		}
		if f.Add(stored, uint16(len(src))); i == 2 {
			s.AddDamaged("field", stored, uint16(len(src)))
		}
	}
	f.Fuzz(func(t *testing.T, stored []byte, n uint16) {
		dst, guard := filtertest.Guarded(int(n))
		var err error
		grew := allocated(func() { err = k.Decode(dst, stored, 0) })
		guard(t)
		// A session may be new. Memory counts its tables once, and allocated counts the
		// garbage too: a second bzip2 stream of larger blocks replaces those of the first.
		if bound := uint64(2*k.Memory(int(n)) + 1<<20); grew > bound {
			t.Errorf("expected at most %d bytes of memory, found %d", bound, grew)
		}
		if err != nil {
			if !filtertest.KnownErr(err) {
				t.Error(err)
			}
			return
		}
		again, mask, err := k.Encode(nil, dst)
		if err != nil || mask != 0 {
			t.Fatalf("encode: %v, mask %x", err, mask)
		}
		back := make([]byte, n)
		if err := k.Decode(back, again, 0); err != nil || !bytes.Equal(back, dst) {
			t.Fatalf("decode again: %v", err)
		}
	})
}

func FuzzDeflate(f *testing.F)    { fuzzDecoder(f, "1,6") }
func FuzzShuffle(f *testing.F)    { fuzzDecoder(f, "2,4") }
func FuzzFletcher32(f *testing.F) { fuzzDecoder(f, "3") }
func FuzzBzip2(f *testing.F)      { fuzzDecoder(f, "307,1") }
func FuzzLZ4(f *testing.F)        { fuzzDecoder(f, "32004,64") }
func FuzzZstd(f *testing.F)       { fuzzDecoder(f, "32015,3") }
func FuzzChain(f *testing.F)      { fuzzDecoder(f, "2,4|32015,3|3|1,1") }

// FuzzRoundTrip passes any bytes through every chain.
func FuzzRoundTrip(f *testing.F) {
	s := seeds.Of(f)
	s.Add("abc", []byte("abc"), uint8(0))
	s.Add("field", filtertest.Field(1000), uint8(1))
	f.Add(filtertest.Field(5000), uint8(1))
	f.Fuzz(func(t *testing.T, src []byte, i uint8) {
		filtertest.CheckRound(t, filtertest.Coder(t, filtertest.Chain(t, filtertest.Chains[int(i)%len(filtertest.Chains)])), src)
	})
}
