package layout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// TestHeadChain checks the chains of headers at the lengths where they change. Those of blocks of lorenz are in mode 3,
// which takes 300 ns for a stored byte whenever the archive is opened.
func TestHeadChain(t *testing.T) {
	lorenz := func(effort ...uint32) filters.Chain { return filters.Chain{{ID: filters.Lorenz, Params: effort}} }
	zstd := func(level uint32) filters.Chain { return filters.Chain{{ID: filters.Zstd, Params: []uint32{level}}} }
	for _, c := range []struct {
		preset      Preset
		size, first int64
		head        filters.Chain
	}{
		{Default, plan.TinyImage, 1000, lorenz(fastEffort)},
		{Default, plan.TinyImage + 1, 1000, lorenz()},
		{Default, 1 << 20, 128 << 10, lorenz()},
		{Default, 1 << 20, 128<<10 + 1, zstd(bestLevel)},
		{Default, 1 << 20, 512 << 10, zstd(bestLevel)},
		{Default, 1 << 20, 512<<10 + 1, zstd(defaultLevel)},
		{Max, plan.TinyImage, 1000, lorenz(maxEffort)},
		{Max, 1 << 20, 128 << 10, lorenz(maxEffort)},
		{Max, 1 << 20, 128<<10 + 1, zstd(bestLevel)},
		{Fast, 1 << 20, 1000, zstd(fastLevel)},
		{Fast, 1 << 20, 1 << 20, zstd(fastLevel)},
		{Portable, 1 << 20, 512 << 10, filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}},
		{Portable, 1 << 20, 512<<10 + 1, Portable.Chain(cdf3.Byte)},
	} {
		head, _ := c.preset.rest(c.size, c.first)
		require.Equal(t, c.head, head, "%s, image of %d bytes, %d with the header", c.preset, c.size, c.first)
		// The values after the header of a small image count.
		for _, size := range []int64{c.size, plan.SmallImage} {
			joined := int64(joinedRest)
			if size == plan.SmallImage {
				joined = 0
			}
			if c.first > joined && (size == c.size || c.size > plan.TinyImage) {
				s := (&Options{Preset: c.preset}).Spec(&cdf3.Header{Len: c.first - joined}, size, plan.Pooled)
				require.Equal(t, c.head, s.Head, "%s, image of %d bytes, header of %d", c.preset, size, c.first-joined)
			}
		}
	}
}
