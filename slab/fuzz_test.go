package slab

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzSelection compares selections with their definition, element by element. A
// selection is refused or selects exactly these elements, and Grid yields each block
// that holds some of them once.
func FuzzSelection(f *testing.F) {
	s := seeds.Of(f)
	const most = 1<<63 - 1
	add := func(name string, start, count, stride [2]int64) {
		s.Add(name, uint8(7), uint8(5), uint8(3), start[0], start[1], count[0], count[1], stride[0], stride[1], uint8(7))
	}
	add("box", [2]int64{1, 2}, [2]int64{3, 2}, [2]int64{1, 1})
	add("back", [2]int64{6, 4}, [2]int64{3, 5}, [2]int64{-3, -1})
	add("strided", [2]int64{0, 1}, [2]int64{2, 2}, [2]int64{5, 3})
	add("nothing", [2]int64{7, 0}, [2]int64{0, 5}, [2]int64{1, 1})
	add("outside", [2]int64{6, 4}, [2]int64{2, 1}, [2]int64{1, 1})
	add("step-0", [2]int64{0, 0}, [2]int64{1, 1}, [2]int64{0, 1})
	add("largest", [2]int64{most, -most}, [2]int64{most, most}, [2]int64{most, -most - 1})
	f.Fuzz(func(t *testing.T, n0, n1, tile uint8, start0, start1, count0, count1, stride0, stride1 int64, given uint8) {
		shape := []int64{int64(n0 % 16), int64(n1 % 16)}
		block := []int64{int64(tile%4) + 1, int64(tile/4%4) + 1}
		var s Sel
		for i, p := range []struct {
			to *[]int64
			v  []int64
		}{{&s.Start, []int64{start0, start1}}, {&s.Count, []int64{count0, count1}}, {&s.Stride, []int64{stride0, stride1}}} {
			if given>>i&1 == 1 {
				*p.to = p.v
			}
		}
		a := ramp(cdf3.Int, shape...)
		got, err := Read[int32](context.Background(), a, s)
		n, lenErr := s.Len(shape)
		require.Equal(t, err == nil, lenErr == nil)
		if err != nil {
			require.True(t, errors.Is(err, ErrBounds) || errors.Is(err, ErrStride), "%v", err)
			return
		}
		want, tiles := oneByOne(s, shape, block)
		require.Len(t, want, int(n))
		require.True(t, slices.Equal(want, got), "%v: expected %v, found %v", s, want, got)
		var seen [][2]int64
		require.NoError(t, s.Grid(shape, block, func(g []int64, lo, hi int64) bool {
			require.True(t, lo >= 0 && lo < hi && hi <= block[0]*block[1])
			seen = append(seen, [2]int64(g))
			return true
		}))
		require.Len(t, seen, len(tiles))
		for _, g := range seen {
			require.True(t, tiles[g], "%v", g)
		}
		b := &inBlocks{Reader: a.values.(*bytes.Reader), a: &a, block: block}
		got, err = Read[int32](context.Background(), plain{cdf3.Int, shape, b}, s)
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got), "in blocks: %v: expected %v, found %v", s, want, got)
	})
}

// oneByOne returns the elements of a ramp that s selects, by definition, and the blocks
// that hold them.
func oneByOne(s Sel, shape, block []int64) (values []int32, tiles map[[2]int64]bool) {
	index := [2][]int64{}
	for i, n := range shape {
		start, stride := int64(0), int64(1)
		if s.Start != nil {
			start = s.Start[i]
		}
		if s.Stride != nil {
			stride = s.Stride[i]
		}
		for x := start; x >= 0 && x < n && (s.Count == nil || int64(len(index[i])) < s.Count[i]); x += stride {
			index[i] = append(index[i], x)
		}
	}
	tiles = map[[2]int64]bool{}
	for _, y := range index[0] {
		for _, x := range index[1] {
			values = append(values, int32(y*shape[1]+x))
			tiles[[2]int64{y / block[0], x / block[1]}] = true
		}
	}
	return values, tiles
}
