package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// tryContexts appends the block in modeContexts if an estimate favours it.
func (c *coder[T]) tryContexts(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	form, limits := contexts.ShapeOf(s.dims), &s.contexts
	if !limits.tried || s.n*s.size <= limits.longer || s.mask.Rank(s.n) == 0 {
		return dst
	}
	l := x.pred.Layout(s.n)
	how := formContexts
	if s.best.form == formCells && !limits.whole {
		if limits.cells == 0 || !form.Ranged() {
			return dst
		}
		how = formColumns
		if s.divided > 0 {
			l = cellsFor(s, x, min(limits.cells, s.divided, max(s.best.len/bytesOfCell, fewestCells)), form.Unit())
		}
	}
	if form = form.Cut(l.Plane, l.Cell); !form.Valid() {
		return dst
	}
	other := *x
	other.mode = modeContexts
	c.loadContexts(s, &other, l, form)
	if c.ctx.Estimate() > s.limit(how)-c.head {
		return dst
	}
	return c.write(s, dst, raw, &other, l, false)
}

// loadContexts gives the residuals of a candidate to c.ctx.
func (c *coder[T]) loadContexts(s *shape, x *candidate[T], l predict.Layout, form contexts.Shape) {
	c.masked = c.masked[:0]
	for _, r := range s.mask.Runs {
		c.masked = append(c.masked, contexts.Run{Start: int(r.Start), End: int(r.End)})
	}
	c.ctx.Load(c.uncut(s, x, l), form, c.masked)
}
