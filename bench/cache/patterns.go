package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// pattern is a way to read a record variable: the consecutive selections of each
// goroutine.
type pattern struct {
	name, what string
	reads      func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel
}

// all selects the indices that are read in full.
type all func(i, rank int) bool

func point(int, int) bool              { return false }
func series(i, _ int) bool             { return i == 0 }
func plane(i, rank int) bool           { return i >= rank-2 }
func row(i, rank int) bool             { return i == rank-1 }
func one(list []slab.Sel) [][]slab.Sel { return [][]slab.Sel{list} }

// sel selects everything in the dimensions that all accepts, and one index in the
// others.
func sel(v *cdf3.Var, a all, at []int64) slab.Sel {
	s := slab.Sel{Start: make([]int64, len(v.Shape)), Count: make([]int64, len(v.Shape))}
	for i, n := range v.Shape {
		if s.Start[i], s.Count[i] = min(max(at[i], 0), n-1), 1; a(i, len(v.Shape)) {
			s.Start[i], s.Count[i] = 0, n
		}
	}
	return s
}

func anywhere(rng *rand.Rand, v *cdf3.Var) []int64 {
	at := make([]int64, len(v.Shape))
	for i, n := range v.Shape {
		at[i] = rng.Int64N(n)
	}
	return at
}

// inOrder returns n selections that follow each other in the file, from record rec on.
func inOrder(v *cdf3.Var, a all, rec int64, n int) []slab.Sel {
	at := make([]int64, len(v.Shape))
	at[0] = rec
	var out []slab.Sel
	for range n {
		out = append(out, sel(v, a, at))
		for i := len(at) - 1; i >= 0; i-- {
			if a(i, len(at)) {
				continue
			}
			if at[i]++; at[i] < v.Shape[i] || i == 0 {
				break
			}
			at[i] = 0
		}
	}
	return out
}

var patterns = []pattern{
	{"point", "1000 values along a track: the next record every 10 values, and at most one place to either side", func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		at := anywhere(rng, v)
		at[0] = rng.Int64N(max(1, v.Shape[0]-100))
		var out []slab.Sel
		for i := range 1000 {
			if i%10 == 9 {
				at[0]++
			}
			for k := 1; k < len(at); k++ {
				at[k] = min(max(at[k]+rng.Int64N(3)-1, 0), v.Shape[k]-1)
			}
			out = append(out, sel(v, point, at))
		}
		return one(out)
	}},
	{"series", "all records at a point, at 4 neighbouring points one after the other", func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		at := anywhere(rng, v)
		last := len(at) - 1
		at[last] = rng.Int64N(max(1, v.Shape[last]-4))
		var out []slab.Sel
		for range 4 {
			out = append(out, sel(v, series, at))
			at[last]++
		}
		return one(out)
	}},
	{"map", "200 maps in the order of the file", func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		return one(inOrder(v, plane, rng.Int64N(max(1, v.Shape[0]-250)), 200))
	}},
	{"rows", "2000 rows in the order of the file", func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		return one(inOrder(v, row, rng.Int64N(max(1, v.Shape[0]-250)), 2000))
	}},
	{"random", "1000 values anywhere", func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		var out []slab.Sel
		for range 1000 {
			out = append(out, sel(v, point, anywhere(rng, v)))
		}
		return one(out)
	}},
	{"scan", "all values, 8 records at a time", func(_ *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		var out []slab.Sel
		for at := int64(0); at < v.Shape[0]; at += 8 {
			s := sel(v, func(int, int) bool { return true }, make([]int64, len(v.Shape)))
			s.Start[0], s.Count[0] = at, min(8, v.Shape[0]-at)
			out = append(out, s)
		}
		return one(out)
	}},
	{"8 goroutines", "each 100 maps of the same 8 records, in any order", func(rng *rand.Rand, v *cdf3.Var) [][]slab.Sel {
		rec := rng.Int64N(max(1, v.Shape[0]-8))
		var out [][]slab.Sel
		for range 8 {
			var list []slab.Sel
			for range 100 {
				at := anywhere(rng, v)
				at[0] = rec + rng.Int64N(8)
				list = append(list, sel(v, plane, at))
			}
			out = append(out, list)
		}
		return out
	}},
}

// figure is the cost of a pattern.
type figure struct {
	read   float64 // µs of CPU time per read, sum of all processors
	blocks float64 // decoded per read
}

// measure runs a pattern over an archive that was just opened.
func measure(name string, cache int64, v *cdf3.Var, work [][]slab.Sel) (figure, error) {
	f, err := archive.Open(context.Background(), name, &archive.OpenOptions{Cache: cache})
	if err != nil {
		return figure{}, err
	}
	defer f.Close()
	a, err := f.Var(v.Name)
	if err != nil {
		return figure{}, err
	}
	reads, sizes, bufs := 0, make([][]int64, len(work)), make([][]float32, len(work))
	for i, list := range work {
		for _, s := range list {
			n, err := s.Len(v.Shape)
			if err != nil {
				return figure{}, err
			}
			sizes[i] = append(sizes[i], n)
		}
		reads += len(list)
		bufs[i] = slices.Repeat([]float32{1}, int(slices.Max(sizes[i]))) // touches its pages
	}
	cost, err := run.Func(func() error {
		var g errgroup.Group
		for i, list := range work {
			g.Go(func() error {
				for k, s := range list {
					if err := slab.ReadInto(context.Background(), a, bufs[i][:sizes[i][k]], s); err != nil {
						return fmt.Errorf("%s: %w", v.Name, err)
					}
				}
				return nil
			})
		}
		return g.Wait()
	})
	if err != nil {
		return figure{}, err
	}
	return figure{float64(cost.CPU) / 1e3 / float64(reads), float64(f.Stats().Blocks) / float64(reads)}, nil
}
