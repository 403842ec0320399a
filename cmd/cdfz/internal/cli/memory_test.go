package cli

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPercentFor checks that at least garbage bytes lie between two collections, unless the live
// data are few, and that much live data have the least percentage.
func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, firstPercent},
		{1, firstPercent},
		{garbage / 4, firstPercent},
		{garbage / 2, 200},
		{garbage, 100},
		{2 * garbage, 50},
		{garbage * 100 / gcPercent, gcPercent},
		{1 << 30, gcPercent},
		{math.MaxUint64, gcPercent},
	} {
		assert.Equal(t, c.want, percentFor(c.live), c.live)
	}
}
