package repeats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecurringShort checks that the share of a few residuals is a number: no place of them may be
// visited.
func TestRecurringShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var f Finder
	for n := range 100 {
		for range 20 {
			r := make([]uint32, n)
			for i := range r {
				r[i] = rng.Uint32() >> rng.IntN(32)
			}
			for _, k := range []int{1, 4, 24} {
				share := Recurring(&f, r, k, false)
				require.True(t, share >= 0 && share <= 1, "%v of %d residuals", share, n)
			}
		}
	}
}
