package archive

import (
	"context"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/observer"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// ChunkOptions control Var.Chunks and File.Zarr. Nil and the zero value keep all blocks as
// they are stored and cut other variables into chunks without filters.
type ChunkOptions struct {
	// Keep reports whether blocks with this chain are taken as they are stored. Others are
	// decoded, and encoded with the chain of Filters. Nil keeps all.
	Keep func(stored filters.Chain) bool
	// Cut returns the shape of the chunks of a variable without blocks and their complete chain, or a
	// nil shape for one that is cut as Write does and has the chain of Filters. Nil cuts all so. A
	// program that has such chunks somewhere else describes them with it.
	Cut func(v *Var) (shape []int64, chain filters.Chain)
	// Filters returns the chain of chunks of type t that are not kept, as a user would write
	// it. Scalars have none. Nil means no filters.
	Filters func(t cdf3.Type) (filters.Chain, error)
	// Beyond is the most bytes that a variable without blocks may have beyond the end of the
	// image. They are read as zeros, and a header can claim any number of them. 0 means no bound.
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
		var block []int64
		if o.Cut != nil {
			block, c.chain = o.Cut(v)
		}
		cut := block != nil
		if !cut {
			block = plan.BlockShape(shape, size, DefaultBlock)
		}
		var err error
		if c.geom, err = plan.NewGeometry(shape, block, size); err != nil {
			return nil, fault.Optionsf("variable %q of shape %v cannot be cut into chunks", v.v.Name, shape)
		}
		if cut {
			if len(c.chain) > 0 {
				c.coder, err = filters.NewCoder(c.chain)
			}
			return c, err
		}
	}
	if o.Filters == nil || len(c.geom.Shape) == 0 {
		return c, nil
	}
	chain, err := o.Filters(v.v.Type)
	if err == nil && len(chain) > 0 {
		if c.chain, err = plan.Complete(chain, v.v.Type, c.geom); err == nil {
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
	raw := recycled.Get(c.geom.BlockLen)
	defer recycled.Put(raw)
	if c.pos >= 0 {
		err = a.ReadBlockInTurn(ctx, a.L.BlockOf(c.pos, n), raw)
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
	return c.coder.Observed(observer.Of[filters.Observer](ctx), "").Encode(dst, raw)
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
