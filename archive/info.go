package archive

import (
	"context"
	"errors"
	"iter"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
)

// Info describes an archive. Lengths are in bytes.
type Info struct {
	ImageName string // base name of the image, unchecked: do not use it in paths
	ImageSize int64
	SHA256    string // of the image, in hexadecimal digits
	Writer    string // program and version
	Layout    Layout
	Block     int64 // target size of a block
	Blocks    int64 // blocks of the variables and of the rest
	Entries   int64 // of the ZIP
	Stored    int64 // stored bytes of all blocks
	Rest      RestInfo
}

// RestInfo describes the rest of an archive: header, padding, gaps, and the
// variables that are not blocked.
type RestInfo struct {
	Chain  filters.Chain
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
		ImageName: a.Man.ImageName(), ImageSize: a.Man.Size, SHA256: a.Man.SHA256, Writer: a.L.Writer, Layout: Layout(a.L.Layout),
		Block: a.L.Block, Blocks: a.Man.Blocks, Entries: a.Man.Entries, Stored: a.Man.Stored,
		Rest: RestInfo{Chain: a.L.Filters[a.L.Rest.Chain], Blocks: a.L.RestBlocks, Len: a.L.Rest.Len},
	}, true
}

// Stored reads the whole index and returns the stored bytes of each variable, in the
// order of the header, and of the rest. It returns nil for a classic file.
func (f *File) Stored(ctx context.Context) (vars []int64, rest int64, err error) {
	a := f.archive
	if a == nil {
		return nil, 0, nil
	}
	vars = make([]int64, len(f.vars))
	pos := 0
	err = a.EachRow(ctx, 0, a.L.Blocks, func(n int64, row blockidx.Row) error {
		if n >= a.L.RestFirst {
			rest += row.Len
			return nil
		}
		for g := a.L.Geoms[pos]; n >= g.First+g.Blocks; g = a.L.Geoms[pos] {
			pos++
		}
		vars[a.L.Vars[pos].Var] += row.Len
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return vars, rest, nil
}

// Omitted lists the attributes that the Zarr view leaves out. It is nil without a view.
func (f *File) Omitted() []Omitted {
	a := f.archive
	if a == nil || !a.L.Layout.HasView() {
		return nil
	}
	omitted, err := format.OmittedAttrs(context.Background(), a.Header, a.L.Plan)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	out := make([]Omitted, len(omitted))
	for i, o := range omitted {
		out[i] = Omitted(o)
	}
	return out
}

// BlockInfo describes a block. Lengths are in bytes.
type BlockInfo struct {
	Num          int64   // global block number
	Var          int     // number of the variable, or -1 for the rest
	Name         string  // of its entry
	Start, Count []int64 // index range; nil for the rest
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
func blockInfo(a *blocks.Reader, n int64, row blockidx.Row) BlockInfo {
	v, b := a.L.Locate(n)
	i := BlockInfo{Num: n, Var: -1, Name: string(a.L.AppendName(nil, v, b)), Off: row.Off, Len: row.Len, Mask: row.Mask, CRC: row.CRC}
	if v >= 0 {
		i.Var = a.L.Vars[v].Var
		i.Start, i.Count = a.L.Geoms[v].Box(b)
		_, i.Raw = a.L.Geoms[v].At(b)
	} else {
		_, i.Raw = a.L.RestAt(b)
	}
	return i
}
