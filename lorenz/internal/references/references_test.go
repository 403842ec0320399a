package references

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// roundTrip finds and resolves references.
func roundTrip[T entropy.Lane](t *testing.T, y []T, signs bool) (zeros int) {
	var f Finder[T]
	f.Find(y, signs, []int{7, len(y) + 5}, 4)
	got := append(make([]T, 1), f.Diffs...)
	r, half := NewResolver(), len(f.Codes)/2
	require.True(t, Resolve(&r, got, f.Codes[:half], signs))
	require.True(t, Resolve(&r, got, f.Codes[half:], signs))
	require.Equal(t, y, got[1:])
	for _, d := range f.Diffs {
		if d == 0 {
			zeros++
		}
	}
	return zeros
}

func TestFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 31, 700} {
		wide, narrow := make([]uint64, n), make([]uint32, n)
		for i := range n {
			wide[i], narrow[i] = rng.Uint64(), rng.Uint32()
			if k := i - 1 - rng.IntN(40); i%2 == 1 && k >= 0 {
				wide[i], narrow[i] = ^wide[k], narrow[k]
			}
		}
		for _, signs := range []bool{false, true} {
			zeros := roundTrip(t, wide, signs)
			if signs {
				require.GreaterOrEqual(t, zeros, n/2-21)
			}
			require.GreaterOrEqual(t, roundTrip(t, narrow, signs), n/2-21)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes []uint32
		signs bool
		want  []uint32 // nil if the codes are invalid
	}{
		{"the distances used last", []uint32{0, 3 + 2, 0, 1, 2, 2}, false, []uint32{1, 1, 2, 3, 4, 4}},
		{"zero before the first", []uint32{4, 5, 6}, false, []uint32{1, 1, 1}},
		{"complements", []uint32{1, 0, 1, 8}, true, []uint32{0, 1, 0xFFFFFFFF, 0}},
		{"distance 0", []uint32{0, 3}, false, nil},
		{"distance beyond the start", []uint32{0, 6}, false, nil},
		{"largest distance", []uint32{math.MaxUint32}, false, nil},
		{"largest distance with complements", []uint32{math.MaxUint32}, true, nil},
	} {
		y := []uint32{0}
		for range c.codes {
			y = append(y, 1)
		}
		r := NewResolver()
		ok := Resolve(&r, y, c.codes, c.signs)
		require.Equal(t, c.want != nil, ok, c.name)
		if ok {
			require.Equal(t, c.want, y[1:], c.name)
		}
	}
}

// BenchmarkFind finds references among numbers of which half resemble others.
func BenchmarkFind(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	y := make([]uint64, 1<<14)
	for i := range y {
		y[i] = math.Float64bits(rng.NormFloat64())
		if k := i - 1 - rng.IntN(400); i%2 == 1 && k >= 0 {
			y[i] = y[k] + rng.Uint64N(3)
		}
	}
	var f Finder[uint64]
	b.SetBytes(int64(8 * len(y)))
	for b.Loop() {
		f.Find(y, true, []int{7, 300}, 8)
	}
}
