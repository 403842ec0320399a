package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// promiseContexts estimates the bytes of the block in modeContexts.
func (c *coder[T]) promiseContexts(s *shape, raw []byte, x *candidate[T]) (int, func(dst []byte) []byte) {
	form, limits := contexts.ShapeOf(s.dims), &s.contexts
	if !limits.tried || s.n*s.size <= limits.longer || s.mask.Rank(s.n) == 0 {
		return 0, nil
	}
	l := x.pred.Layout(s.n)
	how := formContexts
	if s.groups == formCells && !limits.whole {
		if limits.cells == 0 || !form.Ranged() {
			return 0, nil
		}
		how = formColumns
		if s.divided > 0 {
			l = cellsFor(s, x, min(limits.cells, s.divided, max(s.best.len/bytesOfCell, fewestCells)), form.Unit())
		}
	}
	if form = form.Cut(l.Plane, l.Cell); !form.Valid() {
		return 0, nil
	}
	other := *x
	other.mode = modeContexts
	c.ctx.Quick = limits.quick
	c.loadContexts(s, &other, l, form)
	bytes := c.ctx.Estimate()
	if bytes == math.MaxInt {
		return 0, nil
	}
	bytes += len(s.head) + len(x.params) + len(x.patches)*(1+s.size)
	return bytes, func(dst []byte) []byte {
		if bytes > s.limit(how) {
			return dst
		}
		return c.write(s, dst, raw, &other, l, false)
	}
}

// loadContexts gives the residuals of a candidate to c.ctx.
func (c *coder[T]) loadContexts(s *shape, x *candidate[T], l predict.Layout, form contexts.Shape) {
	c.masked = c.masked[:0]
	for _, r := range s.mask.Runs {
		c.masked = append(c.masked, contexts.Run{Start: int(r.Start), End: int(r.End)})
	}
	c.ctx.Load(c.uncut(s, x, l), form, c.masked)
}
