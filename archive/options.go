package archive

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/layout"
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
	DefaultBlock = layout.DefaultBlock
	MinBlock     = 1 << 10
	MaxBlock     = 256 << 20

	// maxLossy is the most variables that may be rounded. The manifest, which lists
	// them, is at most 64 KiB.
	maxLossy = 256

	// DefaultMemory is the default memory for blocks of record variables. It suffices
	// for the blocks of 500 record variables at once.
	DefaultMemory = image.DefaultMemory
)

// WriteOptions control Write. Nil and the zero value mean the defaults.
type WriteOptions struct {
	Name    string      // base name of the image, kept in the manifest; ErrOptions if that then exceeds 64 KiB
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
	// NoCheck makes WriteFile, RewriteFile, WriteTarget and RewriteTarget not read the archive back.
	NoCheck bool
	// CheckProgress, if not nil, is called by them with the number of image bytes read back so far,
	// from one goroutine at a time.
	CheckProgress func(done int64)

	loss     *plan.Loss // what rounding lost
	ownBlock bool       // Block is that of the preset
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
			c.Block = layout.MaxPresetBlock
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

// Chain returns the chain of a preset for variables of type t.
func (p Preset) Chain(t cdf3.Type) (filters.Chain, error) {
	if c := layout.Preset(p).Chain(t); c != nil {
		return c, nil
	}
	return nil, fault.Optionsf("expected one of the presets %v, found %q", Presets, p)
}

// layout returns the options that decide the layout.
func (o *WriteOptions) layout() *layout.Options {
	l := &layout.Options{
		Preset: layout.Preset(o.Preset), Block: o.Block, OwnBlock: o.ownBlock, Memory: o.Memory, Shapes: o.Shapes,
		Views: o.Zarr.layouts(), Forced: o.Zarr.forced(), Chains: map[string]filters.Chain{},
	}
	for _, f := range o.Filters {
		for _, name := range f.Vars {
			if name == "*" {
				l.All = &f.Chain
			} else {
				l.Chains[name] = f.Chain
			}
		}
	}
	return l
}

// layouts lists the layouts with a Zarr view that a mode allows, in order of
// preference.
func (m ZarrMode) layouts() []plan.Layout {
	switch m {
	case ZarrAuto:
		return []plan.Layout{plan.Viewed, plan.Consolidated}
	case ZarrAlways:
		return []plan.Layout{plan.Viewed}
	case ZarrConsolidated:
		return []plan.Layout{plan.Consolidated}
	}
	return nil
}

// forced reports whether the archive gets a view at any cost.
func (m ZarrMode) forced() bool { return m == ZarrAlways || m == ZarrConsolidated }

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
