package all

import (
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// TestRoundTripMixed covers all forms of block encoding.
func TestRoundTripMixed(t *testing.T) {
	count, sizes := uint64(20), []int{2048, 5003, 70001, 262144, 600000}
	if testing.Short() {
		count, sizes = 2, sizes[:3]
	}
	var coders []*filters.Coder
	for _, spec := range []string{"2,2|32015,3", "2,4|32015,3", "2,4|32015,7", "2,8|32015,12", "2,3|32015,1", "2,2|32015,22", "1,6", "32004,0", "32004,5000"} {
		coders = append(coders, filtertest.Coder(t, filtertest.Chain(t, spec)))
	}
	for seed := range count {
		for _, n := range sizes {
			src := filtertest.Mixed(n, seed)
			for _, k := range coders {
				filtertest.CheckRound(t, k, src)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, spec := range filtertest.Chains {
		k := filtertest.Coder(t, filtertest.Chain(t, spec))
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 1023, 1024, 4096, 5000, 40000, 65791, 65792, 131072, 262144, 300001} {
			if testing.Short() && (n > 5000 || n%8 != 0) {
				continue
			}
			filtertest.CheckRound(t, k, filtertest.Field(n))
			filtertest.CheckRound(t, k, filtertest.Noise(n))
			filtertest.CheckRound(t, k, make([]byte, n))
		}
	}
}
