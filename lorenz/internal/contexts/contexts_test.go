package contexts

import (
	"fmt"
	"hash/crc32"
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

func roundTrip[T entropy.Lane](t testing.TB, r []T, s Shape, runs []Run) []byte {
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
	require.True(t, d.Open(&entropy.Reader{Buf: enc}, s))
	want := r
	if s.cut {
		want = make([]T, len(r))
		arrange(s, want, r)
	}
	got := make([]T, len(r))
	at := 0
	for q := range s.Columns() {
		n := s.Column(q).N()
		require.True(t, d.Decode(got[at:at+n], q, masked, nil))
		at += n
	}
	require.Equal(t, want, got)
	for q := s.Columns() - 1; q >= 0 && s.Ranged(); q -= 1 + s.Columns()/3 {
		n := s.Column(q).N()
		at := 0
		for p := range q {
			at += s.Column(p).N()
		}
		n = n/3 + 1
		require.True(t, d.Decode(got[:n], q, masked, nil))
		require.Equal(t, want[at:at+n], got[:n])
	}
	return enc
}

func testShapes[T entropy.Lane](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ dims, cells []int }{
		{dims: []int{32}}, {dims: []int{33}}, {dims: []int{47}}, {dims: []int{1, 1000}}, {dims: []int{40000}}, {dims: []int{40, 50}},
		{dims: []int{300, 70}}, {dims: []int{100, 20}}, {dims: []int{20, 100}}, {dims: []int{4, 40, 48}}, {dims: []int{90, 9, 7}},
		{dims: []int{3, 4, 5, 6, 64}}, {dims: []int{2, 2, 32}},
		{[]int{1000}, []int{1000, 120}}, {[]int{1000}, []int{1000, 968}}, {[]int{40, 64}, []int{2560, 640}}, {[]int{40, 64}, []int{1280, 192}},
		{[]int{4, 40, 48}, []int{7680, 480}}, {[]int{4, 40, 48}, []int{1920, 144}}, {[]int{4, 40, 48}, []int{1920, 48}},
		{[]int{3, 4, 5, 64}, []int{1280, 448}}, {[]int{3, 4, 5, 64}, []int{320, 64}},
	} {
		dims, n := c.dims, 1
		for _, d := range dims {
			n *= d
		}
		s := ShapeOf(dims)
		if c.cells != nil {
			s = s.Cut(c.cells[0], c.cells[1])
		}
		for _, scale := range []float64{0, 0.1, 5, 1e5} {
			for _, shift := range []int{0, 7} {
				t.Run(fmt.Sprint(c, scale, shift), func(t *testing.T) {
					r := noise[T](n, scale, shift, rng)
					roundTrip(t, r, s, nil)
					var runs []Run
					for at := rng.IntN(40); at < n; at += rng.IntN(200) + 1 {
						end := min(n, at+1+rng.IntN(90))
						runs = append(runs, Run{at, end})
						at = end
					}
					roundTrip(t, r, s, runs)
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
		roundTrip(t, r, s, nil)
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
		enc := roundTrip(b, r, ShapeOf(dims), nil)
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			b.SetBytes(int64(4 * n))
			var d Decoder[uint32]
			for b.Loop() {
				d.Open(&entropy.Reader{Buf: enc}, ShapeOf(dims))
				d.Decode(r, 0, nil, nil)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dims := range [][]int{{65536}, {180, 360}, {4, 128, 128}} {
		n := 1
		for _, d := range dims {
			n *= d
		}
		r, s := noise[uint32](n, 300, 0, rng), ShapeOf(dims)
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			b.SetBytes(int64(4 * n))
			var e Encoder[uint32]
			var buf []byte
			for b.Loop() {
				e.Load(r, s, nil)
				e.Estimate()
				buf = e.Append(buf[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
		})
	}
}

// TestBytes proves that all machines encode the same bytes, whether they have kernels or not.
func TestBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	sum := crc32.NewIEEE()
	for _, c := range []struct{ dims, cells []int }{
		{dims: []int{1000}}, {dims: []int{70, 300}}, {dims: []int{300, 20}}, {dims: []int{4, 40, 83}}, {[]int{4, 40, 48}, []int{1920, 480}},
	} {
		n := 1
		for _, d := range c.dims {
			n *= d
		}
		s := ShapeOf(c.dims)
		if c.cells != nil {
			s = s.Cut(c.cells[0], c.cells[1])
		}
		for _, shift := range []int{0, 3} {
			r, wide := make([]uint32, n), make([]uint64, n)
			for i := range r {
				r[i] = uint32(int32(rng.Uint32())>>(8+(i/50+rng.IntN(8))%24)) << shift
				wide[i] = uint64(int64(int32(r[i]))) << 20
			}
			runs := []Run{{n / 9, n/9 + 70}, {n / 2, n/2 + n/10}, {n - 3, n}}
			for _, list := range [][]Run{nil, runs} {
				sum.Write(roundTrip(t, r, s, list))
				sum.Write(roundTrip(t, wide, s, list))
			}
		}
	}
	require.Equal(t, "5aa8f907", fmt.Sprintf("%08x", sum.Sum32()))
}
