package lorenz

import (
	"encoding/binary"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// Choice is what an [Encoder] chose for a block: a hint for other blocks of the same variable. It is immutable.
type Choice struct {
	p     Params
	level Level

	form   form // formContexts or formColumns
	kind   byte // of a transform without a table
	params []byte
	pred   predict.Predictor
	layout predict.Layout
	bits   float64 // estimated, of an unmasked value
	model  *contexts.Model
}

// likeBits is the part by which the estimated bits of a value may differ from those of the block that gave the hint.
// Otherwise the block is encoded without it.
const likeBits = 8

// likeLeast is the least of these bits for a hint: where values take few, a block that differs a little takes much more.
const likeLeast = 3

// likePred is the part for the predictor, which is searched for again.
const likePred = 64

// hint returns what was chosen for the last block, or nil if it is of no use for others.
func (e *Encoder) hint() *Choice {
	c := e.shape.chosen
	if e.n < 2 || e.best.form != c.form || e.best != e.shape.best || !c.useful() {
		return nil
	}
	c.p, c.level = e.p, e.level
	c.p.Dims = slices.Clone(c.p.Dims)
	return &c
}

// useful reports whether other blocks can be encoded alike. Those of modeGroups could be, but many of them become
// shorter in other forms.
func (c *Choice) useful() bool {
	return c.model != nil && c.bits >= likeLeast && (c.kind == mapOrder || c.kind == mapFix || c.kind == mapRatio)
}

// fits reports whether a choice is of a block with the same parameters.
func (c *Choice) fits(e *Encoder) bool {
	return c != nil && e.level != Max && c.level == e.level && c.p.Type == e.p.Type && !e.p.Stack && slices.Equal(c.p.Dims, e.p.Dims)
}

// encodeAlike appends a block in the form that another one has, or nothing if that is not likely to be good. Masked
// elements of c.u and c.y are arbitrary afterwards.
func encodeAlike[T lane](s *shape, dst, raw []byte, c *coder[T], narrow *coder[uint32], like *Choice) []byte {
	if s.mask.Rank(s.n) == 0 {
		return dst
	}
	x := candidate[T]{mode: modeGroups, kind: like.kind, y: c.y}
	var t transformed[T]
	ok := true
	switch like.kind {
	case mapFix:
		t, _, ok = c.fixedAt(s, int(int16(binary.LittleEndian.Uint16(like.params))))
	case mapRatio:
		d, _ := binary.Uvarint(like.params)
		t, ok = ratio(s, c, float64(d))
	default:
		if c.possible(s).any() {
			return dst
		}
		if s.typ.float() {
			x.u = c.u
		}
		return c.writeAlike(s, dst, raw, &x, like)
	}
	if !ok {
		return dst
	}
	if t.y32 != nil {
		x := candidate[uint32]{mode: modeGroups, kind: t.kind, params: t.params, patches: t.patches, y: t.y32, cost: t.cost}
		return narrow.writeAlike(s, dst, raw, &x, like)
	}
	x.params, x.patches, x.y, x.cost = t.params, t.patches, t.y, t.cost
	return c.writeAlike(s, dst, raw, &x, like)
}

func (p possible) any() bool { return p.divisor > 0 || p.fixed || p.single }

// writeAlike appends a transformed block.
func (c *coder[T]) writeAlike(s *shape, dst, raw []byte, x *candidate[T], like *Choice) []byte {
	of := x.cost // without residuals
	x.pred = like.pred
	x.cost = of + c.costWith(s, x, x.pred)
	same := like.bits * float64(s.mask.Rank(s.n))
	if x.cost > same+same/likePred {
		x.cost = of
		if c.search(s, x); !slices.Equal(x.pred.Chain, like.pred.Chain) || x.pred.Float != like.pred.Float {
			return dst
		}
	}
	if x.cost > same+same/likeBits || x.cost < same-same/likeBits {
		return dst
	}
	l := like.layout
	s.groups = x.formIn(l != predict.Whole(s.n), false)
	bytes := len(s.head) + groupsHead + int(x.cost/8)
	if s.largeField() {
		bytes += bytes / groupsMore
	}
	groups := as(s.groups, s.n, bytes)
	start := len(dst)
	x.mode = modeContexts
	c.loadContexts(s, x, l, contexts.ShapeOf(s.dims).Cut(l.Plane, l.Cell))
	c.ctx.Use(like.model)
	dst = c.write(s, dst, raw, x, l, false)
	m := as(c.form, s.n, len(dst)-start)
	if !s.price.better(m, groups, s.n*s.size) {
		return dst[:start]
	}
	s.best, s.chosen = m, s.written
	return dst
}
