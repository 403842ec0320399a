package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
)

const planes, plane, rowLen = 5, 12 * 20, 20

// someLayouts are layouts of one block.
func someLayouts() []Layout {
	const n = planes * plane
	return []Layout{Whole(n), {n, n, 100}, {n, n, 4 * rowLen}, {n, n, n - 1}, {n, plane, plane}, {n, plane, 60}, {n, plane, 70}, {n, plane, 1}}
}

// somePredictors are chains and all kinds of float predictors.
func somePredictors() []Predictor {
	p := []Predictor{{}, {Chain: []int{1}}, {Chain: []int{1, 1, rowLen, rowLen}}, {Chain: []int{7}}, {Chain: []int{rowLen, 3}},
		{Chain: []int{plane}}, {Chain: []int{1, 2 * plane}}, {Chain: []int{1, rowLen, plane}}, {Chain: []int{plane, plane}}}
	for kind := WN; kind <= WW; kind++ {
		p = append(p, Predictor{Float: Float{kind, rowLen, plane}}, Predictor{Float: Float{kind, rowLen, 3 * plane}})
		for _, row := range []int{1, 4, 7, leastRow - 1, leastRow} {
			p = append(p, Predictor{Float: Float{kind, row, plane}}, Predictor{Float: Float{kind, row, 2 * plane}})
		}
	}
	return p
}

// values returns smooth floats with outliers, NaN, infinities and zeros of both signs, as bits.
func values[T entropy.Lane](rng *rand.Rand, n int) []T {
	u := make([]T, n)
	for i := range u {
		x := math.Sin(float64(i)/9) + 0.1*rng.Float64()
		if rng.IntN(20) == 0 {
			x = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), 3e38, -1e37, 1e-310}[rng.IntN(7)]
		}
		if entropy.LaneBits[T]() == 32 {
			u[i] = T(math.Float32bits(float32(x)))
		} else {
			u[i] = T(math.Float64bits(x))
		}
	}
	return u
}

// residuals returns the residuals of all elements.
func residuals[T entropy.Lane](p Predictor, l Layout, u []T) []T {
	if !p.IsFloat() {
		return Differentiate(u, l, p.Chain, new([2][]T))
	}
	r := make([]T, len(u))
	FloatResiduals(r, u, l, p.Float, 0)
	return r
}

// eachFit visits the predictors and the layouts that they fit.
func eachFit(visit func(p Predictor, l Layout)) {
	for _, p := range somePredictors() {
		for _, l := range someLayouts() {
			if p.Valid(l) {
				visit(p, l)
			}
		}
	}
}

func TestRestore(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 51))
	t.Run("32", func(t *testing.T) { testRestore[uint32](t, rng) })
	t.Run("64", func(t *testing.T) { testRestore[uint64](t, rng) })
}

func testRestore[T entropy.Lane](t *testing.T, rng *rand.Rand) {
	var buf Buffers
	eachFit(func(p Predictor, l Layout) {
		u := values[T](rng, l.N)
		r := residuals(p, l, u)
		for k := range 20 {
			i := rng.IntN(l.N)
			j := i + 1 + rng.IntN(l.N-i)
			w := l.Window(i, j, p.Deep(l)).Until(j)
			if k == 0 {
				w = l.Full()
			}
			y, want := make([]T, w.Len()), make([]T, w.Len())
			w.EachPiece(nil, 0, w.Columns(), func(e, at, n int) bool {
				copy(y[at:at+n], r[e:e+n])
				copy(want[at:at+n], u[e:e+n])
				return true
			})
			require.True(t, Restore(&buf, p, y, w))
			require.Equal(t, want, y, "%+v %+v", p, w)
		}
	})
}

func TestPredictorBytes(t *testing.T) {
	eachFit(func(p Predictor, l Layout) {
		b := p.Append(nil)
		var got Predictor
		r := &entropy.Reader{Buf: b}
		got.Read(r, p.IsFloat(), l)
		require.False(t, r.Bad)
		require.Empty(t, r.Buf)
		require.Equal(t, b, got.Append(nil))
		for k := range b {
			r := &entropy.Reader{Buf: b[:k]}
			got.Read(r, p.IsFloat(), l)
			require.True(t, r.Bad)
		}
	})
	n := planes * plane
	for _, b := range [][]byte{{5, 1, 1, 1, 1, 1}, {1, 0}, {1, 70}, {2, 1, 69}} {
		var got Predictor
		r := &entropy.Reader{Buf: b}
		got.Read(r, false, Layout{n, plane, 60})
		require.True(t, r.Bad, "%v", b)
	}
	for _, b := range [][]byte{{0, 20}, {6, 20}, {WN, 0}, {WN, 61}, {WN, 50}, {WP, 20, 200}} {
		var got Predictor
		r := &entropy.Reader{Buf: b}
		got.Read(r, true, Layout{n, plane, 60})
		require.True(t, r.Bad, "%v", b)
	}
}

// TestFill checks that masked elements have no residual.
func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 52))
	eachFit(func(p Predictor, l Layout) {
		u := values[uint32](rng, l.N)
		for i := 0; i < l.N; i += 1 + rng.IntN(90) {
			for range rng.IntN(60) {
				if i < l.N {
					u[i] = 0xDEADBEEF
					i++
				}
			}
		}
		var m masks.Mask
		masks.Build(&m, u, []uint32{0xDEADBEEF})
		before := append([]uint32(nil), u...)
		if p.IsFloat() {
			FillFloats(u, l, p.Float, &m)
		} else {
			Fill(u, l, p.Chain, &m)
		}
		for i, r := range residuals(p, l, u) {
			if before[i] == 0xDEADBEEF {
				require.Zero(t, r, "%+v %+v: element %d", p, l, i)
			} else {
				require.Equal(t, before[i], u[i])
			}
		}
	})
}

// TestGroupResiduals compares them with those of the block.
func TestGroupResiduals(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 53))
	t.Run("32", func(t *testing.T) { testGroupResiduals[uint32](t, rng) })
	t.Run("64", func(t *testing.T) { testGroupResiduals[uint64](t, rng) })
}

func testGroupResiduals[T entropy.Lane](t *testing.T, rng *rand.Rand) {
	var e Expansion
	eachFit(func(p Predictor, l Layout) {
		if p.IsFloat() {
			return
		}
		u := values[T](rng, l.N)
		want := residuals(p, l, u)
		e.Set(p.Chain, l)
		for i := 0; i < l.N; i += 1 + rng.IntN(40) {
			var r [Group]T
			GroupResiduals(&e, &r, u, i)
			at := i % l.Plane
			n := min(Group, l.Plane-at, l.Cell-at%l.Cell)
			require.Equal(t, want[i:i+n], r[:n], "%+v %+v: element %d", p, l, i)
		}
	})
}

// BenchmarkFill fills short runs and long ones, without cells, with cells, and with planes.
func BenchmarkFill(b *testing.B) {
	const n, row = 1 << 16, 64
	y := values[uint32](rand.New(rand.NewPCG(53, 53)), n)
	for _, l := range []Layout{Whole(n), {n, n, 32 * row}, {n, n / 8, 16 * row}} {
		for _, length := range []int32{1, 3, 40, 3 * row} {
			var m masks.Mask
			for at := int32(0); at+2*length < n; at += 3 * length {
				m.Runs = append(m.Runs, masks.Run{Start: at, End: at + length})
			}
			for _, chain := range [][]int{{1}, {1, row}, {1, 1, row, row}} {
				b.Run(fmt.Sprintf("cell=%d/run=%d/%v", l.Cell, length, chain), func(b *testing.B) {
					b.SetBytes(4 * n)
					for b.Loop() {
						Fill(y, l, chain, &m)
					}
				})
			}
		}
	}
}
