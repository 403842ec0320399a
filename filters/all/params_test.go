package all

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// hostileParams are values at which parameters have bounds.
var hostileParams = []uint32{0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 31, 32, 33, 63, 64, 255, 256, 1000, 1 << 15, 1 << 16, 1 << 24, 1 << 30, 1<<31 - 1, 1 << 31, 1<<32 - 1}

// TestHostileParams decodes valid, damaged and random blocks with chains whose parameters
// were changed, as a hostile plan may change them. Every chain is refused, or decodes what it
// encodes, and refuses or decodes all else without a panic.
func TestHostileParams(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 4000
	}
	if os.Getenv("CDFZ_SOAK") != "" {
		rounds = 2_000_000
	}
	rng := rand.New(rand.NewPCG(21, 21))
	var chains []filters.Chain
	var sources [][]byte
	add := func(c filters.Chain, src []byte) { chains, sources = append(chains, c), append(sources, src) }
	for _, c := range fuzzFilters {
		add(filtertest.Chain(t, c.spec), c.src)
	}
	for _, spec := range filtertest.Chains {
		add(filtertest.Chain(t, spec), filtertest.Field(600))
	}
	for ty := uint32(1); ty <= 11; ty++ {
		for _, dims := range [][]uint32{{}, {1}, {5}, {3, 4, 5}} {
			add(filters.Chain{{ID: filters.Lorenz, Params: append([]uint32{1, ty, 0, uint32(len(dims))}, dims...)}}, filtertest.Field(60))
		}
	}
	accepted := 0
	for range rounds {
		i := rng.IntN(len(chains))
		c := chains[i].Clone()
		if rng.IntN(5) > 0 {
			changeParams(rng, &c[rng.IntN(len(c))])
		}
		k, err := filters.NewCoder(c)
		if err != nil || k.Memory(len(sources[i])) > 1<<28 {
			continue
		}
		accepted++
		hammer(t, rng, k, sources[i][:rng.IntN(len(sources[i])+1)])
	}
	if accepted < rounds/4 {
		t.Errorf("only %d of %d chains were accepted", accepted, rounds)
	}
}

func changeParams(rng *rand.Rand, f *filters.Filter) {
	for range 1 + rng.IntN(4) {
		v := hostileParams[rng.IntN(len(hostileParams))]
		switch n := len(f.Params); {
		case n > 0 && rng.IntN(8) > 0:
			f.Params[rng.IntN(n)] = v
		case n > 0 && rng.IntN(2) == 0:
			f.Params = f.Params[:rng.IntN(n)]
		default:
			f.Params = append(f.Params, v)
		}
	}
}

// hammer decodes the block of src, then changed ones of this and of other lengths.
func hammer(t *testing.T, rng *rand.Rand, k *filters.Coder, src []byte) {
	block, _, err := k.Encode(nil, src)
	if err == nil {
		if err := k.Decode(make([]byte, len(src)), block, 0); err != nil {
			t.Fatalf("%s: its own block of %d bytes: %v", k.Chain(), len(src), err)
		}
	}
	for range 4 {
		stored, n := bytes.Clone(block), len(src)
		if len(stored) == 0 || rng.IntN(4) == 0 {
			stored = make([]byte, rng.IntN(40))
			for i := range stored {
				stored[i] = byte(rng.Uint32()) >> rng.IntN(8)
			}
		}
		for range rng.IntN(4) {
			if len(stored) > 0 {
				stored[rng.IntN(min(len(stored), 8<<rng.IntN(8)))] = byte(rng.Uint32()) >> rng.IntN(8)
			}
		}
		if rng.IntN(4) == 0 {
			stored = stored[:rng.IntN(len(stored)+1)]
		}
		if rng.IntN(3) == 0 {
			n = rng.IntN(70)
		}
		dst, guard := filtertest.Guarded(n)
		if err := k.Decode(dst, stored, 0); err != nil && !filtertest.KnownErr(err) && !errors.Is(err, filters.ErrParam) {
			t.Fatalf("%s: %d bytes from %x: %v", k.Chain(), n, stored, err)
		}
		guard(t)
	}
}
