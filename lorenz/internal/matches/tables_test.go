package matches

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
)

// TestTables compares tables with whole ones, in blocks that use few, many and nearly all probabilities, also after the
// numbers of blocks have begun anew.
func TestTables(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var used tables
	for k, literals := range []int{1, 20, 200, 213, 214, 215, 3000, 5, 0, 100, 40, 300} {
		if k%3 == 2 {
			used.block = blocks - 2 + uint32(k%2)
		}
		hash := smallHash
		if k == 6 {
			hash = largeHash
		}
		used.reset(hash)
		var whole tables
		whole.reset(largeHash)
		whole.shift = 32 - hash
		require.True(t, whole.all)
		for range literals {
			used.prepare()
			keys := [orders]uint32{r.Uint32N(4), r.Uint32N(1 << 16), r.Uint32N(256) | r.Uint32N(3)<<28}
			v := r.Uint32N(256) | 1<<byteBits
			for node := v; node > 1; {
				bit := arith.Mask(int(node & 1))
				node >>= 1
				for i, key := range keys {
					want := *whole.at(i, key, node)
					require.Equal(t, want, used.peek(i, key, node))
					p := used.at(i, key, node)
					require.Equal(t, want, *p)
					*p = p.Next(bit)
					*whole.at(i, key, node) = *p
				}
			}
		}
		require.False(t, literals < mostUsed/orders/byteBits && hash == smallHash && used.all)
		require.False(t, literals == 3000 && !used.all)
	}
}
