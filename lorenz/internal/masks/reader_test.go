package masks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// stream returns numbers as a stream.
func stream(nums []uint64) *entropy.NumberReader {
	var w entropy.StreamWriter
	w.Numbers(nums)
	var r entropy.NumberReader
	r.Open(&entropy.Reader{Buf: w.Dst}, len(nums))
	return &r
}

// TestReaderSet reads back masks of random runs, at lengths and distances near those of words.
func TestReaderSet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 64, 65, 127, 128, 129, 1000, 4096, 100000} {
		for _, dist := range []int{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 960} {
			for specials := 1; specials <= MaxSpecials; specials++ {
				if dist >= n {
					continue
				}
				u := make([]uint32, n)
				for i := 0; i < n; {
					kind := uint32(rng.IntN(specials + 1))
					for end := i + 1 + rng.IntN(90); i < min(n, end); i++ {
						u[i] = kind
						if dist > 0 && i >= dist && rng.IntN(50) > 0 {
							u[i] = u[i-dist]
						}
					}
				}
				name := fmt.Sprintf("%d elements, distance %d, %d specials", n, dist, specials)
				var m Mask
				masked := Build(&m, u, []uint32{1, 2}[:specials])
				nums := m.numbers(nil, specials, dist, n)

				r := new(Reader)
				require.True(t, r.Set(stream(nums), specials, dist, n), name)
				require.Equal(t, n-masked, r.Rank(n), name)
				for kind := range specials {
					for i, w := range r.bits[kind] {
						require.Equal(t, m.bits[kind][i], w, "%s: word %d of kind %d", name, i, kind)
					}
				}
				for i, w := range r.masked {
					require.Equal(t, m.bits[0][i]|m.bits[1][i], w, "%s: word %d", name, i)
				}
				at := 0 // what follows the last run
				r.EachUnmasked(func(start, end int) bool {
					require.Less(t, start, end, name)
					require.NotContains(t, u[at:start], uint32(0), name)
					for _, kind := range u[start:end] {
						require.Zero(t, kind, name)
					}
					at = end
					return true
				})
				require.NotContains(t, u[at:], uint32(0), name)
			}
		}
	}
}

// TestReaderSetDamaged has numbers that do not cover the elements.
func TestReaderSetDamaged(t *testing.T) {
	for _, nums := range [][]uint64{
		nil, {0}, {63}, {65}, {1 << 63}, {0, 0, 64}, {1, 0, 63}, {64, 0}, {64, 1}, {1, 62}, {1, 64}, {1, 1 << 63}, {0, 63}, {1, 63, 1},
	} {
		for _, dist := range []int{0, 1, 64} {
			require.False(t, new(Reader).Set(stream(nums), 1, dist, 64), "%d, distance %d", nums, dist)
		}
	}
	for _, nums := range [][]uint64{{64}, {0, 64}, {1, 63}, {63, 1}, {1, 1, 62}} {
		for _, dist := range []int{0, 1} {
			require.True(t, new(Reader).Set(stream(nums), 1, dist, 64), "%d, distance %d", nums, dist)
		}
	}
}

// TestEachUseful checks that the runs are in order, hold all unmasked elements, and leave out long
// runs of masked ones.
func TestEachUseful(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n := 1 + rng.IntN(1200)
		u := make([]uint32, n)
		for i := 0; i < n; {
			kind := uint32(rng.IntN(2))
			for end := i + 1 + rng.IntN(400); i < min(n, end); i++ {
				u[i] = kind
			}
		}
		var m Mask
		Build(&m, u, []uint32{1})
		r := new(Reader)
		require.True(t, r.Set(stream(m.numbers(nil, 1, 0, n)), 1, 0, n))
		from := rng.IntN(n)
		to := from + rng.IntN(n-from+1)
		at, omitted := from, 0 // what follows the last run
		skip := func(end int) {
			for ; at < end; at++ {
				require.EqualValues(t, 1, u[at])
				omitted++
			}
		}
		r.EachUseful(from, to-from, func(e, k int) {
			require.GreaterOrEqual(t, e, at)
			require.Positive(t, k)
			skip(e)
			at += k
		})
		skip(to)
		require.Equal(t, to, at)
		for i := (from + 63) / 64 * 64; i+128 <= to; i += 64 { // words that are masked, as is the next one
			if !slices.Contains(u[i:i+128], 0) {
				omitted -= 64
			}
		}
		require.GreaterOrEqual(t, omitted, 0)
	}
}
