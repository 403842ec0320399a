// Package predict predicts the values of a lorenz block from their neighbours: it turns values
// into residuals and back. docs/LORENZ.md, sections 3 (cells) and 5, specifies the predictors.
//
// A chain works on lanes, which are integers, a float predictor on the values of floats, given
// as their bits. Both see the elements through a [Layout] of planes and cells. The functions for
// the decoder work on a [Window], a part of a block.
package predict

import (
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Predictor is a chain or a float predictor. The zero value is the empty chain, which predicts
// zeros.
type Predictor struct {
	Chain []int // the strides, at most MaxChain
	Float Float // Kind 0 for a chain
}

// IsFloat reports whether p is a float predictor.
func (p Predictor) IsFloat() bool { return p.Float.Kind != 0 }

// Layout returns the layout without cells of n elements.
func (p Predictor) Layout(n int) Layout {
	if p.IsFloat() {
		return p.Float.Layout(n)
	}
	return Whole(n)
}

// Valid reports whether the predictor fits a layout.
func (p Predictor) Valid(l Layout) bool {
	if p.IsFloat() {
		return p.Float.Valid(l)
	}
	for _, s := range p.Chain {
		if !l.Allows(s) {
			return false
		}
	}
	return len(p.Chain) <= MaxChain
}

// Deep reports whether planes depend on earlier ones.
func (p Predictor) Deep(l Layout) bool {
	if p.IsFloat() {
		return p.Float.Deep()
	}
	return slices.ContainsFunc(p.Chain, l.Crosses)
}

// Append appends the bytes of the predictor.
func (p Predictor) Append(dst []byte) []byte {
	if p.IsFloat() {
		dst = entropy.AppendUvarint(append(dst, byte(p.Float.Kind)), uint64(p.Float.Row))
		if p.Float.Deep() {
			dst = entropy.AppendUvarint(dst, uint64(p.Float.Plane))
		}
		return dst
	}
	dst = append(dst, byte(len(p.Chain)))
	for _, s := range p.Chain {
		dst = entropy.AppendUvarint(dst, uint64(s))
	}
	return dst
}

// Read reads a predictor for a layout. It keeps the memory of Chain, and marks the reader as
// bad if the predictor does not fit.
func (p *Predictor) Read(r *entropy.Reader, float bool, l Layout) {
	p.Chain, p.Float = p.Chain[:0], Float{}
	if float {
		p.Float = Float{Kind: int(r.Byte()), Row: r.Int(l.N)}
		if p.Float.Deep() {
			p.Float.Plane = r.Int(l.N)
		}
		r.Bad = r.Bad || !p.Float.Valid(l)
		return
	}
	for range r.Byte() {
		p.Chain = append(p.Chain, r.Int(l.N))
	}
	r.Bad = r.Bad || !p.Valid(l)
}

// Restore turns the residuals of a window into lanes, or with a float predictor into the bits of
// the floats. It reports false after a stop.
func Restore[T entropy.Lane](b *Buffers, p Predictor, y []T, w Window) bool {
	if p.IsFloat() {
		return restoreFloats(b, p.Float, y, w)
	}
	return integrate(b.Stop, y, w, p.Chain)
}
