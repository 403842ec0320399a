package slab

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// ramp returns an array whose element i has the value i, in the low bytes of its type.
func ramp(t cdf3.Type, shape ...int64) plain {
	a := plain{shape: shape, typ: t}
	n := byteLen(a) / t.Size()
	b := make([]byte, 0, byteLen(a))
	for i := range n {
		switch t {
		case cdf3.Float:
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(i)))
		case cdf3.Double:
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(float64(i)))
		default:
			var w [8]byte
			binary.BigEndian.PutUint64(w[:], uint64(i))
			b = append(b, w[8-t.Size():]...)
		}
	}
	a.values = bytes.NewReader(b)
	return a
}

func byteLen(a Array) int64 {
	n, err := Len(a)
	if err != nil {
		panic(err)
	}
	return n
}

// inBlocks serves an array in blocks of one shape, as an archive does.
type inBlocks struct {
	*bytes.Reader
	a     *plain
	block []int64
}

// Bytes pretends that blocks end after every seventh element.
func (b *inBlocks) Bytes(_ context.Context, off, n int64) ([]byte, error) {
	if size := b.a.typ.Size(); off/size%7+n/size > 7 {
		return nil, nil
	}
	p := make([]byte, n)
	_, err := b.ReadAt(p, off)
	return p, err
}

func (b *inBlocks) EachBlock(_ context.Context, s Sel, f func(Block) error) error {
	var failed error
	err := s.Grid(b.a.shape, b.block, func(grid []int64, lo, hi int64) bool {
		start, count := make([]int64, len(grid)), make([]int64, len(grid))
		for i, g := range grid {
			start[i] = g * b.block[i]
			count[i] = min(b.block[i], b.a.shape[i]-start[i])
		}
		// The box as bytes, element by element.
		size := b.a.typ.Size()
		var data []byte
		idx := make([]int64, len(grid))
		for {
			off := int64(0)
			for i := range idx {
				off = off*b.a.shape[i] + start[i] + idx[i]
			}
			p := make([]byte, size)
			b.ReadAt(p, off*size)
			data = append(data, p...)
			i := len(idx) - 1
			for ; i >= 0; i-- {
				if idx[i]++; idx[i] < count[i] {
					break
				}
				idx[i] = 0
			}
			if i < 0 {
				break
			}
		}
		// Pass only the requested part, so that a bound that is too tight fails the
		// test.
		failed = f(Block{start, count, data[lo*size : hi*size : hi*size], lo * size})
		return failed == nil
	})
	return errors.Join(err, failed)
}

// expected returns the selected elements of a ramp, one by one.
func expected(shape []int64, s Sel) []int64 {
	out := []int64{0}
	for i, n := range shape {
		var next []int64
		for _, base := range out {
			for k := range s.Count[i] {
				next = append(next, base*n+s.Start[i]+k*s.Stride[i])
			}
		}
		out = next
	}
	return out
}

func randomSelection(rng *rand.Rand, shape []int64) Sel {
	var s Sel
	for _, n := range shape {
		start := rng.Int63n(n)
		stride := 1 + rng.Int63n(3)
		room := (n-1-start)/stride + 1
		if rng.Intn(4) == 0 {
			stride, room = -stride, start/stride+1
		}
		count := 1 + rng.Int63n(room)
		if rng.Intn(3) == 0 {
			start, stride, count = 0, 1, n
		}
		if rng.Intn(20) == 0 {
			count = 0
		}
		s.Start, s.Count, s.Stride = append(s.Start, start), append(s.Count, count), append(s.Stride, stride)
	}
	return s
}

func checkSelection[T cdf3.Number](t *testing.T, a plain, s Sel) {
	t.Helper()
	got, err := Read[T](context.Background(), a, s)
	require.NoError(t, err, "%v of %v", s, a.shape)
	want := expected(a.shape, s)
	require.Len(t, got, len(want))
	for i := range want {
		if T(want[i]) != got[i] { // require alone takes most of the time of these tests
			require.Equal(t, T(want[i]), got[i], "%v of %v: element %d", s, a.shape, i)
		}
	}
}

// TestRandom compares random selections of all ranks with their definition, read from a
// file and from blocks.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 3000 {
		shape := make([]int64, rng.Intn(10))
		n := int64(1)
		for i := range shape {
			shape[i] = 1 + rng.Int63n(max(1, min(20, 4000/n)))
			n *= shape[i]
		}
		a := ramp([]cdf3.Type{cdf3.Int, cdf3.Double, cdf3.Short, cdf3.Float}[rng.Intn(4)], shape...)
		if rng.Intn(2) == 0 {
			block := append([]int64{}, shape...)
			j := rng.Intn(len(shape) + 1)
			for i := range block {
				if i < j {
					block[i] = 1
				} else if i == j {
					block[i] = 1 + rng.Int63n(shape[i])
				}
			}
			a.values = &inBlocks{a.values.(*bytes.Reader), &a, block}
		}
		s := randomSelection(rng, shape)
		switch a.typ {
		case cdf3.Int:
			checkSelection[int32](t, a, s)
		case cdf3.Double:
			checkSelection[float64](t, a, s)
		case cdf3.Short:
			checkSelection[int16](t, a, s)
		case cdf3.Float:
			checkSelection[float32](t, a, s)
		}
	}
}

// TestLong reads rows of all lengths near those of the unrolled loops.
func TestLong(t *testing.T) {
	step := int64(1)
	if testing.Short() {
		step = 11
	}
	for n := int64(0); n < 70; n += step {
		s := Sel{[]int64{3}, []int64{n}, []int64{1}}
		checkSelection[int8](t, ramp(cdf3.Byte, 80), s)
		checkSelection[uint8](t, ramp(cdf3.UByte, 80), s)
		checkSelection[uint16](t, ramp(cdf3.UShort, 80), s)
		checkSelection[uint32](t, ramp(cdf3.UInt, 80), s)
		checkSelection[uint64](t, ramp(cdf3.UInt64, 80), s)
		checkSelection[int64](t, ramp(cdf3.Int64, 80), s)
		checkSelection[float32](t, ramp(cdf3.Float, 80), s)
		checkSelection[float64](t, ramp(cdf3.Double, 80), s)
	}
	big := ramp(cdf3.Int, 300, 1000)
	checkSelection[int32](t, big, Sel{[]int64{0, 0}, []int64{300, 1000}, []int64{1, 1}})
	checkSelection[int32](t, big, Sel{[]int64{299, 999}, []int64{300, 500}, []int64{-1, -2}})
	checkSelection[int32](t, big, Sel{[]int64{1, 7}, []int64{100, 1}, []int64{2, 1}})
}

func TestErrors(t *testing.T) {
	a := ramp(cdf3.Int, 4, 5)
	one := []int64{1, 1}
	for _, c := range []struct {
		start, count, stride []int64
		err                  error
	}{
		{[]int64{0}, one, nil, ErrRank}, {[]int64{-1, 0}, one, nil, ErrBounds}, {[]int64{4, 0}, one, nil, ErrBounds},
		{[]int64{0, 0}, []int64{5, 1}, nil, ErrBounds}, {[]int64{0, 0}, []int64{-1, 1}, nil, ErrBounds},
		{[]int64{0, 0}, []int64{1, 3}, []int64{1, 3}, ErrBounds}, {nil, nil, []int64{1, 0}, ErrStride},
		{[]int64{0, 1}, []int64{1, 3}, []int64{1, -1}, ErrBounds}, {[]int64{5, 0}, []int64{0, 1}, nil, ErrBounds},
	} {
		_, err := Read[int32](context.Background(), a, Sel{c.start, c.count, c.stride})
		require.ErrorIs(t, err, c.err, "%v", c)
	}
	_, err := Read[float32](context.Background(), a, Sel{})
	require.ErrorIs(t, err, ErrType)
	_, err = Read[uint32](context.Background(), a, Sel{})
	require.ErrorIs(t, err, ErrType)
	require.ErrorIs(t, ReadInto(context.Background(), a, make([]int32, 3), Sel{}), ErrLength)
	empty, err := Read[int32](context.Background(), a, Sel{Start: []int64{4, 0}, Count: []int64{0, 5}})
	require.NoError(t, err)
	require.Empty(t, empty)
	all, err := Read[int32](context.Background(), a, Sel{})
	require.NoError(t, err)
	require.Len(t, all, 20)
	a.values = io.NewSectionReader(a.values, 0, 10)
	_, err = Read[int32](context.Background(), a, Sel{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	b := ramp(cdf3.Int, 4, 5)
	require.ErrorIs(t, ReadInto(cancelled, b, make([]int32, 8), Sel{Count: []int64{4, 2}}), context.Canceled)
}

func TestConvert(t *testing.T) {
	ctx := context.Background()
	doubles := func(v ...float64) plain {
		var b []byte
		for _, x := range v {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
		}
		return plain{cdf3.Double, []int64{int64(len(v))}, bytes.NewReader(b)}
	}
	a := doubles(1.9, -1.9, 127, -128.5, 0)
	got := make([]int8, 5)
	require.NoError(t, Convert(ctx, a, got, Sel{}))
	require.Equal(t, []int8{1, -1, 127, -128, 0}, got)
	for _, bad := range []float64{128, -129, math.NaN(), math.Inf(1), 1e300} {
		a := doubles(bad, 7)
		err := Convert(ctx, a, got[:2], Sel{})
		require.ErrorIs(t, err, ErrRange, "%v", bad)
		require.Equal(t, int8(7), got[1])
	}
	a = doubles(-1 << 63)
	i64 := make([]int64, 1)
	require.NoError(t, Convert(ctx, a, i64, Sel{}))
	require.Equal(t, int64(math.MinInt64), i64[0])
	a = doubles(1 << 63)
	require.ErrorIs(t, Convert(ctx, a, i64, Sel{}), ErrRange)
	a = doubles(math.Inf(-1), math.NaN(), 1e39)
	require.ErrorIs(t, Convert(ctx, a, make([]float32, 3), Sel{}), ErrRange)
	a = doubles(math.Inf(-1), math.NaN())
	require.NoError(t, Convert(ctx, a, make([]float32, 2), Sel{}))
	u := ramp(cdf3.UInt64, 3)
	u.values = bytes.NewReader(bytes.Repeat([]byte{0xff}, 24))
	require.ErrorIs(t, Convert(ctx, u, make([]int64, 3), Sel{}), ErrRange)
	require.NoError(t, Convert(ctx, u, make([]float64, 3), Sel{}))
	c := ramp(cdf3.Char, 3)
	require.ErrorIs(t, Convert(ctx, c, make([]float64, 3), Sel{}), ErrType)
	require.NoError(t, Convert(ctx, c, make([]uint8, 3), Sel{}))
}

// TestNamed reads into types with a type of numbers below them, as into that type.
func TestNamed(t *testing.T) {
	type (
		celsius float32
		meters  float64
		count   uint16
		index   int32
	)
	ctx := context.Background()
	f, err := Read[celsius](ctx, ramp(cdf3.Float, 3), Sel{})
	require.NoError(t, err)
	require.Equal(t, []celsius{0, 1, 2}, f)
	n, err := Read[count](ctx, ramp(cdf3.UShort, 3), Sel{})
	require.NoError(t, err)
	require.Equal(t, []count{0, 1, 2}, n)

	for _, other := range []cdf3.Type{cdf3.Int, cdf3.UInt, cdf3.Double} {
		_, err = Read[celsius](ctx, ramp(other, 3), Sel{})
		require.ErrorIs(t, err, ErrType, "%s", other)
		require.ErrorIs(t, Decode(f, other, make([]byte, 12)), ErrType, "%s", other)
		f = []celsius{7, 7, 7}
		require.NoError(t, Convert(ctx, ramp(other, 3), f, Sel{}), "%s", other)
		require.Equal(t, []celsius{0, 1, 2}, f, "%s", other)
	}
	for _, other := range []cdf3.Type{cdf3.UInt, cdf3.Float} {
		_, err = Read[index](ctx, ramp(other, 3), Sel{})
		require.ErrorIs(t, err, ErrType, "%s", other)
	}
	_, err = Read[meters](ctx, ramp(cdf3.Int64, 3), Sel{})
	require.ErrorIs(t, err, ErrType)
	_, err = Read[count](ctx, ramp(cdf3.Short, 3), Sel{})
	require.ErrorIs(t, err, ErrType)

	large := plain{cdf3.Double, []int64{2}, bytes.NewReader(binary.BigEndian.AppendUint64(
		binary.BigEndian.AppendUint64(nil, math.Float64bits(1e20)), math.Float64bits(math.Inf(1))))}
	require.NoError(t, Convert(ctx, large, f[:2], Sel{}))
	require.Equal(t, []celsius{1e20, celsius(math.Inf(1))}, f[:2])
	require.ErrorIs(t, Convert(ctx, large, make([]index, 2), Sel{}), ErrRange)
	large.values = bytes.NewReader(binary.BigEndian.AppendUint64(nil, math.Float64bits(1e39)))
	large.shape = []int64{1}
	require.ErrorIs(t, Convert(ctx, large, f[:1], Sel{}), ErrRange)
	require.NoError(t, Convert(ctx, large, make([]meters, 1), Sel{}))
}

func BenchmarkLoad(b *testing.B) {
	for _, size := range []cdf3.Type{cdf3.Short, cdf3.Float, cdf3.Double} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			src := make([]byte, 256<<10)
			b.SetBytes(int64(len(src)))
			f4, i2, f8 := make([]float32, 64<<10), make([]int16, 128<<10), make([]float64, 32<<10)
			for b.Loop() {
				switch size {
				case cdf3.Short:
					load(i2, src)
				case cdf3.Float:
					load(f4, src)
				case cdf3.Double:
					load(f8, src)
				}
			}
		})
	}
}

// TestWalk checks that the boxes tile the array.
func TestWalk(t *testing.T) {
	ctx := context.Background()
	for _, shape := range [][]int64{nil, {0}, {7}, {3, 0, 2}, {300, 1000}, {5, 6, 7}} {
		for _, blocked := range []bool{false, true} {
			a := ramp(cdf3.Int, shape...)
			if blocked && byteLen(a) > 0 {
				block := append([]int64{}, shape...)
				if len(block) > 0 {
					block[0] = (block[0] + 1) / 2
				}
				a.values = shaped{&inBlocks{a.values.(*bytes.Reader), &a, block}, block}
			}
			for name, walk := range walks {
				var mu sync.Mutex
				seen := map[int32]bool{}
				require.NoError(t, walk(ctx, a, func(start, count []int64, values []int32) error {
					one := Sel{start, count, make([]int64, len(shape))}
					for i := range one.Stride {
						one.Stride[i] = 1
					}
					mu.Lock()
					defer mu.Unlock()
					var want []int32
					for _, x := range expected(shape, one) {
						want = append(want, int32(x))
						seen[int32(x)] = true
					}
					require.True(t, slices.Equal(want, values))
					return nil
				}), name)
				require.Len(t, seen, int(byteLen(a)/4), name)
			}
		}
	}
	stop := errors.New("stop")
	a := ramp(cdf3.Int, 300, 1000)
	ended, end := context.WithCancel(ctx)
	end()
	for _, walk := range walks {
		require.ErrorIs(t, walk(ctx, a, func(_, _ []int64, _ []int32) error { return stop }), stop)
		require.ErrorIs(t, walk(ended, a, func(_, _ []int64, _ []int32) error { return nil }), context.Canceled)
	}
	require.ErrorIs(t, WalkParallel(ctx, a, 0, func(_, _ []int64, _ []int8) error { return nil }), ErrType)
}

// walks are Walk, and WalkParallel with several numbers of workers.
var walks = map[string]func(context.Context, Array, func(start, count []int64, values []int32) error) error{
	"in order": Walk[int32],
	"1 worker": func(ctx context.Context, a Array, f func(start, count []int64, values []int32) error) error {
		return WalkParallel(ctx, a, 1, f)
	},
	"8 workers": func(ctx context.Context, a Array, f func(start, count []int64, values []int32) error) error {
		return WalkParallel(ctx, a, 8, f)
	},
}

// TestDecode converts bytes as blocks have them.
func TestDecode(t *testing.T) {
	got := make([]int16, 2)
	require.NoError(t, Decode(got, cdf3.Short, []byte{255, 254, 1, 2}))
	require.Equal(t, []int16{-2, 258}, got)
	require.ErrorIs(t, Decode(got, cdf3.UShort, make([]byte, 4)), ErrType)
	require.ErrorIs(t, Decode(got, cdf3.Short, make([]byte, 5)), ErrLength)
}

type shaped struct {
	*inBlocks
	block []int64
}

func (s shaped) BlockShape() []int64 { return s.block }

// TestGridFar checks that Grid skips the blocks between selected elements without
// visiting them, since an array may claim any length.
func TestGridFar(t *testing.T) {
	const n, block = math.MaxInt64 - 4, 1000
	const half = (n - 1) / 2
	for _, s := range []Sel{
		{Start: []int64{0}, Count: []int64{3}, Stride: []int64{half}},
		{Start: []int64{n - 1}, Count: []int64{3}, Stride: []int64{-half}},
	} {
		var got [][3]int64
		require.NoError(t, s.Grid([]int64{n}, []int64{block}, func(g []int64, lo, hi int64) bool {
			got = append(got, [3]int64{g[0], lo, hi})
			return true
		}))
		var want [][3]int64
		for _, x := range []int64{0, half, 2 * half} {
			want = append(want, [3]int64{x / block, x % block, x%block + 1})
		}
		require.Equal(t, want, got)
	}
}

// TestGridLast selects from a last block that would end beyond the range of int64.
func TestGridLast(t *testing.T) {
	const n = math.MaxInt64 - 4
	const half = (n - 1) / 2
	s := Sel{Start: []int64{0}, Count: []int64{3}, Stride: []int64{half}}
	var got [][3]int64
	require.NoError(t, s.Grid([]int64{n}, []int64{half + 10}, func(g []int64, lo, hi int64) bool {
		got = append(got, [3]int64{g[0], lo, hi})
		return true
	}))
	require.Equal(t, [][3]int64{{0, 0, half + 1}, {1, half - 10, half - 9}}, got)
}

// TestHostile checks that senseless shapes, blocks and types are errors.
func TestHostile(t *testing.T) {
	ctx := context.Background()
	never := func([]int64, int64, int64) bool { panic("no block") }
	for _, shape := range [][]int64{{-1}, {3, -5}, {0, -1}, {math.MaxInt64, math.MaxInt64}, {math.MinInt64}} {
		_, err := New(cdf3.Int, shape, bytes.NewReader(nil))
		require.ErrorIs(t, err, ErrBounds)
		a := plain{cdf3.Int, shape, bytes.NewReader(nil)}
		_, err = Read[int32](ctx, a, Sel{})
		require.ErrorIs(t, err, ErrBounds)
		require.ErrorIs(t, Walk(ctx, a, func(_, _ []int64, _ []int32) error { return nil }), ErrBounds)
		require.ErrorIs(t, Sel{}.Grid(shape, make([]int64, len(shape)), never), ErrBounds)
	}
	_, err := Read[int32](ctx, plain{cdf3.Int, []int64{1 << 46}, bytes.NewReader(nil)}, Sel{})
	require.ErrorIs(t, err, ErrLength)
	for _, block := range [][]int64{nil, {0}, {-1}, {1, 1}} {
		require.ErrorIs(t, Sel{}.Grid([]int64{5}, block, never), ErrRank)
	}
	require.EqualError(t, Sel{}.Grid([]int64{5}, nil, never), "slab: expected a block of 1 dimensions of at least 1, found []: wrong number of dimensions")
	_, err = New(12, nil, bytes.NewReader(nil))
	require.ErrorIs(t, err, ErrType)
	for _, a := range []Array{nil, plain{}} {
		_, err := Read[int32](ctx, a, Sel{})
		require.Error(t, err)
		require.Error(t, Convert(ctx, a, make([]float64, 1), Sel{}))
	}
}
