package archive

import (
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// VarInfo describes a variable of an archive. Lengths are in bytes.
type VarInfo struct {
	Num     int    // in the netCDF header
	Name    string // as in the file
	Path    string // of its entries, "" if it is not blocked
	Type    cdf3.Type
	Shape   []int64
	Block   []int64 // block shape, nil if it is not blocked
	Chain   filters.Chain
	Blocked bool
	Why     string // why it is not blocked
	InView  bool   // it is in the Zarr view
	View    string // why it is not, if it is blocked and the archive has a view
	Blocks  int64
	Raw     int64 // bytes of its values
	Stored  int64 // stored bytes of its blocks, if they were asked for
}

// Vars describes all variables, in the order of the netCDF header. With stored it
// reads the whole index to sum up the stored bytes.
func (a *Reader) Vars(stored bool) ([]VarInfo, error) {
	_, reasons := unlimited.Plan(a.header, a.l.Image.Size)
	out := make([]VarInfo, len(a.header.Vars))
	for i := range out {
		v := &a.header.Vars[i]
		out[i] = VarInfo{Num: i, Name: v.Name, Type: v.Type, Shape: v.Shape, Raw: v.Len, Why: string(reasons[i])}
		if out[i].Why == "" {
			out[i].Why = "left in the rest of a " + string(a.l.Layout) + " archive"
		}
	}
	for i := range a.l.Vars {
		pv, g := &a.l.Vars[i], a.l.vars[i]
		o := &out[pv.Var]
		o.Path, o.Block, o.Chain, o.Blocked, o.Why = pv.Path, pv.Block, a.l.chains[pv.Chain], true, ""
		o.View, o.InView, o.Blocks = pv.View.String(), a.l.Layout == Viewed && pv.View == "", g.blocks
	}
	if !stored {
		return out, nil
	}
	pos := 0
	err := a.eachRow(0, a.l.restFirst, func(n int64, row blockidx.Row) error {
		for g := a.l.vars[pos]; n >= g.first+g.blocks; g = a.l.vars[pos] {
			pos++
		}
		out[a.l.Vars[pos].Var].Stored += row.Len
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Omitted lists the attributes that the Zarr view leaves out; nil without a view.
func (a *Reader) Omitted() []Omitted {
	if a.l.Layout != Viewed {
		return nil
	}
	_, omitted := zarrMeta(a.header, a.l.Plan)
	return omitted
}

// RestInfo describes the rest: header, padding, gaps, and the variables that are
// not blocked.
type RestInfo struct {
	Chain               filters.Chain
	Blocks, Raw, Stored int64
}

// Rest describes the rest; it reads the rows of its blocks.
func (a *Reader) Rest() (RestInfo, error) {
	r := RestInfo{Chain: a.l.chains[a.l.Rest.Chain], Blocks: a.l.restBlocks, Raw: a.l.Rest.Len}
	err := a.eachRow(a.l.restFirst, a.l.blocks, func(_ int64, row blockidx.Row) error {
		r.Stored += row.Len
		return nil
	})
	return r, err
}

// BlockInfo describes a block.
type BlockInfo struct {
	Num          int64   // global block number
	Var          int     // number of the variable, -1: the rest
	Name         string  // of its entry
	Start, Count []int64 // index range; for the rest nil
	Off, Len     int64   // place of the stored bytes
	Raw          int64   // bytes of values, without padding
	Mask, CRC    uint32
}

// EachBlock calls f for every block, in the order of their numbers, until it
// returns an error, which it passes on.
func (a *Reader) EachBlock(f func(BlockInfo) error) error {
	return a.eachRow(0, a.l.blocks, func(n int64, row blockidx.Row) error {
		v, b := a.l.locate(n)
		i := BlockInfo{Num: n, Var: -1, Name: string(a.l.appendName(nil, v, b)), Off: row.Off, Len: row.Len, Mask: row.Mask, CRC: row.CRC}
		if v >= 0 {
			i.Var = a.l.Vars[v].Var
			i.Start, i.Count = a.l.vars[v].box(b)
			_, i.Raw = a.l.vars[v].at(b)
		} else {
			_, i.Raw = a.l.restAt(b)
		}
		return f(i)
	})
}
