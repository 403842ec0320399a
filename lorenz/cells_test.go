package lorenz

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A chain may have strides between the rows of a cell and its planes.
func TestCellsOfChains(t *testing.T) {
	dims := []int{13, 10, 22, 18}
	s := &shape{dims: dims, n: 13 * 10 * 22 * 18}
	for _, chain := range [][]int{{1}, {18}, {396}, {3960}, {1, 18, 396}, {1, 18, 3960}, {1, 396, 3960}, {1, 18, 396, 3960}} {
		for parts := 32; parts >= 4; parts /= 2 {
			l := cellsFor(s, &candidate[uint32]{pred: predictor{chain: chain}}, parts)
			require.True(t, l.valid())
			for _, d := range chain {
				require.True(t, l.allows(d), "%v: stride %d of %v", l, d, chain)
			}
		}
	}
}
