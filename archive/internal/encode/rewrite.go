package encode

import (
	"context"
	"io"
	"slices"
	"sort"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// Rewriter makes the blocks of an archive from those of another archive of the same
// image, in stored order. Blocks of arrays that have the same elements, block shape and
// chain in both are copied as they are stored. The others are decoded and encoded.
type Rewriter struct {
	L    *plan.Resolved // the new archive
	From *read.Reader
	Sink Sink
	Read func(n int64) // called with the bytes of blocks submitted

	Copied int64 // blocks copied so far

	arrays []int // by array of L: the same array of From, or -1
	rest   bool  // all blocks of the rest are the same
	head   bool  // block 0 of the rest is the same
	pieces []piece
}

// piece is a segment of the new raw that is contiguous in the old raw as well.
type piece struct {
	off, end int64 // in the new raw
	from     int64 // raw offset in the old archive
}

// All submits every block.
func (w *Rewriter) All(ctx context.Context) error {
	w.compare()
	err := w.block(ctx, -1, 0)
	for v, b := range w.L.StoredOrder {
		if err == nil {
			err = w.block(ctx, v, b)
		}
		if err != nil {
			return err
		}
	}
	for b := int64(1); b < w.L.RestBlocks && err == nil; b++ {
		err = w.block(ctx, -1, b)
	}
	return err
}

// compare finds the arrays and the blocks of the rest that both archives store in the
// same way.
func (w *Rewriter) compare() {
	l, from := w.L, w.From.L
	vars, pools := map[int]int{}, map[int]int{} // arrays of From by (first) variable
	for i := range from.Vars {
		vars[from.Vars[i].Var] = i
	}
	for i := range from.Pools {
		pools[from.Pools[i].Vars[0]] = len(from.Vars) + i
	}
	w.arrays = make([]int, len(l.Geoms))
	for v := range l.Geoms {
		var i int
		var ok bool
		if v < len(l.Vars) {
			i, ok = vars[l.Vars[v].Var]
		} else {
			members := l.Pools[v-len(l.Vars)].Vars
			i, ok = pools[members[0]]
			ok = ok && slices.Equal(members, from.Pools[i-len(from.Vars)].Vars)
		}
		if w.arrays[v] = -1; ok && w.sameBlocks(v, i) {
			w.arrays[v] = i
		}
	}
	olds, news := segments(from), segments(l)
	w.rest = slices.Equal(slices.Sorted(slices.Values(olds)), slices.Sorted(slices.Values(news))) &&
		l.Rest.First == from.Rest.First && l.Rest.Block == from.Rest.Block && w.sameChain(-1, 1, -1)
	w.head = l.Rest.First == from.Rest.First && (w.rest || l.Rest.First == l.Image.Header) && w.sameChain(-1, 0, -1)
	w.rest = w.rest && w.head
	at := map[int]int64{}
	for i, n := range olds {
		at[n] = from.Perm.RawOff(i)
	}
	for i, n := range news {
		if off, ok := at[n]; ok {
			w.pieces = append(w.pieces, piece{l.Perm.RawOff(i), l.Perm.RawOff(i) + l.Perm.Segment(i).Size(), off})
		}
	}
}

// segments lists the variables of the segments of raw.
func segments(l *plan.Resolved) []int {
	var vars []int
	for i := range l.Vars {
		vars = append(vars, l.Vars[i].Var)
	}
	for i := range l.Pools {
		vars = append(vars, l.Pools[i].Vars...)
	}
	return vars
}

// sameBlocks reports whether array v has the blocks of array i of From.
func (w *Rewriter) sameBlocks(v, i int) bool {
	g, h := w.L.Geoms[v], w.From.L.Geoms[i]
	return slices.Equal(g.Shape, h.Shape) && slices.Equal(g.Block, h.Block) && g.Size == h.Size && w.sameChain(v, 0, i)
}

// sameChain compares the chain of a block with that of array i, or -1 for the rest.
func (w *Rewriter) sameChain(v int, b int64, i int) bool {
	x, _ := w.L.BlockInfo(v, b)
	y, _ := w.From.L.BlockInfo(i, b)
	return slices.EqualFunc(w.L.Filters[x], w.From.L.Filters[y], func(f, g filters.Filter) bool {
		return f.ID == g.ID && f.Optional == g.Optional && slices.Equal(f.Params, g.Params)
	})
}

// source returns the block of From with the same stored bytes.
func (w *Rewriter) source(v int, b int64) (plan.Block, bool) {
	switch {
	case v >= 0 && w.arrays[v] >= 0:
		return w.From.L.BlockOf(w.arrays[v], b), true
	case v < 0 && (w.rest || w.head && b == 0):
		return w.From.L.BlockOf(-1, b), true
	}
	return plan.Block{}, false
}

// block submits a block. Reading it is left to the goroutine that encodes it.
func (w *Rewriter) block(ctx context.Context, v int, b int64) error {
	j := &BlockJob{V: v, B: b}
	block := w.L.BlockOf(v, b)
	off, n := w.L.RawAt(block)
	if old, ok := w.source(v, b); ok {
		w.Copied++
		j.Stored = func(dst []byte) ([]byte, uint32, error) { return w.From.AppendStored(ctx, old, dst) }
	} else {
		j.Raw = recycled.Get(block.Len)
		j.Load = func() error {
			if err := ioat.ReadFull(w.raw(ctx), j.Raw[:n], off); err != nil {
				return err
			}
			if v >= 0 {
				w.L.Geoms[v].Pad(j.Raw, n)
			}
			return nil
		}
	}
	w.Read(n)
	return w.Sink(j)
}

// raw returns the new raw, read from the old archive.
func (w *Rewriter) raw(ctx context.Context) io.ReaderAt {
	return &movedRaw{w, w.From.Raw(ctx), w.L.Perm.Raw(w.From.Image(ctx))}
}

// movedRaw reads the new raw.
type movedRaw struct {
	w     *Rewriter
	old   io.ReaderAt // the old raw
	image io.ReaderAt // the new raw, run by run from the image
}

// ReadAt implements io.ReaderAt.
func (r *movedRaw) ReadAt(p []byte, off int64) (n int, err error) {
	pieces := r.w.pieces
	for n < len(p) && err == nil {
		at, k := off+int64(n), len(p)-n
		i := sort.Search(len(pieces), func(i int) bool { return pieces[i].end > at })
		var m int
		switch {
		case i < len(pieces) && pieces[i].off <= at:
			k = int(min(int64(k), pieces[i].end-at))
			m, err = r.old.ReadAt(p[n:n+k], pieces[i].from+at-pieces[i].off)
		default:
			if i < len(pieces) {
				k = int(min(int64(k), pieces[i].off-at))
			}
			m, err = r.image.ReadAt(p[n:n+k], at)
		}
		if n += m; m == k && err == io.EOF {
			err = nil
		}
	}
	return n, err
}
