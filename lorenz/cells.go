package lorenz

import (
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// cells returns the layout of a block in modeGroups: one whose ranges can be decoded, unless that costs too much. It
// sets s.divided.
func (c *coder[T]) cells(s *shape, x *candidate[T]) predict.Layout {
	base := x.pred.Layout(s.n)
	l := base
	s.divided = 0
	c.probe.y, c.probe.bits = x.y, x.u
	for parts := 32; parts >= 4 && s.cells > 0; parts /= 2 {
		// Cells must not cost more than 1 %.
		if try := cellsFor(s, x, parts, 1); try != base && c.probe.cellLoss(s, x.pred, try) < x.cost/100 {
			l, s.divided = try, parts
			break
		}
	}
	return l
}

// cellsFor returns a layout in which a range needs about one of parts parts of the
// block. Cells have a multiple of whole elements, which divides the strides that are longer.
func cellsFor[T lane](s *shape, x *candidate[T], parts, whole int) predict.Layout {
	l := x.pred.Layout(s.n)
	if s.n < 8192 || !x.pred.IsFloat() && len(x.pred.Chain) == 0 {
		return l
	}
	st := strides(s.dims)
	row := 1
	if len(st) > 1 {
		row = st[1]
	}
	deepest := 0 // the largest stride
	for _, d := range x.pred.Chain {
		deepest = max(deepest, d)
	}
	if f := x.pred.Float; f.Kind != 0 {
		row, deepest = f.Row, f.Row
		if f.Deep() {
			deepest = f.Plane
		}
	}
	part := (s.n + parts - 1) / parts
	deep := x.pred.IsFloat() && x.pred.Float.Deep()
	if !deep && (deepest <= part/4 || !slices.Contains(st, deepest)) {
		// Runs of whole rows, or of whole planes.
		unit := row
		for _, d := range st {
			if d <= deepest {
				unit = d
			}
		}
		if x.pred.IsFloat() && unit < row {
			unit = row
		}
		unit = max(unit, whole)
		return predict.Layout{N: s.n, Plane: s.n, Cell: min((part+unit-1)/unit*unit, s.n)}
	}
	// The same rows of each plane, unless planes are so small that a range would need
	// all of the streams anyway.
	plane := deepest
	if plane <= 2*entropy.ChunkSyms {
		return l
	}
	parts = min(parts, 16) // shorter cells make whole blocks slower
	rows := (plane/row + parts - 1) / parts
	cells := predict.Layout{N: s.n, Plane: plane, Cell: rows * row}
	for _, d := range x.pred.Chain {
		if !cells.Allows(d) {
			return l // between rows and planes
		}
	}
	return cells
}

// cellLoss estimates the additional bits of the cells of a layout, compared with the
// layout without cells.
func (p *prober[T]) cellLoss(s *shape, x predict.Predictor, l predict.Layout) float64 {
	reach := 1 // reach of the effect of a cell's start
	for _, stride := range x.Chain {
		if !l.Crosses(stride) {
			reach += stride
		}
	}
	if x.IsFloat() {
		reach = x.Float.Row
	}
	reach = min(reach, l.Cell)
	p.at, p.use = p.at[:0], p.use[:0]
	starts := l.N / l.Plane * ((l.Plane - 1) / l.Cell)
	affected, every := starts*reach, (starts+s.cells-1)/s.cells
	k := 0
	for q := 0; q < l.N; q += l.Plane {
		for c := l.Cell; c < l.Plane; c += l.Cell {
			if k++; k%every != 0 {
				continue
			}
			for i := 0; i < reach; i += max(entropy.GroupLen, reach/4) {
				if at := q + c + i; at+entropy.GroupLen <= l.N {
					p.at, p.use = append(p.at, int32(at)), append(p.use, ^uint32(0))
				}
			}
		}
	}
	if len(p.at) == 0 {
		return 0
	}
	p.weight = float64(affected) / float64(entropy.GroupLen*len(p.at))
	return p.cost(x, l) - p.cost(x, x.Layout(l.N))
}
