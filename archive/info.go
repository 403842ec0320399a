package archive

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// Info describes an archive. Lengths are in bytes.
type Info struct {
	ImageName string // base name of the image, unchecked: do not use it in paths
	ImageSize int64
	SHA256    string // of the image, in hexadecimal digits
	Loss      *Loss  // values that were rounded before they were archived; nil: none
	Writer    string // program and version
	Layout    string // viewed, consolidated, pooled or single: docs/FORMAT.md, section 7.5
	View      bool   // whether the archive is also a Zarr store
	Block     int64  // target size of a block
	Blocks    int64  // of the variables, the pools and the rest
	Entries   int64  // of the ZIP
	Stored    int64  // stored bytes of all blocks
	Parity    bool   // whether there is parity; see package parity
	Pools     []PoolInfo
	Rest      RestInfo
}

// PoolInfo describes a pool, a group of variables that share blocks.
type PoolInfo struct {
	Vars   []int  // their numbers
	Path   string // of the entries
	Type   cdf3.Type
	Shape  []int64 // of all of their values as one array
	Block  []int64 // shape of the blocks
	Chain  filters.Chain
	Blocks int64
	Len    int64 // of the values, decoded
}

// RestInfo describes the rest of an archive: header, padding, gaps, and the
// variables that are not blocked.
type RestInfo struct {
	Head   filters.Chain // of the first block, which begins with the netCDF header
	Chain  filters.Chain // of the other blocks
	Blocks int64
	Len    int64 // of the rest, decoded
}

// Info describes the archive. ok is false for a classic file.
func (f *File) Info() (i Info, ok bool) {
	a := f.archive
	if a == nil {
		return Info{}, false
	}
	return Info{
		Pools:     poolInfos(a.L),
		ImageName: a.Man.ImageName(), ImageSize: a.Man.Size, SHA256: a.Man.SHA256, Writer: a.L.Writer, Layout: string(a.L.Layout()), View: a.L.Zarr.HasView(), Loss: lossOf(a.Man.Loss),
		Block: a.L.Block, Blocks: a.Man.Blocks, Entries: a.Man.Entries, Stored: a.Man.Stored, Parity: a.Man.Parity > 0,
		Rest: RestInfo{Head: a.L.Filters[a.L.HeadChain()], Chain: a.L.Filters[a.L.Rest.Chain], Blocks: a.L.RestBlocks, Len: a.L.Rest.Len},
	}, true
}

func poolInfos(l *plan.Resolved) []PoolInfo {
	out := make([]PoolInfo, len(l.Pools))
	for i, p := range l.Pools {
		g := l.Geoms[len(l.Vars)+i]
		t, _ := cdf3.TypeByName(p.Type)
		out[i] = PoolInfo{Vars: slices.Clone(p.Vars), Path: l.Path(len(l.Vars) + i), Type: t, Shape: slices.Clone(p.Shape), Block: slices.Clone(p.Block),
			Chain: l.Filters[p.Chain], Blocks: g.Blocks, Len: g.RawLen}
	}
	return out
}

// Stored holds how many bytes the blocks of each part of an archive take in it.
type Stored struct {
	Vars  []int64 // by number of the variable; 0 if it is not blocked
	Pools []int64 // in the order of [Info].Pools
	Rest  int64
}

// Stored reads the whole index and returns the stored bytes of each variable, of the
// pools and of the rest. It returns nil for a classic file.
func (f *File) Stored(ctx context.Context) (*Stored, error) {
	a := f.archive
	if a == nil {
		return nil, nil
	}
	s := &Stored{Vars: make([]int64, len(f.vars)), Pools: make([]int64, len(a.L.Pools))}
	pos := 0
	err := a.EachRow(ctx, 0, a.L.Blocks, func(n int64, row blockidx.Row) error {
		if n >= a.L.RestFirst {
			s.Rest += row.Len
			return nil
		}
		for g := a.L.Geoms[pos]; n >= g.First+g.Blocks; g = a.L.Geoms[pos] {
			pos++
		}
		if pos < len(a.L.Vars) {
			s.Vars[a.L.Vars[pos].Var] += row.Len
		} else {
			s.Pools[pos-len(a.L.Vars)] += row.Len
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Omitted lists the attributes that the Zarr view leaves out. It is nil without a view.
func (f *File) Omitted() []Omitted {
	a := f.archive
	if a == nil || !a.L.Zarr.HasView() {
		return nil
	}
	out, err := omitted(context.Background(), a.Header, a.L.Plan, nil)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return out
}

func omitted(ctx context.Context, h *cdf3.Header, p *plan.Plan, text func(string) string) ([]Omitted, error) {
	list, err := zarrview.OmittedAttrs(ctx, h, p, text)
	out := make([]Omitted, len(list))
	for i, o := range list {
		out[i] = Omitted(o)
	}
	return out, err
}

// BlockInfo describes a block. Lengths are in bytes.
type BlockInfo struct {
	Num          int64   // global block number
	Var          int     // number of the variable, or -1 for pools and the rest
	Pool         int     // number of the pool, or -1
	Name         string  // of its entry
	Start, Count []int64 // index range, for a pool in its shape; nil for the rest
	Off, Len     int64   // place of the stored bytes
	Raw          int64   // bytes of values, without padding
	Mask, CRC    uint32
}

// errStop ends a walk through the index.
var errStop = errors.New("stop")

// Blocks walks the blocks of an archive in the order of their numbers. An error ends
// the walk. Classic files have no blocks.
func (f *File) Blocks(ctx context.Context) iter.Seq2[BlockInfo, error] {
	return func(yield func(BlockInfo, error) bool) {
		a := f.archive
		if a == nil {
			return
		}
		err := a.EachRow(ctx, 0, a.L.Blocks, func(n int64, row blockidx.Row) error {
			if !yield(blockInfo(a, n, row), nil) {
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(BlockInfo{}, err)
		}
	}
}

// blockInfo describes the block of an index row.
func blockInfo(a *read.Reader, n int64, row blockidx.Row) BlockInfo {
	v, b := a.L.Locate(n)
	i := BlockInfo{Num: n, Var: -1, Pool: -1, Name: string(a.L.AppendName(nil, v, b)), Off: row.Off, Len: row.Len, Mask: row.Mask, CRC: row.CRC}
	if v >= 0 {
		if v < len(a.L.Vars) {
			i.Var = a.L.Vars[v].Var
		} else {
			i.Pool = v - len(a.L.Vars)
		}
		i.Start, i.Count = a.L.Geoms[v].Box(b)
		_, i.Raw = a.L.Geoms[v].At(b)
	} else {
		_, i.Raw = a.L.RestAt(b)
	}
	return i
}
