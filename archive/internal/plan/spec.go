package plan

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// ErrMetadata: a layout with more metadata than a reader may accept, or than a view is
// worth.
var ErrMetadata = errors.New("metadata larger than the format allows")

// Spec is all that decides a plan, besides the header and the layout. It is data: [NewPlan] calls nobody.
// Lengths are in bytes. Chains are as a user writes them, without the parameters that depend on the blocks.
type Spec struct {
	Block  int64         // target size of a block
	Memory int64         // for the blocks of record variables that are collected together
	Head   filters.Chain // of the block with the netCDF header
	Joined int64         // a rest of at most so many bytes after the header shares the header's block
	Rest   filters.Chain // of the further blocks of the rest
	Vars   []VarSpec     // by the number of the variable in the header
	Pools  []*Pool       // of the layout Pooled: see [Pools] and [PoolsOf]
	// Headers bounds the local headers and directory records of blocks. A plan that has
	// more of them is ErrMetadata.
	Headers int64
	// Kept are chains whose codecs in the Zarr view are those of another archive.
	Kept []KeptCodecs
}

// VarSpec is what is decided for a variable.
type VarSpec struct {
	Chain filters.Chain
	Kept  *KeptBlocks // nil: Chain is completed for the blocks
	Block []int64     // the shape of its blocks; nil: it follows from Spec.Block
	// Named variables are those for which the user has chosen a chain or a shape of blocks. They are in
	// no pool. Filtered variables are those named with at least one filter or a shape. They have blocks
	// however small they are.
	Named, Filtered bool
}

// KeptBlocks is the geometry for which another archive has a complete chain. Blocks of the same geometry
// have that chain.
type KeptBlocks struct {
	Geom  *Geometry
	Chain filters.Chain
}

// KeptCodecs is a chain of another archive with filters that this program may lack.
type KeptCodecs struct {
	Chain  filters.Chain // complete
	Codecs []PlanFilter
	Views  map[int64]NotViewed // by the length of blocks: why they are not in the view
}

// ownBlocks reports whether the user has chosen a chain or a block shape for variable v, so that it is in
// no pool.
func (s *Spec) ownBlocks(v *cdf3.Var, n int) bool {
	c := &s.Vars[n]
	return c.Filtered || c.Named && v.Len >= PooledBelow
}

// ChainOf returns the complete chain of variable n for blocks of a geometry.
func (s *Spec) ChainOf(v *cdf3.Var, n int, g *Geometry) (filters.Chain, error) {
	c, err := completeOrKept(s.Vars[n].Chain, s.Vars[n].Kept, v.Type, g)
	if err != nil {
		return nil, fmt.Errorf("archive: variable %q: %w", v.Name, err)
	}
	return c, nil
}

// completeOrKept returns the chain kept for blocks of a geometry, or completes one for them.
func completeOrKept(c filters.Chain, kept *KeptBlocks, t cdf3.Type, g *Geometry) (filters.Chain, error) {
	if kept != nil && slices.Equal(kept.Geom.Block, g.Block) && slices.Equal(kept.Geom.Shape, g.Shape) && kept.Geom.Size == g.Size {
		return kept.Chain, nil
	}
	return Complete(c, t, g)
}

// Complete adds the parameters that depend on the blocks to a chain for values of type t, and checks it.
func Complete(c filters.Chain, t cdf3.Type, g *Geometry) (filters.Chain, error) {
	b := filters.Block{Len: int(g.BlockLen), Kind: BlockKinds[t], Size: int(t.Size()), Shape: make([]int, len(g.Block)), Stack: g.Stack}
	for i, n := range g.Block {
		b.Shape[i] = int(n)
	}
	full, err := c.Complete(b)
	for _, f := range full {
		if len(f.Name) > maxText || !utf8.ValidString(f.Name) {
			err = fmt.Errorf("filter %d: expected a name of at most %d bytes of UTF-8, found %.80q", f.ID, maxText, f.Name)
		}
	}
	if err == nil {
		_, err = filters.NewCoder(full)
	}
	if err != nil {
		return nil, fmt.Errorf("chain %s: %w: %w", c, err, fault.ErrOptions)
	}
	return full, nil
}

// BlockKinds has the kind of the values of each type, for filters.
var BlockKinds = map[cdf3.Type]filters.Kind{
	cdf3.Byte: filters.Int, cdf3.Short: filters.Int, cdf3.Int: filters.Int, cdf3.Int64: filters.Int,
	cdf3.UByte: filters.Uint, cdf3.UShort: filters.Uint, cdf3.UInt: filters.Uint, cdf3.UInt64: filters.Uint,
	cdf3.Float: filters.Float, cdf3.Double: filters.Float, cdf3.Char: filters.Text,
}

// keptCodecs returns the codecs of a chain of blocks of n bytes as another archive has them, and why they
// are not in its view.
func (s *Spec) keptCodecs(c filters.Chain, n int64) ([]PlanFilter, NotViewed, bool) {
	for i := range s.Kept {
		k := &s.Kept[i]
		if !slices.EqualFunc(k.Chain, c, sameFilter) {
			continue
		}
		why, ok := k.Views[n]
		if !ok {
			why = ViewNoCodec
		}
		return k.Codecs, why, true
	}
	return nil, "", false
}

func sameFilter(f, g filters.Filter) bool {
	return f.ID == g.ID && f.Optional == g.Optional && f.Name == g.Name && slices.Equal(f.Params, g.Params)
}
