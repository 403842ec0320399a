package archive

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// ZarrMode decides whether an archive is also a Zarr store.
type ZarrMode string

// The modes. The zero value is ZarrAuto.
const (
	ZarrAuto   ZarrMode = "auto"   // iff its cost is small: docs/FORMAT.md, "Thresholds of the layouts"
	ZarrAlways ZarrMode = "always" // for every Zarr reader, whatever it costs
	// ZarrConsolidated makes a view for readers of consolidated metadata, such as
	// xarray, at any cost.
	ZarrConsolidated ZarrMode = "consolidated"
	ZarrNever        ZarrMode = "never"
)

// Preset names the filter chains of variables without a VarFilter.
type Preset string

// The presets. The zero value is PresetDefault.
const (
	PresetFast     Preset = "fast"     // lorenz, speed first
	PresetDefault  Preset = "default"  // lorenz, with nearly all trials in images of 64 KiB to 8 MiB
	PresetMax      Preset = "max"      // lorenz, ratio first
	PresetPortable Preset = "portable" // shuffle + deflate: what every HDF5, netCDF-4 and Zarr reads
)

// Presets lists the presets in order of speed.
var Presets = []Preset{PresetFast, PresetDefault, PresetPortable, PresetMax}

// VarFilter sets the filter chain of some variables.
type VarFilter struct {
	// Vars are names as in the file; "*" stands for all variables but scalars, which are
	// then stored unchanged. An explicit name takes precedence over "*". A scalar can
	// have no filters.
	Vars []string
	// Chain replaces that of the preset. If it is empty, blocks are stored unchanged.
	Chain filters.Chain
}

// Bounds and defaults of options.
const (
	// DefaultBlock is 256 KiB. That has 99.3 % of the ratio of unlimited blocks and
	// fits the second-level cache.
	DefaultBlock = 256 << 10
	MinBlock     = 1 << 10
	MaxBlock     = 256 << 20

	// maxPresetBlock is the size of a block under PresetMax, whose probabilities need many
	// values to adapt, and of the longer blocks that PresetDefault tries in small images.
	maxPresetBlock = 1 << 20

	// maxLossy is the most variables that may be rounded. The manifest, which lists
	// them, is at most 64 KiB.
	maxLossy = 256

	// DefaultMemory is the default memory for blocks of record variables. It suffices
	// for the blocks of 500 record variables at once.
	DefaultMemory = image.DefaultMemory
)

// WriteOptions control Write. Nil and the zero value mean the defaults.
type WriteOptions struct {
	Name    string      // base name of the image, kept in the manifest
	Block   int64       // target size of a block in bytes; 0: DefaultBlock, with PresetMax 1 MiB
	Preset  Preset      // "": PresetDefault
	Filters []VarFilter // chains of single variables
	// Shapes are the block shapes of single variables, by name, in elements. FORMAT.md,
	// section 8.1, has the form: 1 in the first dimensions, any length in the next, and
	// the whole length in the rest. The blocks of other variables follow from Block.
	Shapes map[string][]int64
	Zarr   ZarrMode // "": ZarrAuto
	// Lossy names variables whose values are rounded before they are archived, by the
	// first filter of their chain in Filters. That filter must be one that rounds, such as
	// [filters.Quantize]. Values that stand for missing ones are kept: _FillValue, or
	// netCDF's default, and missing_value. The archive then restores the rounded image and
	// not the source. Its manifest records the loss ([Info].Loss). Without Lossy, values
	// that such a filter would change are an error.
	Lossy []string
	// Memory bounds the blocks of record variables that are collected at the same time,
	// in bytes. 0 means DefaultMemory. It determines how many times the record section
	// is read, and the order of blocks in the archive.
	Memory  int64
	Workers int // goroutines that encode; 0: GOMAXPROCS; does not affect the archive
	// Parity is the amount of parity in percent, from which damage can be healed (package parity).
	// 0 means none. With parity, Write and Rewrite make the archive in a temporary file.
	Parity parity.Share
	// Progress, if not nil, is called with the number of image bytes done so far, from
	// one goroutine at a time.
	Progress func(done int64)

	loss      *plan.Loss // what rounding lost
	ownBlock  bool       // Block is that of the preset
	poolBlock int64      // see plan.PlanOptions
}

// withDefaults checks the options and fills in the defaults.
func (o *WriteOptions) withDefaults() (WriteOptions, error) {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	if c.Block == 0 {
		c.Block, c.ownBlock = DefaultBlock, true
		if c.Preset == PresetMax {
			c.Block = maxPresetBlock
		}
	}
	if c.Block < MinBlock || c.Block > MaxBlock {
		return c, fault.Optionsf("expected a block of %d to %d bytes, found %d", MinBlock, MaxBlock, c.Block)
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Memory < 0 {
		return c, fault.Optionsf("expected memory of at least 0 bytes, found %d", c.Memory)
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Workers < 1 || c.Workers > read.MaxWorkers {
		return c, fault.Optionsf("expected 1 to %d workers, found %d", read.MaxWorkers, c.Workers)
	}
	if len(c.Lossy) > maxLossy {
		return c, fault.Optionsf("expected at most %d lossy variables, found %d", maxLossy, len(c.Lossy))
	}
	switch c.Zarr {
	case "":
		c.Zarr = ZarrAuto
	case ZarrAuto, ZarrAlways, ZarrConsolidated, ZarrNever:
	default:
		return c, fault.Optionsf("expected a Zarr mode of auto, always, consolidated or never, found %q", c.Zarr)
	}
	if c.Preset == "" {
		c.Preset = PresetDefault
	}
	if _, err := c.Preset.Chain(cdf3.Float); err != nil {
		return c, err
	}
	return c, nil
}

// Levels of the presets: the effort of lorenz, and levels as in the programs gzip and zstd.
const (
	fastEffort    = 1
	maxEffort     = 2
	fastLevel     = 1
	defaultLevel  = 3
	portableLevel = 6
	bestLevel     = 19

	// quickHead is the longest block with a header that lorenz decodes quickly enough for each opening of an archive, in
	// bytes. BenchmarkDecode of package matches has the speed.
	quickHead = 64 << 10

	// bestHead is the longest header that is compressed as well as possible, in bytes.
	bestHead = 1 << 19
)

// Chain returns the chain of a preset for variables of type t.
func (p Preset) Chain(t cdf3.Type) (filters.Chain, error) {
	switch p {
	case PresetFast:
		return filters.Chain{{ID: filters.Lorenz, Params: []uint32{fastEffort}}}, nil
	case PresetDefault:
		return filters.Chain{{ID: filters.Lorenz}}, nil
	case PresetMax:
		return filters.Chain{{ID: filters.Lorenz, Params: []uint32{maxEffort}}}, nil
	case PresetPortable:
		deflate := filters.Filter{ID: filters.Deflate, Params: []uint32{portableLevel}}
		if t.Size() == 1 { // shuffling would change nothing
			return filters.Chain{deflate}, nil
		}
		return filters.Chain{{ID: filters.Shuffle, Params: []uint32{uint32(t.Size())}}, deflate}, nil
	}
	return nil, fault.Optionsf("expected one of the presets %v, found %q", Presets, p)
}

// rest returns, for an image of size bytes, the chains for the block with the netCDF header, which has first bytes, and
// for the other blocks of the rest, which have several lengths and any content.
func (p Preset) rest(size, first int64) (head, rest filters.Chain, err error) {
	zstd := func(level uint32) filters.Chain {
		return filters.Chain{{ID: filters.Zstd, Params: []uint32{level}}}
	}
	switch p {
	case PresetFast:
		return zstd(fastLevel), zstd(fastLevel), nil
	case PresetDefault, PresetMax:
		rest = zstd(defaultLevel)
		if p == PresetMax {
			rest = zstd(bestLevel)
		}
		switch {
		case first > bestHead:
			return rest, rest, nil
		case first > quickHead:
			return zstd(bestLevel), rest, nil
		}
		head = filters.Chain{{ID: filters.Lorenz}}
		if p == PresetMax {
			head[0].Params = []uint32{maxEffort}
		} else if size <= plan.TinyImage {
			head[0].Params = []uint32{fastEffort}
		}
		return head, rest, nil
	}
	rest, err = p.Chain(cdf3.Byte)
	head = filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}
	if first > bestHead {
		head = rest
	}
	return head, rest, err
}

// chainFor returns the chain of one variable under the options, complete for blocks of
// type t and geometry g.
func (o *WriteOptions) chainFor(name string, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	c, ok := o.given(name, g)
	if !ok {
		var err error
		if c, err = o.Preset.Chain(t); err != nil {
			return nil, err
		}
	}
	full, err := complete(c, t, g)
	if err != nil {
		return nil, fmt.Errorf("archive: variable %q: %w", name, err)
	}
	return full, nil
}

// given returns the chain that the options name for a variable, if any. Scalars have no
// chain under "*": netCDF-4 stores them without filters.
func (o *WriteOptions) given(name string, g *plan.Geometry) (c filters.Chain, ok bool) {
	var all *VarFilter
	for i := range o.Filters {
		f := &o.Filters[i]
		for _, v := range f.Vars {
			if v == name {
				return f.Chain, true
			}
			if v == "*" {
				all = f
			}
		}
	}
	switch {
	case all == nil:
		return nil, false
	case len(g.Shape) == 0:
		return nil, true
	}
	return all.Chain, true
}

// poolChain returns the chain of a pool. No filter option names its variables.
func (o *WriteOptions) poolChain(_ []int, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	return o.chainFor("*", t, g)
}

// named reports whether the options have a chain or a block shape for a variable by its
// name, and whether it has a filter or such a shape.
func (o *WriteOptions) named(name string) (named, filtered bool) {
	if name == "*" {
		return false, false
	}
	if o.Shapes[name] != nil {
		return true, true
	}
	for _, f := range o.Filters {
		if slices.Contains(f.Vars, name) {
			return true, len(f.Chain) > 0
		}
	}
	return false, false
}

// AddFilter appends a filter to the chain of a variable, as nc_def_var_filter does. The
// first one replaces the chain of the preset. [Write]
// fails with [ErrOptions] if the file does not have the variable, or if it is a scalar.
func (o *WriteOptions) AddFilter(name string, f filters.Filter) error {
	i := slices.IndexFunc(o.Filters, func(v VarFilter) bool { return len(v.Vars) == 1 && v.Vars[0] == name })
	var c filters.Chain
	if i >= 0 {
		c = o.Filters[i].Chain
	}
	c, err := c.Add(f)
	if err != nil {
		return fmt.Errorf("archive: variable %q: %w", name, err)
	}
	if i < 0 {
		o.Filters = append(o.Filters, VarFilter{Vars: []string{name}, Chain: c})
	} else {
		o.Filters[i].Chain = c
	}
	return nil
}

// complete adds the parameters that depend on the blocks to a chain, and checks it.
func complete(c filters.Chain, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	b := filters.Block{Len: int(g.BlockLen), Kind: blockKinds[t], Size: int(t.Size()), Shape: make([]int, len(g.Block)), Stack: g.Stack}
	for i, n := range g.Block {
		b.Shape[i] = int(n)
	}
	full, err := c.Complete(b)
	if err == nil {
		_, err = filters.NewCoder(full)
	}
	if err != nil {
		return nil, fmt.Errorf("chain %s: %w: %w", c, err, fault.ErrOptions)
	}
	return full, nil
}

var blockKinds = map[cdf3.Type]filters.Kind{
	cdf3.Byte: filters.Int, cdf3.Short: filters.Int, cdf3.Int: filters.Int, cdf3.Int64: filters.Int,
	cdf3.UByte: filters.Uint, cdf3.UShort: filters.Uint, cdf3.UInt: filters.Uint, cdf3.UInt64: filters.Uint,
	cdf3.Float: filters.Float, cdf3.Double: filters.Float, cdf3.Char: filters.Text,
}

// checkNames checks the options for variables by name.
func (o *WriteOptions) checkNames(h *cdf3.Header) error {
	if err := o.checkFilters(h); err != nil {
		return err
	}
	return o.checkShapes(h)
}

// checkShapes rejects names that no variable has, and shapes that blocks cannot have.
func (o *WriteOptions) checkShapes(h *cdf3.Header) error {
	known := map[string]bool{}
	for i := range h.Vars {
		v := &h.Vars[i]
		shape, ok := o.Shapes[v.Name]
		if !ok {
			continue
		}
		known[v.Name] = true
		if _, err := plan.NewGeometry(v.Shape, shape, v.Type.Size()); err != nil {
			return fault.Optionsf("block shape %v does not fit variable %q of shape %v", shape, v.Name, v.Shape)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Shapes)) {
		if !known[name] {
			return fault.Optionsf("a block shape for variable %q, which the file does not have", name)
		}
	}
	return nil
}

// checkFilters rejects names that no variable has and variables named twice.
func (o *WriteOptions) checkFilters(h *cdf3.Header) error {
	if len(o.Filters) == 0 {
		return nil
	}
	names, scalars := map[string]bool{"*": true}, map[string]bool{}
	for i := range h.Vars {
		names[h.Vars[i].Name] = true
		scalars[h.Vars[i].Name] = len(h.Vars[i].DimIDs) == 0
	}
	seen := map[string]bool{}
	for _, f := range o.Filters {
		for _, v := range f.Vars {
			if !names[v] {
				return fault.Optionsf("a chain for variable %q, which the file does not have", v)
			}
			if seen[v] {
				return fault.Optionsf("two chains for variable %q", v)
			}
			if scalars[v] && len(f.Chain) > 0 {
				return fault.Optionsf("filters for variable %q, which is a scalar", v)
			}
			seen[v] = true
		}
	}
	return nil
}
