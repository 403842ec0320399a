package all

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// TestDeterminism checks that the bytes of a block depend neither on earlier blocks of
// the coder nor on the goroutine. The encoders of zstd and deflate advance their
// positions with every block and clear their tables when the positions get too large.
// This takes hundreds of blocks, or far more with short windows.
func TestDeterminism(t *testing.T) {
	rounds := 700
	if testing.Short() {
		rounds = 30
	}
	for _, spec := range []string{"1,1", "1,6", "1,9", "2,4|32015,1", "2,4|32015,3", "2,4|32015,7", "2,4|32015,12", "32015,3", "32015,12", "307,9", "32004,0"} {
		chain := filtertest.Chain(t, spec)
		r := rand.New(rand.NewPCG(3, 4))
		used := filtertest.Coder(t, chain)
		n := rounds
		if chain[0].ID == filters.Bzip2 || chain[len(chain)-1].Params[0] > 9 {
			n /= 10
		}
		for i := range n {
			src := filtertest.Field(r.IntN(30000))
			if r.IntN(3) == 0 {
				copy(src[len(src)/2:], filtertest.Noise(len(src)))
			}
			if r.IntN(20) == 0 {
				src = filtertest.Field(300000) // a longer window from here on
			}
			got, _, err := used.Encode(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			if i%10 != 9 && i < n-5 {
				continue
			}
			want, _, err := filtertest.Coder(t, chain).Encode(nil, src)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: block %d of %d bytes differs from a new coder's", spec, i, len(src))
			}
		}
	}
}

func TestConcurrentCoders(t *testing.T) {
	for _, spec := range filtertest.Chains {
		chain := filtertest.Chain(t, spec)
		src := filtertest.Field(20000)
		want, _, err := filtertest.Coder(t, chain).Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				k, err := filters.NewCoder(chain)
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					got, mask, err := k.Encode(nil, src)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s: differs, %v", spec, err)
						return
					}
					dst := make([]byte, len(src))
					if err := k.Decode(dst, got, mask); err != nil || !bytes.Equal(dst, src) {
						t.Errorf("%s: decode: %v", spec, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
