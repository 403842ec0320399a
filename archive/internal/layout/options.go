// Package layout decides how a file is laid out in its archive: which variables have blocks of their own, share
// blocks, or stay in the rest, the shape of the blocks, and whether there is a Zarr view. The decision is made
// before a byte is written. Where the header and the options leave it open, candidates are listed, measured by
// encoding them or samples of them, and one is picked. docs/FORMAT.md, annex A, has the rules.
package layout

import (
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// Preset names the chains of variables for which the user has not chosen one.
type Preset string

// The presets.
const (
	Fast     Preset = "fast"
	Default  Preset = "default"
	Max      Preset = "max"
	Portable Preset = "portable"
)

// Options are the user's choices.
type Options struct {
	Preset   Preset
	Block    int64 // target size of a block, in bytes
	OwnBlock bool  // Block is that of the preset
	Memory   int64 // bytes for the blocks of record variables that are collected together
	// Views are the layouts with a Zarr view that are tried, in this order. A forced one is taken whatever
	// it costs.
	Views  []plan.Layout
	Forced bool
	// Chains are those of single variables, by name, and All that of all other variables that have
	// dimensions; nil: that of the preset.
	Chains map[string]filters.Chain
	All    *filters.Chain
	Shapes map[string][]int64 // of blocks, by the name of the variable
}

// DefaultBlock and MaxPresetBlock are the target sizes of blocks of the presets, in bytes. Those of the preset max
// are longer, because its probabilities need many values to adapt. The preset default tries them in small images.
const (
	DefaultBlock   = 256 << 10
	MaxPresetBlock = 1 << 20
)

// Levels of the presets: the effort of lorenz, and levels as in the programs gzip and zstd.
const (
	fastEffort    = 1
	maxEffort     = 2
	fastLevel     = 1
	defaultLevel  = 3
	portableLevel = 6
	bestLevel     = 19

	// matchedHead is the longest block with a header whose repeats lorenz decodes quickly enough for each opening of an
	// archive, in bytes: 300 ns for a stored byte are 3 ms for one of 110 kB.
	matchedHead = 128 << 10

	// quickHead is the longest header, and the longest image, that is not tried in other forms, in bytes.
	quickHead = 64 << 10

	// bestHead is the longest header that is compressed as well as possible, in bytes.
	bestHead = 1 << 19
)

// joinedRest is the most bytes that follow the header of a small image in its block. Another block would cost more than
// decoding them with the header.
const joinedRest = 8 << 10

// Chain returns the chain of a preset for variables of type t. It is nil for an unknown preset.
func (p Preset) Chain(t cdf3.Type) filters.Chain {
	switch p {
	case Fast:
		return filters.Chain{{ID: filters.Lorenz, Params: []uint32{fastEffort}}}
	case Default:
		return filters.Chain{{ID: filters.Lorenz}}
	case Max:
		return filters.Chain{{ID: filters.Lorenz, Params: []uint32{maxEffort}}}
	case Portable:
		deflate := filters.Filter{ID: filters.Deflate, Params: []uint32{portableLevel}}
		if t.Size() == 1 { // shuffling would change nothing
			return filters.Chain{deflate}
		}
		return filters.Chain{{ID: filters.Shuffle, Params: []uint32{uint32(t.Size())}}, deflate}
	}
	return nil
}

// rest returns, for an image of size bytes, the chains for the block with the netCDF header, which has first bytes, and
// for the other blocks of the rest, which have several lengths and any content.
func (p Preset) rest(size, first int64) (head, rest filters.Chain) {
	zstd := func(level uint32) filters.Chain {
		return filters.Chain{{ID: filters.Zstd, Params: []uint32{level}}}
	}
	switch p {
	case Fast:
		return zstd(fastLevel), zstd(fastLevel)
	case Default, Max:
		rest = zstd(defaultLevel)
		if p == Max {
			rest = zstd(bestLevel)
		}
		switch {
		case first > bestHead:
			return rest, rest
		case first > matchedHead:
			return zstd(bestLevel), rest
		}
		head = filters.Chain{{ID: filters.Lorenz}}
		if p == Max {
			head[0].Params = []uint32{maxEffort}
		} else if size <= plan.TinyImage {
			head[0].Params = []uint32{fastEffort}
		}
		return head, rest
	}
	rest = p.Chain(cdf3.Byte)
	head = filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}
	if first > bestHead {
		head = rest
	}
	return head, rest
}

// Given returns the chain that the options name for a variable with so many dimensions, if any. Scalars have no
// chain under All: netCDF-4 stores them without filters.
func (o *Options) Given(name string, dims int) (c filters.Chain, ok bool) {
	if c, ok := o.Chains[name]; ok {
		return c, true
	}
	switch {
	case o.All == nil:
		return nil, false
	case dims == 0:
		return nil, true
	}
	return *o.All, true
}

// PoolChain returns the chain of pools of variables of type t.
func (o *Options) PoolChain(t cdf3.Type) filters.Chain {
	if o.All != nil {
		return *o.All
	}
	return o.Preset.Chain(t)
}

// Spec returns the plan of an image of size bytes in a layout as far as the header and the options decide it.
// Blocks have the shapes that follow from their target size. There are no pools.
func (o *Options) Spec(h *cdf3.Header, size int64, lay plan.Layout) *plan.Spec {
	s := &plan.Spec{Block: o.Block, Memory: o.Memory, Headers: o.worth(lay, size), Vars: make([]plan.VarSpec, len(h.Vars))}
	if size < plan.SmallImage {
		s.Joined = joinedRest
	}
	first := h.Len + s.Joined
	if lay == plan.Single {
		first = size
	}
	s.Head, s.Rest = o.Preset.rest(size, first)
	byType := map[cdf3.Type]filters.Chain{}
	for i := range h.Vars {
		v, c := &h.Vars[i], &s.Vars[i]
		var ok bool
		if c.Chain, ok = o.Given(v.Name, len(v.Shape)); !ok {
			if c.Chain, ok = byType[v.Type]; !ok {
				c.Chain = o.Preset.Chain(v.Type)
				byType[v.Type] = c.Chain
			}
		}
		c.Block = o.Shapes[v.Name]
		chain, named := o.Chains[v.Name]
		c.Named = named || c.Block != nil
		c.Filtered = len(chain) > 0 || c.Block != nil
	}
	return s
}
