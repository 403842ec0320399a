package plan

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
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

// Locate turns a global block number into a variable and its block. v is -1 for the
// rest.
func (l *Resolved) Locate(block int64) (v int, b int64) {
	if block >= l.RestFirst {
		return -1, block - l.RestFirst
	}
	i, _ := slices.BinarySearchFunc(l.Geoms, block, func(g *Geometry, block int64) int {
		if g.First+g.Blocks <= block {
			return -1
		}
		return 1
	})
	return i, block - l.Geoms[i].First
}

// RestAt returns the place of block b in the rest.
func (l *Resolved) RestAt(b int64) (off, n int64) {
	if b == 0 {
		return 0, l.Rest.First
	}
	off = l.Rest.First + (b-1)*l.Rest.Block
	return off, min(l.Rest.Block, l.Rest.Len-off)
}

// MaxBlockLen is the length of the longest block, decoded.
func (l *Resolved) MaxBlockLen() int64 {
	n := max(l.Rest.First, min(l.Rest.Block, l.Rest.Len), 1)
	for _, g := range l.Geoms {
		n = max(n, g.BlockLen)
	}
	return n
}

// BlockInfo is what encoding or decoding a block needs to know.
func (l *Resolved) BlockInfo(v int, b int64) (chain int, decoded int64) {
	switch {
	case v < 0 && b == 0:
		return l.HeadChain(), l.Rest.First
	case v < 0:
		_, n := l.RestAt(b)
		return l.Rest.Chain, n
	case v < len(l.Vars):
		return l.Vars[v].Chain, l.Geoms[v].BlockLen
	}
	return l.Pools[v-len(l.Vars)].Chain, l.Geoms[v].BlockLen
}

// HeadChain returns the number of the chain of block 0 of the rest.
func (l *Resolved) HeadChain() int {
	if l.Rest.Head != nil {
		return *l.Rest.Head
	}
	return l.Rest.Chain
}

// Path is the path of an array.
func (l *Resolved) Path(v int) string {
	if v < len(l.Vars) {
		return l.Vars[v].Path
	}
	return czip.PoolPrefix + strconv.Itoa(v-len(l.Vars))
}

// AppendName appends the entry name of a block.
func (l *Resolved) AppendName(dst []byte, v int, b int64) []byte {
	if v < 0 {
		return fmt.Appendf(dst, "%s%d", czip.RestPrefix, b)
	}
	dst = append(append(dst, l.Path(v)...), '/')
	return l.Geoms[v].AppendKey(dst, b)
}
