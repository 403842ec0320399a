//go:build !race

package all

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// Tests that the race detector makes far too slow, or meaningless because it allocates.

// TestDeterminismLong passes the point where positions in the zstd encoder restart:
// 2^31 with windows of 8 MiB.
func TestDeterminismLong(t *testing.T) {
	for _, spec := range []string{"32015,1", "2,4|32015,3", "2,4|32015,7"} {
		chain := filtertest.Chain(t, spec)
		used := filtertest.Coder(t, chain)
		if _, _, err := used.Encode(nil, make([]byte, 9<<20)); err != nil { // the longest window
			t.Fatal(err)
		}
		src := filtertest.Field(20000)
		want, _, err := filtertest.Coder(t, chain).Encode(nil, src)
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

// TestNoAlloc checks that coders do not allocate for each block. The exceptions are
// three allocations to encode the planes of a shuffle with zstd, for their shape and
// the frame's header. bzip2 is excluded, since the standard library's decoder cannot be
// reused.
func TestNoAlloc(t *testing.T) {
	for _, spec := range []string{"2,4", "3", "1,6", "32004,0", "32015,3", "2,4|1,5", "2,4|32015,3", "2,8|32015,7|3"} {
		k := filtertest.Coder(t, filtertest.Chain(t, spec))
		src := filtertest.Field(64 << 10)
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
		}); n > 3 || n > 0 && !strings.Contains(spec, "2,") {
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

// TestMemory checks the bound of the memory for decoding.
func TestMemory(t *testing.T) {
	const n = 1 << 20
	specs := []string{"2,4", "1,6", "2,4|1,6", "2,4|32015,3", "32015,19", "307,9", "32004", "2,8|32004|3", "3|2,8|32015,3|3|1,1"}
	if testing.Short() {
		specs = specs[2:4]
	}
	for _, spec := range specs {
		k := filtertest.Coder(t, filtertest.Chain(t, spec))
		dst := make([]byte, n)
		stored, mask, err := k.Encode(nil, filtertest.Field(n))
		if err != nil {
			t.Fatal(err)
		}
		grew := allocated(func() { err = k.Decode(dst, stored, mask) })
		if bound := k.Memory(n) + 64<<10; err != nil || int64(grew) > bound {
			t.Errorf("%s: expected at most %d bytes, found %d, %v", spec, bound, grew, err)
		}
	}
}

// TestManyChains checks that coders do not keep memory for blocks.
func TestManyChains(t *testing.T) {
	src := filtertest.Field(64 << 10)
	dst := make([]byte, len(src))
	var coders []*filters.Coder
	grew := allocated(func() {
		for i := range 400 {
			k := filtertest.Coder(t, filtertest.Chain(t, fmt.Sprintf("2,%d|1,%d|32015,1", 1+i, i%2)))
			coders = append(coders, k)
			out, mask, err := k.Encode(nil, src[:4096])
			if err == nil {
				err = k.Decode(dst[:4096], out, mask)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if grew > 64<<20 {
		t.Errorf("%d coders cost %d bytes", len(coders), grew)
	}
}
