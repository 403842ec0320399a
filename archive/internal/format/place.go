package format

import (
	"context"
	"slices"
	"sort"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Block is a block with what reading it needs to know.
type Block struct {
	N     int64 // its global number
	Var   int   // position of its variable in the plan, or that of its pool after all of them; -1: the rest
	B     int64 // its number among the blocks of the variable, the pool or the rest
	Chain int
	Len   int64 // in bytes, decoded, with the padding
}

// BlockAt returns the block with a global number.
func (l *Resolved) BlockAt(n int64) Block { return l.BlockOf(l.Locate(n)) }

// BlockOf returns a block of a variable, a pool or, if v is -1, of the rest.
func (l *Resolved) BlockOf(v int, b int64) Block {
	chain, size := l.BlockInfo(v, b)
	return Block{l.Number(v, b), v, b, chain, size}
}

// RawAt returns the place of a block in raw and its length there, without padding.
func (l *Resolved) RawAt(b Block) (off, n int64) {
	if b.Var < 0 {
		off, n = l.RestAt(b.B)
		return l.restOff + off, n
	}
	off, n = l.Geoms[b.Var].At(b.B)
	return l.Geoms[b.Var].RawOff + off, n
}

// FindRaw returns the block that holds raw byte off, the offset of the byte in it, and
// how many bytes of raw from this one on are in the block.
func (l *Resolved) FindRaw(off int64) (block Block, in, left int64) {
	v := l.arrayOf(off)
	if v == len(l.Geoms) {
		b, in, n := l.findRest(off - l.restOff)
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

// arrayOf returns the array that holds raw byte off, or their number for the rest.
func (l *Resolved) arrayOf(off int64) int {
	return sort.Search(len(l.Geoms), func(v int) bool { return l.Geoms[v].RawOff+l.Geoms[v].RawLen > off })
}

// Number returns the global number of a block. v is -1 for the rest.
func (l *Resolved) Number(v int, b int64) int64 {
	if v < 0 {
		return l.RestFirst + b
	}
	return l.Geoms[v].First + b
}

// SetHeader compares the plan with the netCDF header and completes the permutation, whose
// segments for the variables of pools follow from the header.
func (l *Resolved) SetHeader(ctx context.Context, h *cdf3.Header) error {
	n := len(l.Vars)
	for i := range l.Pools {
		n += len(l.Pools[i].Vars)
	}
	if n > len(h.Vars) {
		return fault.Corruptf("plan: %d variables, the netCDF header has %d", n, len(h.Vars))
	}
	segs := make([]unlimited.Segment, 0, n)
	blocked := make([]bool, len(h.Vars))
	use := func(n int) (*cdf3.Var, error) {
		if n < 0 || n >= len(h.Vars) {
			return nil, fault.Corruptf("plan: variable %d, the netCDF header has %d", n, len(h.Vars))
		}
		if blocked[n] {
			return nil, fault.Corruptf("plan: variable %d is named twice", n)
		}
		if len(segs)%liveEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		blocked[n] = true
		segs = append(segs, unlimited.SegmentOf(h, &h.Vars[n]))
		return &h.Vars[n], nil
	}
	for i := range l.Vars {
		v := &l.Vars[i]
		w, err := use(v.Var)
		if err != nil {
			return err
		}
		if v.Type != w.Type.String() || !slices.Equal(v.Shape, w.Shape) {
			return fault.Corruptf("plan: variable %d is %s%v, in the netCDF header %s%v", v.Var, v.Type, v.Shape, w.Type, w.Shape)
		}
		if s := segs[i]; s != v.Segment {
			return fault.Corruptf("plan: variable %d has segment %+v, in the netCDF header %+v", v.Var, v.Segment, s)
		}
	}
	for i := range l.Pools {
		p, left := &l.Pools[i], l.Geoms[len(l.Vars)+i].RawLen
		for _, n := range p.Vars {
			w, err := use(n)
			if err != nil {
				return err
			}
			if p.Type != w.Type.String() {
				return fault.Corruptf("plan: variable %d of pool %d is %s, in the netCDF header %s", n, i, p.Type, w.Type)
			}
			if w.Len <= 0 || w.Len > left {
				return fault.Corruptf("plan: variable %d of pool %d has %d bytes, there is room for %d", n, i, w.Len, left)
			}
			left -= w.Len
		}
		if left > 0 {
			return fault.Corruptf("plan: pool %d has %d bytes more than its variables", i, left)
		}
	}
	var err error
	if l.Perm, err = unlimited.New(l.Image.Size, l.Image.Header, segs); err != nil {
		return fault.Corruptf("plan: %v", err)
	}
	return nil
}

// Member is the place of a variable in a pool.
type Member struct {
	Pool int   // its number
	Off  int64 // raw offset of the variable
	Len  int64
}

// Member returns the place of the variable with segment seg, which is in a pool.
func (l *Resolved) Member(seg int) Member {
	off := l.Perm.RawOff(seg)
	return Member{l.arrayOf(off) - len(l.Vars), off, l.Perm.Segment(seg).Size()}
}

// Pooled returns for each of n variables of the header the number of its segment if it
// is in a pool, else -1. It returns nil if there are no pools.
func (l *Resolved) Pooled(n int) []int32 {
	if len(l.Pools) == 0 {
		return nil
	}
	segs := make([]int32, n)
	for i := range segs {
		segs[i] = -1
	}
	next := int32(len(l.Vars))
	for i := range l.Pools {
		for _, v := range l.Pools[i].Vars {
			segs[v] = next
			next++
		}
	}
	return segs
}

// IsPool reports whether an array is a pool.
func (l *Resolved) IsPool(v int) bool { return v >= len(l.Vars) }

// Segments is the number of segments of an array.
func (l *Resolved) Segments(v int) int {
	if v < len(l.Vars) {
		return 1
	}
	return len(l.Pools[v-len(l.Vars)].Vars)
}

// NewBlockError names a block. h may be nil.
func NewBlockError(l *Resolved, h *cdf3.Header, v int, b, storedOff int64, err error) *fault.BlockError {
	e := &fault.BlockError{Block: l.RestFirst + b, StoredOff: storedOff, Err: err}
	if v < 0 {
		e.RestOff, _ = l.RestAt(b)
		return e
	}
	e.Block = l.Geoms[v].First + b
	if v >= len(l.Vars) {
		e.Var = l.Path(v)
		e.Parts = l.partsOf(h, v, b)
		return e
	}
	e.Start, e.Count = l.Geoms[v].Box(b)
	if n := l.Vars[v].Var; h != nil && n < len(h.Vars) {
		e.Var = h.Vars[n].Name
	} else {
		e.Var = l.Vars[v].Path
	}
	return e
}

// partsOf lists what block b of pool v holds, nil if the header is not known.
func (l *Resolved) partsOf(h *cdf3.Header, v int, b int64) (parts []fault.BlockPart) {
	if h == nil || l.Perm == nil {
		return nil
	}
	off, n := l.Geoms[v].At(b)
	end := off + n
	for _, m := range l.Pools[v-len(l.Vars)].Vars {
		w := &h.Vars[m]
		if off < w.Len && end > 0 {
			start, count := make([]int64, len(w.Shape)), slices.Clone(w.Shape)
			if len(w.Shape) > 0 {
				// The indices of dimension 0 that have a byte in the block.
				row := w.Len / w.Shape[0]
				start[0] = max(off, 0) / row
				count[0] = CeilDiv(min(end, w.Len), row) - start[0]
			}
			parts = append(parts, fault.BlockPart{Var: w.Name, Start: start, Count: count})
		}
		off, end = off-w.Len, end-w.Len
	}
	return parts
}
