//go:build !race

package filters

import (
	"bytes"
	"testing"
)

// Tests that the race detector makes meaningless, because it allocates, or far
// too long.

// TestDeterminismLong passes the point where positions of the zstd encoder
// start anew: 2^31 with windows of 8 MiB.
func TestDeterminismLong(t *testing.T) {
	for _, spec := range []string{"32015,1", "2,4|32015,3", "2,4|32015,7"} {
		chain := mustChain(t, spec)
		used := mustCoder(t, chain)
		if _, _, err := used.Encode(nil, make([]byte, 9<<20)); err != nil { // the longest window
			t.Fatal(err)
		}
		src := field(20000)
		want, _, err := mustCoder(t, chain).Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 600 {
			got, _, err := used.Encode(nil, src)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: block %d differs from a new coder's", spec, i)
			}
		}
	}
}

// TestNoAlloc: coders at work do not allocate. bzip2 is left out: the standard
// library's decoder cannot be used again, as are the fast levels of zstd behind a
// shuffle, where the library allocates a frame header of 14 bytes per block.
func TestNoAlloc(t *testing.T) {
	for _, spec := range []string{"2,4", "3", "1,6", "32004,0", "32015,3", "2,4|1,5", "2,4|32015,3", "2,8|32015,7|3"} {
		k := mustCoder(t, mustChain(t, spec))
		src := field(64 << 10)
		dst := make([]byte, len(src))
		out, mask, err := k.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, make([]byte, 1<<16)...)
		if n := testing.AllocsPerRun(20, func() {
			var err error
			if out, mask, err = k.Encode(out[:0], src); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations to encode", spec, n)
		}
		if n := testing.AllocsPerRun(20, func() {
			if err := k.Decode(dst, out, mask); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations to decode", spec, n)
		}
	}
}
