package page

import (
	"context"
	"math"

	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// whole reports whether a series that is read in steps could be read completely.
func (p *place) whole(a slab.Array) bool {
	if len(p.order) != 1 || p.sel.Stride[p.order[0]] == 1 {
		return false
	}
	n := p.length[p.order[0]]
	return n <= maxWork/int64(a.Type().Size()) && cheap(a, p.run(0, n))
}

// run selects n successive values of a series, counted from its start.
func (p *place) run(from, n int64) slab.Sel {
	i := p.order[0]
	sel := slab.Sel{Start: append([]int64{}, p.sel.Start...), Count: append([]int64{}, p.sel.Count...)}
	sel.Start[i] += from
	sel.Count[i] = n
	return sel
}

// thinned reads a series completely and returns the smallest and the largest value of each
// run, so that no peak is lost. A run is as long as two steps, so there are no more values
// than with steps. It sets the indices of the place, its count and its step, the length of a run.
func thinned[T float32 | float64](ctx context.Context, a slab.Array, p *place, packing *cf.Packing) ([]T, error) {
	i := p.order[0]
	start, n := p.sel.Start[i], p.length[i]
	step := 2 * p.sel.Stride[i]
	piece := step * max(1, maxValues/step)
	var out []T
	for from := int64(0); from < n; from += piece {
		x, err := read[T](ctx, a, p.run(from, min(piece, n-from)), packing)
		if err != nil {
			return nil, err
		}
		for at := int64(0); at < int64(len(x)); at += step {
			first, last := extremes(x[at:min(at+step, int64(len(x)))])
			out = append(out, x[at+first])
			p.at = append(p.at, start+from+at+first)
			if last != first {
				out = append(out, x[at+last])
				p.at = append(p.at, start+from+at+last)
			}
		}
	}
	p.sel.Count[i], p.sel.Stride[i] = int64(len(out)), step
	return out, nil
}

// extremes returns the places of the smallest and the largest finite value, the lower place first.
// Both are 0 if no value is finite.
func extremes[T float32 | float64](x []T) (first, last int64) {
	low, high := -1, -1
	for i, y := range x {
		if y != y || math.IsInf(float64(y), 0) {
			continue
		}
		if low < 0 || y < x[low] {
			low = i
		}
		if high < 0 || y > x[high] {
			high = i
		}
	}
	return int64(max(0, min(low, high))), int64(max(0, low, high))
}
