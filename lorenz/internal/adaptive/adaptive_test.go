package adaptive

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// roundTrip encodes and decodes the residuals of spans.
func roundTrip[T entropy.Lane](t *testing.T, r []T, spans []Span, near Neighbours) {
	enc, ok := new(Encoder[T]).Encode(nil, r, spans, near, math.MaxInt)
	require.True(t, ok)
	_, ok = new(Encoder[T]).Encode(nil, r, spans, near, len(enc))
	require.False(t, ok)
	each := func(visit func(start, end int) bool) {
		for _, s := range spans {
			if !visit(s.Start, s.End) {
				return
			}
		}
	}
	decode := func(b []byte) ([]T, bool) {
		got := make([]T, len(r))
		ok := new(Model[T]).Decode(&entropy.Reader{Buf: b}, got, each, near, nil)
		return got, ok
	}
	got, ok := decode(enc)
	require.True(t, ok)
	require.Equal(t, r, got)
	_, ok = decode(append(enc, 0))
	require.False(t, ok)
}

// both round-trips residuals in lanes of 32 and 64 bits.
func both(t *testing.T, r []int64, spans []Span, near Neighbours) {
	narrow, wide := make([]uint32, len(r)), make([]uint64, len(r))
	for i, v := range r {
		narrow[i], wide[i] = uint32(v), uint64(v)
	}
	roundTrip(t, narrow, spans, near)
	roundTrip(t, wide, spans, near)
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	ends := []int64{0, 1, -1, 2, -2, 3, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 62, -1 << 31}
	for _, near := range []Neighbours{{3, 6}, {4, 8}, {100, 300}} {
		for _, n := range []int{1, 31, 32, 33, 1000} {
			most := rng.IntN(65)
			sizes, extremes, shifted := make([]int64, n), make([]int64, n), make([]int64, n)
			for i := range n {
				sizes[i] = rng.Int64() >> rng.IntN(64) * int64(1-2*rng.IntN(2))
				extremes[i] = ends[rng.IntN(len(ends))]
				shifted[i] = int64(rng.NormFloat64()*100) << (most % 20)
			}
			whole := []Span{{0, n}}
			both(t, sizes, whole, near)
			both(t, extremes, whole, near)
			both(t, shifted, whole, near)
			both(t, make([]int64, n), whole, near)
			if n == 1000 {
				for _, s := range []Span{{0, 10}, {500, 700}, {990, n}} {
					clear(shifted[s.Start:s.End])
				}
				both(t, shifted, []Span{{10, 500}, {700, 701}, {701, 990}}, near)
			}
		}
	}
}

// noise returns residuals of a field whose variance changes slowly.
func noise(n int) []uint32 {
	rng := rand.New(rand.NewPCG(1, 2))
	r := make([]uint32, n)
	for i := range r {
		r[i] = uint32(int32(rng.NormFloat64() * 300 * math.Exp(math.Sin(float64(i)/5000))))
	}
	return r
}

func BenchmarkEncode(b *testing.B) {
	r := noise(1 << 16)
	e := new(Encoder[uint32])
	var enc []byte
	b.SetBytes(int64(4 * len(r)))
	for b.Loop() {
		enc, _ = e.Encode(enc[:0], r, []Span{{0, len(r)}}, Neighbours{256, 512}, math.MaxInt)
	}
}

func BenchmarkDecode(b *testing.B) {
	r := noise(1 << 16)
	whole := func(visit func(start, end int) bool) { visit(0, len(r)) }
	enc, _ := new(Encoder[uint32]).Encode(nil, r, []Span{{0, len(r)}}, Neighbours{256, 512}, math.MaxInt)
	m := new(Model[uint32])
	b.SetBytes(int64(4 * len(r)))
	for b.Loop() {
		require.True(b, m.Decode(&entropy.Reader{Buf: enc}, r, whole, Neighbours{256, 512}, nil))
	}
}
