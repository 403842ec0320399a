package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/references"
)

// Options of modeReferences. Part of the format.
const (
	refSigns    = 1 << 0 // codes have a sign
	refAdaptive = 1 << 1 // differences are coded as in modeAdaptive
)

// refNear are the neighbours of differences that are coded as in modeAdaptive. Part of the format.
var refNear = adaptive.Neighbours{North: 4, Below: 8}

// promiseReferences estimates the bytes of the block in modeReferences, without a predictor.
func (c *coder[T]) promiseReferences(s *shape, raw []byte, x *candidate[T]) (int, func(dst []byte) []byte) {
	if s.references.run == 0 || s.size < s.references.least {
		return 0, nil
	}
	r := c.compact(&s.mask, x.y)
	if len(r) < entropy.GroupLen {
		return 0, nil
	}
	limit := func(bytes int) float64 { // bits of a value up to which they are tried if another form takes these bytes
		value := float64(bytes) / float64(len(r))
		if value < refShort {
			return max(s.references.bits, s.references.shortBits) * value
		}
		return s.references.bits * value
	}
	bits := c.refs.Estimate(r, x.signed(s), s.references.far, s.rows(), 4, s.references.run, limit(max(s.best.len, int(x.cost/8))))
	return len(s.head) + int(bits*float64(len(r))/s.references.bits), func(dst []byte) []byte {
		if bits > limit(s.best.len) {
			return dst
		}
		other := *x
		other.mode, other.pred, other.most = modeReferences, predict.Predictor{}, s.best.len
		return c.write(s, dst, raw, &other, predict.Whole(s.n), false)
	}
}

// references appends the references of residuals, and the differences from them, to a block that begins at head.
func (c *coder[T]) references(s *shape, x *candidate[T], head int, r []T) {
	signs := x.signed(s)
	c.refs.Find(r, signs, s.rows(), 8)
	start := len(c.w.Dst)
	w := &c.codes
	w.Dst = append(c.w.Dst, 0)
	if signs {
		w.Dst[start] = refSigns
	}
	w.Write(c.refs.Codes, true)
	c.w.Dst, w.Dst = w.Dst, nil
	mid := len(c.w.Dst)
	c.w.Write(c.refs.Diffs, false)
	end := len(c.w.Dst)
	if float64(end-start) > s.references.hopeless*float64(x.most) {
		return
	}
	dst, ok := c.adapt.Encode(c.w.Dst, c.refs.Diffs, []adaptive.Span{{Start: 0, End: len(r)}}, refNear, s.price.limit(formDifferences, s.n, s.n*s.size, as(formReferences, s.n, end-head))-(mid-head))
	if c.w.Dst = dst[:end]; ok {
		c.form = formDifferences
		c.w.Dst = append(dst[:mid], dst[end:]...)
		c.w.Dst[start] |= refAdaptive
	}
}

// signed reports whether a number may be the complement of another one: floats of
// opposite signs.
func (x *candidate[T]) signed(s *shape) bool { return x.kind == mapOrder && s.typ.float() }

// refer reads the codes of references up to their numbers.
func (b *block) refer(r *entropy.Reader, m int) {
	options := r.Byte()
	b.refSigns, b.refAdaptive = options&refSigns != 0, options&refAdaptive != 0
	if b.codes == nil {
		b.codes = new(entropy.GroupReader)
	}
	b.codes.Stop = b.stop
	b.codes.Open(r, m, 32)
	if options&^(refSigns|refAdaptive) != 0 || m > 0 && !b.codes.Unsigned() {
		r.Bad = true
	}
}

// referred decodes residuals that have references to unmasked(b, y, n). The
// capacity of y is at least n + 2*masks.Slack.
func referred[T lane](b *block, model **adaptive.Model[T], y []T, n int) bool {
	m := b.mask.Rank(n)
	at := masks.Slack + n - m
	copy(y[at-1:], make([]T, 1)) // before the first one
	if b.refAdaptive {
		whole := func(visit func(start, end int) bool) { visit(0, m) }
		if !adaptively(b, model, y[at:at+m], whole, refNear) {
			return false
		}
	}
	groups := (m + entropy.GroupLen - 1) / entropy.GroupLen
	b.refs = entropy.Grow(b.refs, min(groups, entropy.PieceGroups)*entropy.GroupLen)
	state := references.NewResolver()
	for g := 0; g < groups; g += entropy.PieceGroups {
		end := min(g+entropy.PieceGroups, groups)
		refs := b.refs[:min(m, end*entropy.GroupLen)-g*entropy.GroupLen]
		if !entropy.DecodeGroups(b.codes, b.refs, g, end) ||
			!b.refAdaptive && !entropy.DecodeGroups(&b.g, y[at+g*entropy.GroupLen:], g, end) ||
			!references.Resolve(&state, y[at-1:], refs, b.refSigns) {
			return false
		}
	}
	return true
}
