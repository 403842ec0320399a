package filters_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// TestPipelineRows has rows of CONTRIBUTING.md about pipelines.
func TestPipelineRows(t *testing.T) {
	raw, err := hex.DecodeString("000000003f80000040000000404000004080000040a0000040c0000040e000004100000041100000")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("P1", func(t *testing.T) {
		// A chunk that HDF5 1.10.8 wrote with shuffle, deflate and fletcher32.
		stored, err := hex.DecodeString("789c63b07700034747860606878605071e300830600100a85005d2bdd98a93")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(raw))
		if err := filtertest.Coder(t, filtertest.Chain(t, "2,4|1,6|3")).Decode(got, stored, 0); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%x, %v", got, err)
		}
		one, _, _ := filtertest.Coder(t, filtertest.Chain(t, "2,4")).Encode(nil, raw)
		want, _, _ := filtertest.Coder(t, filtertest.Chain(t, "3")).Encode(nil, one)
		if both, _, _ := filtertest.Coder(t, filtertest.Chain(t, "2,4|3")).Encode(nil, raw); !bytes.Equal(both, want) {
			t.Errorf("2,4|3: %x, expected %x", both, want)
		}
	})
	t.Run("P2", func(t *testing.T) {
		k := filtertest.Coder(t, filtertest.Chain(t, "2,4|1,6"))
		stored, _, _ := k.Encode(nil, raw)
		for _, n := range []int{0, len(raw) - 1, len(raw) + 1} {
			if err := k.Decode(make([]byte, n), stored, 0); !errors.Is(err, filters.ErrDecodedSize) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	})
	t.Run("P3", func(t *testing.T) {
		k := filtertest.Coder(t, filtertest.Optional(filtertest.Chain(t, "2,4|1,6"), 1))
		for _, c := range []struct {
			block []byte
			mask  uint32
		}{{make([]byte, 1000), 0}, {filtertest.Noise(1000), 2}} {
			stored, mask, err := k.Encode(nil, c.block)
			if err != nil || mask != c.mask {
				t.Fatalf("mask %b, expected %b, %v", mask, c.mask, err)
			}
			got := make([]byte, len(c.block))
			if err := k.Decode(got, stored, mask); err != nil || !bytes.Equal(got, c.block) {
				t.Errorf("mask %b: %v", mask, err)
			}
		}
	})
	t.Run("P4", func(t *testing.T) {
		// LZ4's framing of 13 zeros has 32 bytes, of 1000 fewer.
		k := filtertest.Coder(t, filtertest.Optional(filtertest.Chain(t, "32004,0"), 0))
		for n, want := range map[int]uint32{13: 1, 1000: 0} {
			if _, mask, err := k.Encode(nil, make([]byte, n)); err != nil || mask != want {
				t.Errorf("%d bytes: mask %b, %v", n, mask, err)
			}
		}
		// As long as the input is not shorter either: failing,0 is a compressor.
		if _, mask, _ := filtertest.Coder(t, filters.Chain{{ID: 300, Params: []uint32{0}, Optional: true}}).Encode(nil, raw); mask != 1 {
			t.Errorf("mask %b of a result that is as long", mask)
		}
	})
	t.Run("P5", func(t *testing.T) {
		if out, _, err := filtertest.Coder(t, filtertest.Chain(t, "2,4|300,0")).Encode([]byte("x"), raw); err == nil || string(out) != "x" {
			t.Errorf("a required filter that fails: %q, %v", out, err)
		}
		if _, err := filters.NewCoder(filtertest.Chain(t, "32013,1")); !errors.Is(err, filters.ErrUnknownFilter) {
			t.Errorf("a required filter that is unknown: %v", err)
		}
	})
	t.Run("P6", func(t *testing.T) {
		if out, mask, err := filtertest.Coder(t, filtertest.Optional(filtertest.Chain(t, "32013,1|2,4"), 0)).Encode(nil, raw); err != nil || mask != 1 || len(out) != len(raw) {
			t.Errorf("an optional filter that is unknown: mask %b, %v", mask, err)
		}
	})
	t.Run("P7", func(t *testing.T) {
		k := filtertest.Coder(t, filtertest.Optional(filtertest.Chain(t, "32013,1|2,4"), 0))
		var unknown *filters.UnknownFilterError
		if err := k.Decode(make([]byte, len(raw)), raw, 0); !errors.As(err, &unknown) || unknown.ID != 32013 || !slices.Equal(unknown.Params, []uint32{1}) || unknown.Name != "zfp" {
			t.Errorf("applied: %v", err)
		}
		if err := k.Decode(make([]byte, len(raw)), raw, 1); err != nil {
			t.Errorf("excluded: %v", err)
		}
	})
	t.Run("P12", func(t *testing.T) {
		c, err := filters.Chain(nil).Add(filters.Filter{ID: 296})
		if err != nil {
			t.Fatalf("before the filter is registered: %v", err)
		}
		if _, err := filters.NewCoder(c); !errors.Is(err, filters.ErrUnknownFilter) {
			t.Errorf("used before it is registered: %v", err)
		}
		mustRegister(filters.Method{ID: 296, Name: "late", New: func() filters.Session { return failing{} }})
		if _, err := filters.NewCoder(c); err != nil {
			t.Errorf("registered: %v", err)
		}
		if err := filters.Register(filters.Method{ID: 296, Name: "again", New: func() filters.Session { return failing{} }}); !errors.Is(err, filters.ErrFilterID) {
			t.Errorf("registered twice: %v", err)
		}
	})
	t.Run("P13", func(t *testing.T) {
		for _, level := range []int{0, 6, 9} {
			c, err := filters.Chain{{ID: filters.Shuffle}}.AddDeflate(level)
			if err != nil || len(c) != 2 || !c[1].Optional || c[1].Params[0] != uint32(level) {
				t.Errorf("level %d: %v, %v", level, c, err)
			}
		}
		for _, level := range []int{-1, 10} {
			if _, err := (filters.Chain)(nil).AddDeflate(level); !errors.Is(err, filters.ErrParam) {
				t.Errorf("level %d: %v", level, err)
			}
		}
		for _, text := range []string{"1", "1,6,6", "1,10"} {
			if _, err := filters.NewCoder(filtertest.Chain(t, text)); !errors.Is(err, filters.ErrParam) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// TestQueryRows has the rows of CONTRIBUTING.md about queries of chains.
func TestQueryRows(t *testing.T) {
	c := filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: 32013, Params: []uint32{1, 2}, Optional: true}, {ID: 400}, {ID: filters.Deflate, Params: []uint32{6}, Name: "gzip"}}
	t.Run("Q6", func(t *testing.T) {
		if ids := filters.Chain(nil).IDs(); len(ids) != 0 {
			t.Errorf("no filters: %v", ids)
		}
		if _, err := filters.Chain(nil).At(0); !errors.Is(err, filters.ErrNoFilter) {
			t.Errorf("the first of no filters: %v", err)
		}
	})
	t.Run("Q7", func(t *testing.T) {
		if ids := c.IDs(); !slices.Equal(ids, []uint32{2, 32013, 400, 1}) {
			t.Errorf("ids: %v", ids)
		}
		if f, err := c.Find(32013); err != nil || !slices.Equal(f.Params, []uint32{1, 2}) || !f.Optional {
			t.Errorf("32013: %v, %v", f, err)
		}
		if _, err := c.Find(307); !errors.Is(err, filters.ErrNoFilter) {
			t.Errorf("307: %v", err)
		}
	})
	t.Run("Q9", func(t *testing.T) {
		params := []uint32{9}
		d, err := c.Add(filters.Filter{ID: filters.Bzip2, Params: params, Optional: true, Name: "mine"})
		params[0] = 1
		if err != nil || len(d) != len(c)+1 || d[4].String() != "307,9?" || d[4].Name != "mine" {
			t.Errorf("added: %v, %v", d, err)
		}
		if e, _ := c.Add(filters.Filter{ID: 3}); d[4].ID != filters.Bzip2 || e[4].ID != 3 {
			t.Error("two chains share memory")
		}
		long := make(filters.Chain, filters.MaxFilters)
		if _, err := long.Add(filters.Filter{}); !errors.Is(err, filters.ErrParam) {
			t.Errorf("one filter too many: %v", err)
		}
	})
	t.Run("Q10", func(t *testing.T) {
		for _, n := range []int{-1, len(c)} {
			if _, err := c.At(n); !errors.Is(err, filters.ErrNoFilter) {
				t.Errorf("filter %d: %v", n, err)
			}
		}
		f, err := c.At(1)
		if err != nil || f.ID != 32013 || !f.Optional || !slices.Equal(f.Params, []uint32{1, 2}) {
			t.Errorf("filter 1: %v, %v", f, err)
		}
		if f.Params[0] = 7; c[1].Params[0] != 1 {
			t.Error("the parameters are not a copy")
		}
	})
	t.Run("Q11", func(t *testing.T) {
		for n, want := range []string{"shuffle", "zfp", "", "gzip"} {
			if f, _ := c.At(n); f.Name != want {
				t.Errorf("filter %d: %q, expected %q", n, f.Name, want)
			}
		}
	})
	t.Run("Q12", func(t *testing.T) {
		if _, err := c.Add(filters.Filter{ID: filters.MaxID}); err != nil {
			t.Error(err)
		}
		if _, err := c.Add(filters.Filter{ID: filters.MaxID + 1}); !errors.Is(err, filters.ErrFilterID) {
			t.Errorf("%d: %v", filters.MaxID+1, err)
		}
	})
}
