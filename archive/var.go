package archive

import (
	"fmt"
	"io"
	"iter"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/filters"
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
	if f.source != nil {
		v.values = f.source.Array(num).Values()
		return v
	}
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
			why = "left in the rest of a " + string(a.L.Layout()) + " archive"
		}
		return VarInfo{Why: why}
	}
	p := &a.L.Vars[pos]
	return VarInfo{Blocked: true, Path: p.Path, Block: p.Block, Chain: a.L.Filters[p.Chain], Blocks: a.L.Geoms[pos].Blocks,
		InView: a.L.Zarr.HasView() && p.View == "", View: p.View.String()}
}

// Chain returns the filter chain of the variable's blocks, nil if it has none.
func (v *Var) Chain() filters.Chain { return v.Info().Chain }

// BlockShape returns the shape of the variable's blocks, nil if it has none.
func (v *Var) BlockShape() []int64 { return v.Info().Block }
