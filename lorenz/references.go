package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/references"
)

// refSigns is the option of modeReferences that codes have a sign.
const refSigns = 1

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
	masks.Expand(b.mask, y, n, vals[1:], 0)
	return true
}
