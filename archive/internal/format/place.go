package format

import (
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Block is a block with what reading it needs to know.
type Block struct {
	N     int64 // its global number
	Var   int   // position of its variable in the plan, -1: the rest
	B     int64 // its number among the blocks of the variable or the rest
	Chain int
	Len   int64 // in bytes, decoded, with the padding
}

// BlockAt returns the block with a global number.
func (l *Resolved) BlockAt(n int64) Block { return l.BlockOf(l.Locate(n)) }

// BlockOf returns a block of a variable or, if v is -1, of the rest.
func (l *Resolved) BlockOf(v int, b int64) Block {
	chain, size := l.BlockInfo(v, b)
	return Block{l.Number(v, b), v, b, chain, size}
}

// RawAt returns the place of a block in raw and its length there, without padding.
func (l *Resolved) RawAt(b Block) (off, n int64) {
	if b.Var < 0 {
		off, n = l.RestAt(b.B)
		return l.Perm.RawOff(len(l.Geoms)) + off, n
	}
	off, n = l.Geoms[b.Var].At(b.B)
	return l.Geoms[b.Var].RawOff + off, n
}

// FindRaw returns the block that holds raw byte off, the offset of the byte in it, and
// how many bytes of raw from this one on are in the block.
func (l *Resolved) FindRaw(off int64) (block Block, in, left int64) {
	v := l.segmentOf(off)
	if v == len(l.Geoms) {
		b, in, n := l.findRest(off - l.Perm.RawOff(v))
		return l.BlockOf(-1, b), in, n - in
	}
	g := l.Geoms[v]
	b, in := g.Find(off - g.RawOff)
	_, n := g.At(b)
	return l.BlockOf(v, b), in, n - in
}

// findRest returns the block of the rest that holds its byte off, the offset of the
// byte in it, and the block's length.
func (l *Resolved) findRest(off int64) (b, in, n int64) {
	if off < l.Rest.First {
		return 0, off, l.Rest.First
	}
	b = 1 + (off-l.Rest.First)/l.Rest.Block
	start, n := l.RestAt(b)
	return b, off - start, n
}

// segmentOf returns the variable that holds raw byte off, or the number of
// variables for the rest.
func (l *Resolved) segmentOf(off int64) int {
	lo, hi := 0, len(l.Geoms)
	for lo < hi {
		mid := (lo + hi) / 2
		if l.Perm.RawOff(mid+1) > off {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// Number returns the global number of a block. v is -1 for the rest.
func (l *Resolved) Number(v int, b int64) int64 {
	if v < 0 {
		return l.RestFirst + b
	}
	return l.Geoms[v].First + b
}

// CheckHeader compares the variables of a plan with the netCDF header.
func (l *Resolved) CheckHeader(h *cdf3.Header) error {
	for i := range l.Vars {
		v := &l.Vars[i]
		if v.Var >= len(h.Vars) {
			return fault.Corruptf("plan: variable %d, the netCDF header has %d", v.Var, len(h.Vars))
		}
		if w := &h.Vars[v.Var]; v.Type != w.Type.String() || !slices.Equal(v.Shape, w.Shape) {
			return fault.Corruptf("plan: variable %d is %s%v, in the netCDF header %s%v", v.Var, v.Type, v.Shape, w.Type, w.Shape)
		}
		if s := unlimited.SegmentOf(h, &h.Vars[v.Var]); s != v.Segment {
			return fault.Corruptf("plan: variable %d has segment %+v, in the netCDF header %+v", v.Var, v.Segment, s)
		}
	}
	return nil
}

// NewBlockError describes a block in an error. h may be nil.
func NewBlockError(l *Resolved, h *cdf3.Header, v int, b, storedOff int64, err error) *fault.BlockError {
	e := &fault.BlockError{Block: l.RestFirst + b, StoredOff: storedOff, Err: err}
	if v < 0 {
		e.RestOff, _ = l.RestAt(b)
		return e
	}
	e.Block = l.Geoms[v].First + b
	e.Start, e.Count = l.Geoms[v].Box(b)
	if n := l.Vars[v].Var; h != nil && n < len(h.Vars) {
		e.Var = h.Vars[n].Name
	} else {
		e.Var = l.Vars[v].Path
	}
	return e
}
