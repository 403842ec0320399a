package filters_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// runs is a codec for tests that decodes ranges of 16 bytes. It stores whether the
// block must be decoded whole, then the block.
type runs struct{ decoded *int }

func (s runs) Encode(dst, src []byte, params []uint32, _ filters.Block) ([]byte, error) {
	return append(append(dst, byte(params[0])), src...), nil
}

func (s runs) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	if len(src) == 0 || len(src)-1 > max {
		return nil, filters.ErrDecodedSize
	}
	return append(dst, src[1:]...), nil
}

func (s runs) DecodeRange(dst, src []byte, _ []uint32, n, from int) error {
	if len(src) != n+1 {
		return filters.ErrDamaged
	}
	if src[0] != 0 {
		return filters.ErrWhole
	}
	*s.decoded += len(dst)
	copy(dst, src[1+from:])
	return nil
}

// flip is a filter for tests that inverts elements of three bytes in place.
type flip struct{}

func (flip) Encode(dst, src []byte, _ []uint32, _ filters.Block) ([]byte, error) {
	for _, b := range src {
		dst = append(dst, ^b)
	}
	return dst, nil
}

func (f flip) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	return f.Encode(dst, src, nil, filters.Block{})
}

var (
	runsDecoded int
	runsOnce    sync.Once
)

func registerRuns() {
	runsOnce.Do(func() {
		mustRegister(filters.Method{
			ID:            302,
			Name:          "runs",
			New:           func() filters.Session { return runs{&runsDecoded} },
			Check:         oneParam,
			MaxEncodedLen: func(n int, _ []uint32) int { return n + 1 },
			Compresses:    true,
			Grain:         func(int, []uint32) int { return 16 },
		})
		mustRegister(filters.Method{
			ID:     303,
			Name:   "flip",
			New:    func() filters.Session { return flip{} },
			Local:  func([]uint32) int { return 3 },
			Output: func(_ []uint32, in filters.Block) filters.Block { return in },
		})
	})
}

// TestDecodeRange compares ranges with the whole block.
func TestDecodeRange(t *testing.T) {
	registerRuns()
	const n = 1000
	src := filtertest.Noise(n)
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		spec  string
		mask  uint32
		grain int // with no filter skipped
		with  int // with the mask
	}{
		{"302,0", 0, 16, 16},
		{"302,1", 0, 16, 0}, // its blocks can only be decoded whole
		{"302,0", 1, 16, 1},
		{"303|302,0", 0, 48, 48},
		{"303|302,0", 1, 48, 16},
		{"303|302,0", 2, 48, 3},
		{"303|2,1|302,0|3", 0, 48, 48},
		{"303|302,0|3", 4, 48, 48},
		{"302,0|32015,3", 0, 0, 0},
		{"302,0|32015,3", 2, 0, 16},
		{"2,4|302,0", 0, 0, 0},
		{"2,4|302,0", 1, 0, 16},
		{"303", 0, 3, 3},
		{"303|303", 0, 3, 3},
		{"303|303", 3, 3, 1},
		{"3", 0, 0, 0},
		{"2,4|32015,3", 0, 0, 0},
	} {
		chain := filtertest.Chain(t, c.spec)
		k := filtertest.Coder(t, chain)
		if g := k.Grain(n); g != c.grain {
			t.Errorf("%s: expected grain %d, found %d", c.spec, c.grain, g)
		}
		var short filters.Chain
		for i, f := range chain {
			if c.mask>>i&1 == 0 {
				short = append(short, f)
			}
		}
		stored, _, err := filtertest.Coder(t, short).Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s, mask %x", c.spec, c.mask)
		if c.with == 0 {
			if err := k.DecodeRange(make([]byte, 16), stored, c.mask, n, 0); !errors.Is(err, filters.ErrWhole) {
				t.Errorf("%s: expected %v, found %v", name, filters.ErrWhole, err)
			}
			continue
		}
		for range 200 {
			from := r.IntN(n/c.with+1) * c.with
			to := min(from+r.IntN(n/c.with+1)*c.with, n)
			dst, guard := filtertest.Guarded(to - from)
			if err := k.DecodeRange(dst, stored, c.mask, n, from); err != nil || !bytes.Equal(dst, src[from:to]) {
				t.Fatalf("%s, %d to %d: other bytes, %v", name, from, to, err)
			}
			guard(t)
		}
		if c.with > 1 {
			if err := k.DecodeRange(make([]byte, c.with), stored, c.mask, n, 1); !errors.Is(err, filters.ErrWhole) {
				t.Errorf("%s, from byte 1: %v", name, err)
			}
		}
		if err := k.DecodeRange(make([]byte, 48), stored, c.mask, n, 960); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s, beyond the end: %v", name, err)
		}
		if err := k.DecodeRange(make([]byte, 48), stored[:n/2], c.mask, n, 0); !filtertest.KnownErr(err) {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
	runsDecoded = 0
	k := filtertest.Coder(t, filtertest.Chain(t, "303|302,0"))
	stored, _, _ := k.Encode(nil, src)
	if err := k.DecodeRange(make([]byte, 48), stored, 0, n, 480); err != nil || runsDecoded != 48 {
		t.Errorf("expected 48 bytes decoded, found %d, %v", runsDecoded, err)
	}
	if err := k.DecodeRange(make([]byte, 48), stored, 4, n, 0); !errors.Is(err, filters.ErrDamaged) {
		t.Errorf("mask without a filter: %v", err)
	}
}

// TestDecodeRuns compares runs of a block with the whole block.
func TestDecodeRuns(t *testing.T) {
	registerRuns()
	const planes, rows, cols = 5, 40, 50
	src := make([]byte, 0, 4*planes*rows*cols)
	for i := range planes * rows * cols {
		src = binary.BigEndian.AppendUint32(src, math.Float32bits(float32(math.Sin(float64(i)/30))))
	}
	chain, err := filtertest.Chain(t, "52723|3").Complete(filters.Block{Len: len(src), Kind: filters.Float, Size: 4, Shape: []int{planes, rows, cols}})
	if err != nil {
		t.Fatal(err)
	}
	k := filtertest.Coder(t, chain)
	stored, _, err := k.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []filters.Runs{
		{0, 4, 4 * rows * cols, planes}, {8000, 400, 4 * rows * cols, 3}, {8, 40, 80, 100}, {400, 4, 0, 1}, {0, 400, 400, 7},
	} {
		var want []byte
		for i := range r.Count {
			want = append(want, src[r.Start+i*r.Stride:][:r.Len]...)
		}
		dst, guard := filtertest.Guarded(len(want))
		if err := k.DecodeRuns(dst, stored, 0, len(src), r); err != nil || !bytes.Equal(dst, want) {
			t.Errorf("%+v: other bytes, %v", r, err)
		}
		guard(t)
		if err := k.DecodeRuns(dst, stored[:len(stored)/2], 0, len(src), r); !filtertest.KnownErr(err) {
			t.Errorf("%+v, cut: %v", r, err)
		}
	}
	for _, r := range []filters.Runs{{}, {-4, 4, 8, 2}, {0, 4, 4, 0}, {0, 8, 4, 2}, {0, 4, 4 * rows * cols, planes + 1}, {0, 4, math.MaxInt, 3}, {len(src), 4, 4, 1}} {
		if err := k.DecodeRuns(make([]byte, max(0, r.Len*r.Count)), stored, 0, len(src), r); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	dst := make([]byte, 6)
	for _, r := range []filters.Runs{{1, 2, 4, 3}, {0, 2, 4, 3}, {0, 2, 6, 3}} {
		if err := k.DecodeRuns(dst, stored, 0, len(src), r); !errors.Is(err, filters.ErrWhole) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := k.DecodeRuns(dst, stored, 1<<5, len(src), filters.Runs{0, 6, 6, 1}); !errors.Is(err, filters.ErrDamaged) {
		t.Errorf("mask without a filter: %v", err)
	}
	if err := filtertest.Coder(t, filtertest.Chain(t, "302,0")).DecodeRuns(make([]byte, 32), make([]byte, 1001), 0, 1000, filters.Runs{0, 16, 32, 2}); !errors.Is(err, filters.ErrWhole) {
		t.Errorf("a session without runs: %v", err)
	}
}

// TestComplete checks that filters take parameters from the description of the blocks.
func TestComplete(t *testing.T) {
	b := filters.Block{Len: 4096, Kind: filters.Float, Size: 8, Shape: []int{512}}
	for spec, want := range map[string]string{"2": "2,8", "2,4": "2,4", "3|2|32015,3": "3|2,8|32015,3", "32013,1": "32013,1"} {
		in := filtertest.Chain(t, spec)
		got, err := in.Complete(b)
		if err != nil || got.String() != want || in.String() != spec {
			t.Errorf("%s: expected %s, found %s, %v", spec, want, got, err)
		}
	}
	for _, spec := range []string{"2", "1,10", "2,0"} {
		if _, err := filtertest.Chain(t, spec).Complete(filters.Block{}); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
