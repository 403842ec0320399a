package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/references"
)

// refSigns is the option of modeReferences that codes have a sign.
const refSigns = 1

// emitReferences appends the block in modeReferences, without a predictor, if an estimate
// favors it. size is the number of bytes in the best other mode.
func (c *coder[T]) emitReferences(s *shape, dst, raw []byte, x *candidate[T], size int) []byte {
	r := c.compact(&s.mask, x.y)
	if s.typ == Char || len(r) < entropy.GroupLen || s.lacks(ReferencesMode) {
		return dst
	}
	most := 9.0
	if s.typ == Float32 && s.level != Max { // fields, for which it is slow and rarely pays off
		most = 7
	}
	if c.refs.Estimate(r, x.signed(s), s.rows()) > most*float64(size)/float64(len(r)) {
		return dst
	}
	other := *x
	other.mode, other.pred = modeReferences, predictor{}
	return c.write(s, dst, raw, &other, whole(s.n), false)
}

// references appends the codes of references, and returns the differences from them.
func (c *coder[T]) references(s *shape, x *candidate[T], r []T) []T {
	signs := x.signed(s)
	c.refs.Find(r, signs, s.rows(), 8)
	w := &c.codes
	w.Dst = append(c.w.Dst, 0)
	if signs {
		w.Dst[len(w.Dst)-1] = refSigns
	}
	w.Write(c.refs.Codes, true)
	c.w.Dst, w.Dst = w.Dst, nil
	return c.refs.Diffs
}

// signed reports whether a number may be the complement of another one: floats of
// opposite signs.
func (x *candidate[T]) signed(s *shape) bool { return x.kind == mapOrder && s.typ.float() }

// rows returns the distances between neighbours in all dimensions but the last.
func (s *shape) rows() []int {
	st := strides(s.dims)
	return st[min(len(st), 1):]
}

// refer reads the codes of references.
func (b *block) refer(r *entropy.Reader, m int) {
	options := r.Byte()
	b.refSigns = options&refSigns != 0
	b.refs = entropy.Grow(b.refs, m+entropy.GroupLen)
	b.g.Open(r, m, 32)
	if r.Bad || options&^refSigns != 0 || m > 0 && !b.g.Unsigned() || !entropy.DecodeGroups(&b.g, b.refs, 0, b.g.Groups()) {
		r.Bad = true
	}
	b.refs = b.refs[:m]
}

// referred decodes residuals that have references. tmp is a buffer.
func referred[T lane](b *block, y []T, tmp *[]T, n int) bool {
	g := b.g.Groups()
	*tmp = entropy.Grow(*tmp, 1+g*entropy.GroupLen)
	vals := *tmp
	vals[0] = 0
	if !entropy.DecodeGroups(&b.g, vals[1:], 0, g) || !references.Resolve(vals, b.refs, b.refSigns) {
		return false
	}
	expand(&b.mask, y[:n], vals[1:], 0)
	return true
}
