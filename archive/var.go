package archive

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Var is a variable of a File. Package slab reads its values:
//
//	temp, err := f.Var("temp")
//	values, err := slab.Read[float32](ctx, temp, slab.Sel{})
//
// Values beyond the end of the image are zero, as netCDF-C reads them. Var is safe
// for concurrent use if its File is.
type Var struct {
	f      *File
	num    int
	v      *cdf3.Var
	values io.ReaderAt
}

var _ slab.Array = (*Var)(nil)

func (f *File) newVar(num int) *Var {
	w := &f.header.Vars[num]
	v := &Var{f: f, num: num, v: w}
	if pos := f.vars[num]; pos >= 0 {
		v.values = f.archive.Var(pos)
		return v
	}
	if m, ok := v.member(); ok {
		v.values = f.archive.PooledVar(m, w.Shape, w.Type.Size())
		return v
	}
	r := unlimited.NewValues(unlimited.SegmentOf(f.header, w), f.image, f.image.Size())
	v.values = r
	if gap := f.image.gap(); gap > 0 {
		v.values = newFarVar(r, w.Shape, w.Type.Size(), gap)
	}
	return v
}

// member returns the place of the variable in a pool. ok is false if it is in none.
func (v *Var) member() (m plan.Member, ok bool) {
	if v.f.pooled == nil || v.f.pooled[v.num] < 0 {
		return m, false
	}
	return v.f.archive.L.Member(int(v.f.pooled[v.num])), true
}

// Num returns the number of the variable in the header.
func (v *Var) Num() int { return v.num }

// Name returns the name of the variable: any bytes, as in the file.
func (v *Var) Name() string {
	if v == nil {
		return ""
	}
	return v.v.Name
}

// Type returns the type of the values.
func (v *Var) Type() cdf3.Type {
	if v == nil {
		return 0
	}
	return v.v.Type
}

// Shape returns the length of each dimension, empty for a scalar. Callers must not change
// it.
func (v *Var) Shape() []int64 {
	if v == nil {
		return nil
	}
	return v.v.Shape
}

// Dims returns the names of the dimensions.
func (v *Var) Dims() []string {
	names := make([]string, len(v.v.DimIDs))
	for i, id := range v.v.DimIDs {
		names[i] = v.f.header.Dims[id].Name
	}
	return names
}

// Attr returns the first attribute of that name, or nil. Callers must not change it.
func (v *Var) Attr(name string) *cdf3.Attr {
	return v.v.Attr(name)
}

// Attrs walks the attributes in the order of the file.
func (v *Var) Attrs() iter.Seq2[int, *cdf3.Attr] {
	return func(yield func(int, *cdf3.Attr) bool) {
		for i := range v.v.Attrs {
			if !yield(i, &v.v.Attrs[i]) {
				return
			}
		}
	}
}

// Packing returns how to unpack the stored values, according to the variable's
// attributes. See cf.NewPacking and cf.Read.
func (v *Var) Packing() (*cf.Packing, error) { return cf.NewPacking(v.v) }

// Units returns the units of times, for cf.Times. It is an error that wraps cf.ErrNotTime if the
// values are no times. See cf.UnitsOf.
func (v *Var) Units() (*cf.Units, error) {
	u, err := cf.UnitsOf(v.f.header, v.num)
	if err != nil {
		return nil, fmt.Errorf("archive: variable %q: %w", v.v.Name, err)
	}
	return u, nil
}

// Values implements slab.Array: the bytes of the values in row-major order.
func (v *Var) Values() io.ReaderAt {
	if v == nil {
		return nil
	}
	return v.values
}

// VarInfo describes how an archive stores a variable.
type VarInfo struct {
	Blocked bool          // has blocks that it does not share
	Pooled  bool          // shares blocks with other variables
	Pool    int           // number of its pool, if it is pooled
	Why     string        // why it is neither
	Path    string        // of the entries
	Block   []int64       // shape of the blocks, if it is blocked
	Chain   filters.Chain // of the blocks
	Blocks  int64         // those with its values
	InView  bool          // is in the Zarr view
	View    string        // why it is not in the view, if it is blocked and the archive has a view
}

// Info describes how the variable is stored. It is zero for variables of classic
// files.
func (v *Var) Info() VarInfo {
	a, pos := v.f.archive, v.f.vars[v.num]
	switch {
	case a == nil:
		return VarInfo{}
	case pos < 0:
		if m, ok := v.member(); ok {
			i := len(a.L.Vars) + m.Pool
			chain, _ := a.L.BlockInfo(i, 0)
			first, _, _ := a.L.FindRaw(m.Off)
			last, _, _ := a.L.FindRaw(m.Off + m.Len - 1)
			return VarInfo{Pooled: true, Pool: m.Pool, Path: a.L.Path(i), Chain: a.L.Filters[chain], Blocks: last.N - first.N + 1}
		}
		why := string(v.f.reasons()[v.num])
		if why == "" {
			why = "left in the rest of a " + string(a.L.Layout) + " archive"
		}
		return VarInfo{Why: why}
	}
	p := &a.L.Vars[pos]
	return VarInfo{Blocked: true, Path: p.Path, Block: p.Block, Chain: a.L.Filters[p.Chain], Blocks: a.L.Geoms[pos].Blocks,
		InView: a.L.Layout.HasView() && p.View == "", View: p.View.String()}
}

// Chain returns the filter chain of the variable's blocks, nil if it has none.
func (v *Var) Chain() filters.Chain { return v.Info().Chain }

// BlockShape returns the shape of the variable's blocks, nil if it has none.
func (v *Var) BlockShape() []int64 { return v.Info().Block }

// ChunkOptions control Var.Chunks and File.Zarr. Nil and the zero value keep all blocks as
// they are stored and cut other variables into chunks without filters.
type ChunkOptions struct {
	// Keep reports whether blocks with this chain are taken as they are stored. Others are
	// decoded, and encoded with the chain of Filters. Nil keeps all.
	Keep func(stored filters.Chain) bool
	// Filters returns the chain of chunks of type t that are not kept, as a user would write
	// it. Scalars have none. Nil means no filters.
	Filters func(t cdf3.Type) (filters.Chain, error)
	// Beyond bounds the values of a variable without blocks that are beyond the end of the
	// image, in bytes. They are zeros, and a header can claim any number. 0 means no bound.
	Beyond int64
}

// Chunks is a variable as an array of chunks of one shape, as HDF5 and Zarr store arrays:
// its blocks, or pieces that Write would make blocks of. A last chunk that is shorter than
// the others is filled up with its last element. It is safe for concurrent use.
type Chunks struct {
	v     *Var
	pos   int // in the plan, or -1 if there are no blocks
	kept  bool
	geom  *plan.Geometry
	chain filters.Chain
	coder *filters.Coder // nil if chunks are kept or have no filters
	raw   ioat.Buffers   // decoded chunks
}

// Chunks returns the variable as chunks. The error is ErrOptions if the variable has no
// shape that can be cut into chunks, or one about its chain or about ChunkOptions.Beyond.
func (v *Var) Chunks(o *ChunkOptions) (*Chunks, error) {
	if o == nil {
		o = &ChunkOptions{}
	}
	c := &Chunks{v: v, pos: v.f.vars[v.num]}
	if c.pos >= 0 {
		l := v.f.archive.L
		c.geom, c.chain = l.Geoms[c.pos], l.Filters[l.Vars[c.pos].Chain]
		if c.kept = o.Keep == nil || o.Keep(c.chain); c.kept {
			return c, nil
		}
		c.chain = nil
	} else {
		shape, size := v.v.Shape, v.v.Type.Size()
		if n := v.beyond(); o.Beyond > 0 && n > o.Beyond {
			return nil, fmt.Errorf("archive: expected all values of variable %q in the file, found %d bytes of them beyond its end", v.v.Name, n)
		}
		var err error
		if c.geom, err = plan.NewGeometry(shape, plan.BlockShape(shape, size, DefaultBlock), size); err != nil {
			return nil, fault.Optionsf("variable %q of shape %v cannot be cut into chunks", v.v.Name, shape)
		}
	}
	if o.Filters == nil || len(c.geom.Shape) == 0 {
		return c, nil
	}
	chain, err := o.Filters(v.v.Type)
	if err == nil && len(chain) > 0 {
		if c.chain, err = complete(chain, v.v.Type, c.geom); err == nil {
			c.coder, err = filters.NewCoder(c.chain)
		}
		if err != nil {
			err = fmt.Errorf("archive: variable %q: %w", v.v.Name, err)
		}
	}
	return c, err
}

// beyond bounds the bytes of the values that are beyond the end of the image.
func (v *Var) beyond() int64 {
	end := v.v.Begin
	if v.v.Len > 0 {
		end += v.v.RecLen
	}
	if h := v.f.header; v.v.Record && h.NumRecs > 1 {
		end += (h.NumRecs - 1) * h.RecSize
	}
	return min(end-v.f.image.Size(), v.v.Len)
}

// Shape returns the shape of a chunk. Callers must not change it.
func (c *Chunks) Shape() []int64 { return c.geom.Block }

// Chain returns the filters of the chunks.
func (c *Chunks) Chain() filters.Chain { return c.chain }

// Kept reports whether the chunks are blocks of the archive as they are stored.
func (c *Chunks) Kept() bool { return c.kept }

// Len returns the number of chunks.
func (c *Chunks) Len() int64 { return c.geom.Blocks }

// Append appends the encoded chunk n, counted from 0 in row-major order, to dst. Bit i of
// mask is set if filter i was skipped. The checksums of blocks are verified: damage is a
// *BlockError.
func (c *Chunks) Append(ctx context.Context, dst []byte, n int64) (out []byte, mask uint32, err error) {
	a := c.v.f.archive
	if c.kept {
		return a.AppendStored(ctx, a.L.BlockOf(c.pos, n), dst)
	}
	raw := c.raw.Get(c.geom.BlockLen)
	defer c.raw.Put(raw)
	if c.pos >= 0 {
		err = a.ReadBlock(ctx, a.L.BlockOf(c.pos, n), raw)
	} else {
		off, have := c.geom.At(n)
		if err = ioat.ReadFull(ioat.Bind(ctx, c.v.values), raw[:have], off); err == nil {
			c.geom.Pad(raw, have)
		}
	}
	switch {
	case err != nil:
		return dst, 0, err
	case c.coder == nil:
		return append(dst, raw...), 0, nil
	}
	return c.coder.Encode(dst, raw)
}

// AppendKey appends the key of chunk n in a Zarr v2 array, such as 3.0.0.
func (c *Chunks) AppendKey(dst []byte, n int64) []byte { return c.geom.AppendKey(dst, n) }

// Zarr is Append for Zarr, which knows no masks: a chunk for which a filter was skipped is
// an error.
func (c *Chunks) Zarr(ctx context.Context, dst []byte, n int64) (out []byte, err error) {
	out, mask, err := c.Append(ctx, dst, n)
	if err == nil && mask != 0 {
		err = fault.Corruptf("chunk %d of variable %q: expected mask 0, found %x", n, c.v.v.Name, mask)
	}
	return out, err
}

// Var returns the variable.
func (c *Chunks) Var() *Var { return c.v }
