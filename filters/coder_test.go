package filters_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

func TestEmptyChain(t *testing.T) {
	k := filtertest.Coder(t, nil)
	filtertest.CheckRound(t, k, []byte("abc"))
	filtertest.CheckRound(t, k, nil)
	if err := k.Decode(make([]byte, 3), []byte("abc"), 1); !errors.Is(err, filters.ErrDamaged) {
		t.Errorf("mask without a filter: %v", err)
	}
}

func u(v ...uint32) []uint32 { return v }

// failing is a filter for tests. It fails if its parameter is 0 and otherwise makes
// blocks longer by that many bytes.
type failing struct{}

func (failing) Encode(dst, src []byte, params []uint32, _ filters.Block) ([]byte, error) {
	if params[0] == 0 {
		return nil, errors.New("cannot")
	}
	return append(append(dst, src...), make([]byte, params[0])...), nil
}

func (failing) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	if params[0] == 0 {
		return nil, errors.New("cannot")
	}
	n := len(src) - int(params[0])
	if n < 0 || n > max {
		return nil, filters.ErrDecodedSize
	}
	return append([]byte(nil), src[:n]...), nil // in separate memory
}

// oneParam is the check of filters for tests that have one parameter.
func oneParam(params []uint32) error {
	if len(params) != 1 {
		return filters.ErrParam
	}
	return nil
}

func mustRegister(m filters.Method) {
	if err := filters.Register(m); err != nil {
		panic(err)
	}
}

func init() {
	mustRegister(filters.Method{
		ID:            300,
		Name:          "failing",
		New:           func() filters.Session { return failing{} },
		Check:         oneParam,
		MaxEncodedLen: func(n int, params []uint32) int { return n + int(params[0]) },
		Compresses:    true,
	})
}

func TestExclusion(t *testing.T) {
	const unregistered = 32013
	for _, c := range []struct {
		spec     string
		optional []int
		src      []byte
		mask     uint32
	}{
		{"1,6", []int{0}, filtertest.Noise(1000), 1},
		{"1,6", []int{0}, make([]byte, 1000), 0},
		{"1,6", nil, filtertest.Noise(1000), 0},             // required, so the stored form is used
		{"3", []int{0}, filtertest.Noise(10), 0},            // never shorter, but not a compressor
		{"2,4", []int{0}, filtertest.Noise(16), 0},          // same length, but not a compressor
		{"2,4|1,6", []int{1}, filtertest.Noise(1000), 2},    // last
		{"2,4|1,6", []int{0, 1}, filtertest.Noise(1000), 2}, // the compressor
		{"1,6|2,4", []int{0}, filtertest.Noise(1000), 1},    // first
		{"2,4|1,6|3", []int{1}, filtertest.Noise(1000), 2},  // in the middle
		{"300,0|2,4|300,0|3", []int{0, 2}, filtertest.Noise(100), 5},
		{"2,4|300,9|300,0|2,2|300,3|1,1", []int{1, 2, 4, 5}, filtertest.Noise(100), 0x36},
		{"2,4|300,9|300,0|2,2|300,3|32015,1", []int{1, 2, 4, 5}, filtertest.Field(4000), 0x16},
		{"300,7|3", nil, filtertest.Noise(10), 0},
		{"32013,1,2|3", []int{0}, filtertest.Noise(10), 1}, // not registered
		{"2,4|32013", []int{1}, filtertest.Noise(10), 2},
		{"1,6", []int{0}, nil, 1},
	} {
		chain := filtertest.Optional(filtertest.Chain(t, c.spec), c.optional...)
		k := filtertest.Coder(t, chain)
		filtertest.CheckRound(t, k, c.src)
		out, mask, err := k.Encode(nil, c.src)
		if err != nil || mask != c.mask {
			t.Errorf("%s, optional %v: mask 0x%x, found 0x%x, %v", c.spec, c.optional, c.mask, mask, err)
		}
		// The bytes must be those of the chain without the skipped filters.
		var short filters.Chain
		for i, f := range chain {
			if mask>>i&1 == 0 {
				short = append(short, f)
			}
		}
		want, _, err := filtertest.Coder(t, short).Encode(nil, c.src)
		if err != nil || !bytes.Equal(out, want) {
			t.Errorf("%s without 0x%x: %x, found %x, %v", c.spec, mask, want, out, err)
		}
	}

	k := filtertest.Coder(t, filtertest.Chain(t, "2,4|300,0"))
	if out, _, err := k.Encode([]byte("abc"), filtertest.Noise(8)); err == nil || string(out) != "abc" {
		t.Errorf("required filter that fails: %q, %v", out, err)
	}
	k = filtertest.Coder(t, filtertest.Chain(t, "300,0|1,1"))
	if _, _, err := k.Encode(nil, filtertest.Noise(8)); err == nil {
		t.Error("required filter that fails first: no error")
	}

	// A filter without a method is an error only if it is needed.
	chain := filtertest.Chain(t, "32013,5|3")
	chain[0].Name = "something"
	var unknown *filters.UnknownFilterError
	if _, err := filters.NewCoder(chain); !errors.As(err, &unknown) || !errors.Is(err, filters.ErrUnknownFilter) {
		t.Fatalf("unknown and required: %v", err)
	}
	if unknown.ID != unregistered || len(unknown.Params) != 1 || unknown.Name != "something" {
		t.Errorf("unknown filter: found %+v", unknown)
	}
	k = filtertest.Coder(t, filtertest.Optional(chain, 0))
	if err := k.Decode(make([]byte, 10), make([]byte, 14), 0); !errors.Is(err, filters.ErrUnknownFilter) {
		t.Errorf("unknown and not left out: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 14), 1); err != nil {
		t.Errorf("unknown and left out: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 10), 3); err != nil {
		t.Errorf("all left out: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 11), 3); !errors.Is(err, filters.ErrDecodedSize) {
		t.Errorf("all left out, other length: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 10), 7); !errors.Is(err, filters.ErrDamaged) {
		t.Errorf("mask too long: %v", err)
	}
}

func TestNewCoderErrors(t *testing.T) {
	for _, c := range []struct {
		chain filters.Chain
		want  error
	}{
		{filters.Chain{{ID: 65536}}, filters.ErrFilterID},
		{filters.Chain{{ID: 65536, Optional: true}}, filters.ErrFilterID},
		{filters.Chain{{ID: 7}}, filters.ErrUnknownFilter},
		{filters.Chain{{ID: 65535}}, filters.ErrUnknownFilter},
		{make(filters.Chain, 33), filters.ErrParam},
		{filters.Chain{{ID: filters.Deflate}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Deflate, Params: u(10)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Deflate, Params: u(1, 1)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Shuffle}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Shuffle, Params: u(0)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Shuffle, Params: u(2, 2)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Fletcher32, Params: u(0)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Bzip2, Params: u(0)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Bzip2, Params: u(10)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.LZ4, Params: u(0, 0)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.LZ4, Params: u(0x7e000001)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Zstd, Params: u(3, 3)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Bzip2, Params: u(9, 9)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Zstd, Params: u(23)}}, filters.ErrParam},
		{filters.Chain{{ID: filters.Zstd, Params: u(1 << 31)}}, filters.ErrParam},
	} {
		if _, err := filters.NewCoder(c.chain); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, found %v", c.chain, c.want, err)
		}
	}
}

// TestOptionalInapplicable: as in HDF5, an optional filter that does not apply to the blocks, or
// has wrong parameters, is part of the chain and of no block. A required one is an error.
func TestOptionalInapplicable(t *testing.T) {
	text := filters.Block{Len: 64, Kind: filters.Text, Size: 1, Shape: []int{64}}
	for _, given := range []string{"4,32,16", "5", "6,2,0", "1,10"} {
		c := filtertest.Chain(t, given+"|3")
		if full, err := c.Complete(text); err == nil || !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s: %v, %v", given, full, err)
		}
		c = filtertest.Optional(c, 0)
		full, err := c.Complete(text)
		if given == "1,10" { // wrong for all blocks: the caller may want to know
			if !errors.Is(err, filters.ErrParam) {
				t.Errorf("%s: %v, %v", given, full, err)
			}
			full = c
		} else if err != nil || full.String() != c.String() {
			t.Errorf("%s: %v, %v", given, full, err)
		}
		k := filtertest.Coder(t, full)
		raw, got := make([]byte, 64), make([]byte, 64)
		stored, mask, err := k.Encode(nil, raw)
		if err != nil || mask != 1 || len(stored) != 68 {
			t.Errorf("%s: %d bytes, mask %b, %v", given, len(stored), mask, err)
		}
		if err := k.Decode(got, stored, mask); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if err := k.Decode(got, stored, 0); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestRegister(t *testing.T) {
	zstd, _ := filters.Lookup(filters.Zstd)
	session := func() filters.Session { return failing{} }
	for _, c := range []struct {
		m    filters.Method
		want error
	}{
		{filters.Method{ID: filters.Deflate, Name: "again", New: session}, filters.ErrFilterID},
		{filters.Method{ID: 65536, Name: "big", New: session}, filters.ErrFilterID},
		{filters.Method{ID: 301, Name: "no session"}, filters.ErrParam},
		{filters.Method{ID: 301, New: session}, filters.ErrParam},
		{filters.Method{ID: 301, Name: "codec", New: session, Codec: &filters.Codec{ID: "x"}}, filters.ErrParam},
		{filters.Method{ID: 301, Name: "codec", New: session, Codec: &filters.Codec{ID: "zstd", Params: zstd.Codec.Params, JSON: zstd.Codec.JSON}}, filters.ErrFilterID},
		{filters.Method{ID: 301, Name: "ranges", New: session, Grain: func(int, []uint32) int { return 1 }}, filters.ErrParam},
	} {
		if err := filters.Register(c.m); !errors.Is(err, c.want) {
			t.Errorf("%s: expected %v, found %v", c.m.Name, c.want, err)
		}
	}
	if _, ok := filters.Lookup(301); ok || !slices.Contains(filters.Registered(), 300) || slices.Contains(filters.Registered(), 301) {
		t.Errorf("registered: found %v", filters.Registered())
	}
	if f, ok := filters.ByName("zstd"); !ok || f.String() != "32015,3" {
		t.Errorf("zstd by name: found %s", f)
	}
	if _, ok := filters.ByName("zfp"); ok {
		t.Error("zfp by name: found")
	}
	if filters.Name(300) != "failing" || filters.Name(32013) != "zfp" || filters.Name(31999) != "" {
		t.Errorf("names: found %q, %q, %q", filters.Name(300), filters.Name(32013), filters.Name(31999))
	}
	for id, want := range map[uint32]string{0: "predefined", 255: "predefined", 256: "testing", 511: "testing", 512: "registered", 32767: "registered", 32768: "private", 65535: "private", 65536: "invalid"} {
		if got := filters.Class(id); got != want {
			t.Errorf("class of %d: %s, found %s", id, want, got)
		}
	}
}

// TestChainNotShared checks that the caller may change its chain after NewCoder.
func TestChainNotShared(t *testing.T) {
	c := filtertest.Chain(t, "2,4|32015,3")
	k := filtertest.Coder(t, c)
	want, _, _ := k.Encode(nil, filtertest.Field(4096))
	c[0].Params[0] = 8
	got, _, _ := k.Encode(nil, filtertest.Field(4096))
	if !bytes.Equal(got, want) {
		t.Error("the coder follows changes of the caller's chain")
	}
}

// TestNotLinked checks that errors name the package with a filter that the program lacks.
func TestNotLinked(t *testing.T) {
	defer filters.Unregister(filters.Bzip2)()
	_, err := filters.NewCoder(filters.Chain{{ID: filters.Bzip2, Params: u(9)}})
	if !errors.Is(err, filters.ErrUnknownFilter) || !strings.Contains(err.Error(), "307,9 (BZIP2): the program does not import github.com/cdfz-format/cdfz/filters/all") {
		t.Errorf("filter: %v", err)
	}
	_, err = filters.ToFilter([]byte(`{"id":"bz2"}`))
	if !errors.Is(err, filters.ErrNoCodec) || !strings.Contains(err.Error(), "the program does not import github.com/cdfz-format/cdfz/filters/all") {
		t.Errorf("codec: %v", err)
	}
}
