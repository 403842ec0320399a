package contexts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// noise returns residuals whose magnitude changes from place to place.
func noise[T entropy.Lane](n int, scale float64, shift int, rng *rand.Rand) []T {
	r := make([]T, n)
	for i := range r {
		x := rng.NormFloat64() * scale * math.Exp(3*math.Sin(float64(i)/999)+2*math.Cos(float64(i%77)/9))
		r[i] = T(int64(x)) << shift
	}
	return r
}

func roundTrip[T entropy.Lane](t testing.TB, r []T, dims []int, runs []Run) []byte {
	s := ShapeOf(dims)
	require.True(t, s.Valid())
	var masked []uint64
	if len(runs) > 0 {
		masked = make([]uint64, (len(r)+63)/64)
		for _, m := range runs {
			for i := m.Start; i < m.End; i++ {
				masked[i>>6] |= 1 << (i & 63)
				r[i] = 0
			}
		}
	}
	var e Encoder[T]
	e.Load(r, s, runs)
	e.Estimate()
	enc := e.Append(nil)
	var d Decoder[T]
	got := make([]T, len(r))
	require.True(t, d.Decode(&entropy.Reader{Buf: enc}, got, s, masked, nil))
	require.Equal(t, r, got)
	return enc
}

func testShapes[T entropy.Lane](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dims := range [][]int{{32}, {33}, {47}, {1, 1000}, {40000}, {40, 50}, {300, 70}, {100, 20}, {20, 100}, {4, 40, 48}, {90, 9, 7}, {3, 4, 5, 6, 64}, {2, 2, 32}} {
		n := 1
		for _, d := range dims {
			n *= d
		}
		for _, scale := range []float64{0, 0.1, 5, 1e5} {
			for _, shift := range []int{0, 7} {
				t.Run(fmt.Sprint(dims, scale, shift), func(t *testing.T) {
					r := noise[T](n, scale, shift, rng)
					roundTrip(t, r, dims, nil)
					var runs []Run
					for at := rng.IntN(40); at < n; at += rng.IntN(200) + 1 {
						end := min(n, at+1+rng.IntN(90))
						runs = append(runs, Run{at, end})
						at = end
					}
					roundTrip(t, r, dims, runs)
				})
			}
		}
		r := make([]T, n)
		for i := range r {
			r[i] = T(rng.Uint64()) // all classes
			if i%3 == 0 {
				r[i] = T(1) << (entropy.LaneBits[T]() - 1)
			}
		}
		roundTrip(t, r, dims, nil)
	}
}

func TestShapes(t *testing.T) {
	t.Run("32", testShapes[uint32])
	t.Run("64", testShapes[uint64])
}

func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dims := range [][]int{{65536}, {180, 360}, {4, 128, 128}} {
		n := 1
		for _, d := range dims {
			n *= d
		}
		r := noise[uint32](n, 300, 0, rng)
		enc := roundTrip(b, r, dims, nil)
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			b.SetBytes(int64(4 * n))
			var d Decoder[uint32]
			for b.Loop() {
				d.Decode(&entropy.Reader{Buf: enc}, r, ShapeOf(dims), nil, nil)
			}
		})
	}
}
