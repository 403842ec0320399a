package archive

import (
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
)

// rawAt is the place of a block in raw and its length there, without padding.
func (l *layout) rawAt(block int64) (off, n int64) {
	v, b := l.locate(block)
	if v < 0 {
		off, n = l.restAt(b)
		return l.perm.RawOff(len(l.geoms)) + off, n
	}
	off, n = l.geoms[v].at(b)
	return l.geoms[v].rawOff + off, n
}

// findRaw returns the block that holds raw byte off, the place of the byte in
// it, and how many bytes of raw follow there, itself included.
func (l *layout) findRaw(off int64) (block, in, left int64) {
	v := l.segmentOf(off)
	if v == len(l.geoms) {
		b, in, n := l.findRest(off - l.perm.RawOff(v))
		return l.restFirst + b, in, n - in
	}
	g := l.geoms[v]
	b, in := g.find(off - g.rawOff)
	_, n := g.at(b)
	return g.first + b, in, n - in
}

// findRest returns the block of the rest that holds its byte off, the place of
// the byte in it, and the block's length.
func (l *layout) findRest(off int64) (b, in, n int64) {
	if off < l.Rest.First {
		return 0, off, l.Rest.First
	}
	b = 1 + (off-l.Rest.First)/l.Rest.Block
	start, n := l.restAt(b)
	return b, off - start, n
}

// segmentOf returns the variable that holds raw byte off, or the number of
// variables for the rest.
func (l *layout) segmentOf(off int64) int {
	lo, hi := 0, len(l.geoms)
	for lo < hi {
		mid := (lo + hi) / 2
		if l.perm.RawOff(mid+1) > off {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// number is the global number of a block; v is -1 for the rest.
func (l *layout) number(v int, b int64) int64 {
	if v < 0 {
		return l.restFirst + b
	}
	return l.geoms[v].first + b
}

// checkHeader compares the variables of a plan with the netCDF header.
func (l *layout) checkHeader(h *cdf3.Header) error {
	for i := range l.Vars {
		v := &l.Vars[i]
		if v.Var >= len(h.Vars) {
			return corruptf("plan: variable %d, the netCDF header has %d", v.Var, len(h.Vars))
		}
		if w := &h.Vars[v.Var]; v.Type != w.Type.String() || !slices.Equal(v.Shape, w.Shape) {
			return corruptf("plan: variable %d is %s%v, in the netCDF header %s%v", v.Var, v.Type, v.Shape, w.Type, w.Shape)
		}
	}
	return nil
}

// newBlockError names a block. h may be nil.
func newBlockError(l *layout, h *cdf3.Header, v int, b, storedOff int64, err error) *BlockError {
	e := &BlockError{Block: l.restFirst + b, StoredOff: storedOff, Err: err}
	if v < 0 {
		e.RestOff, _ = l.restAt(b)
		return e
	}
	e.Block = l.geoms[v].first + b
	e.Start, e.Count = l.geoms[v].box(b)
	if n := l.Vars[v].Var; h != nil && n < len(h.Vars) {
		e.Var = h.Vars[n].Name
	} else {
		e.Var = l.Vars[v].Path
	}
	return e
}
