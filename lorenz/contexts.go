package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
)

// tryContexts appends the block in modeContexts if an estimate favours it. size is the number of bytes in the best
// other mode.
func (c *coder[T]) tryContexts(s *shape, dst, raw []byte, x *candidate[T], size int) []byte {
	form := contexts.ShapeOf(s.dims)
	if !s.contexts.tried || s.ranged && !s.contexts.cells || s.n*s.size <= s.contexts.longer || !form.Valid() || s.mask.Rank(s.n) == 0 {
		return dst
	}
	other := *x
	other.mode = modeContexts
	c.loadContexts(s, &other)
	if c.ctx.Estimate() > s.contexts.saving.most(size)-c.head {
		return dst
	}
	return c.write(s, dst, raw, &other, other.pred.Layout(s.n), false)
}

// loadContexts gives the residuals of a candidate to c.ctx.
func (c *coder[T]) loadContexts(s *shape, x *candidate[T]) {
	c.masked = c.masked[:0]
	for _, r := range s.mask.Runs {
		c.masked = append(c.masked, contexts.Run{Start: int(r.Start), End: int(r.End)})
	}
	c.ctx.Load(c.uncut(s, x, x.pred.Layout(s.n)), contexts.ShapeOf(s.dims), c.masked)
}
