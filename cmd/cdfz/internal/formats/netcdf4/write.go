// Package netcdf4 writes netCDF files as netCDF-4 files, which are HDF5 files. The blocks
// of an archive become chunks as they are stored, without decoding, if HDF5 knows their
// filters. Other variables are encoded with filters that HDF5 knows.
//
//	f, err := archive.Open(ctx, "x.nc.cdfz", nil)
//	res, err := netcdf4.Write(ctx, target, f, nil)
//
// The file has the dimensions, attributes and variables of the original in the same order,
// with netCDF-C's conventions for them: dimension scales, _Netcdf4Dimid,
// _Netcdf4Coordinates. Values are big-endian, as in classic files. The bytes depend only
// on the file and the options, not on the number of workers.
package netcdf4

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/hdf5"
	"github.com/cdfz-format/cdfz/filters"
)

// mostBeyond bounds the part of a variable beyond the end of the original, which is written as
// zeros, in bytes.
const mostBeyond = 256 << 20

// Options control Write. Nil and the zero value mean the defaults.
type Options struct {
	// Filters are the filters of variables that are not copied as they are stored, as a user
	// would write them. HDF5 must know them (Known). Nil means those of
	// archive.PresetPortable, shuffle and deflate. An empty chain means none.
	//
	// Few readers have the plugin for lorenz. So blocks with lorenz are copied only if Filters
	// has lorenz, too. Then all can still read the coordinates, without which programs such as xarray
	// do not open a file: coordinate variables and those of at most 4 KiB have no filters, longer ones that
	// an attribute coordinates, bounds or climatology names have those of archive.PresetPortable.
	Filters filters.Chain
	// Registered lets chunks of lorenz have the number Registered, which must not be 0, instead of 52723.
	Registered bool
	// Workers is the number of chunks that are read and encoded at the same time. 0 means
	// GOMAXPROCS. Each takes memory for three of the largest chunks.
	Workers int
	// Progress, if not nil, is called with the number of bytes of values done so far, from
	// one goroutine.
	Progress func(done int64)
}

// Result describes a written file.
type Result struct {
	Size    int64 // of the file, in bytes
	Chunks  int64
	Copied  int64 // chunks that are blocks of the archive as they are stored
	Lorenz  bool  // whether a chunk needs the plugin for lorenz
	Encoded []int // numbers of the variables whose chunks are no blocks as they are stored
	Omitted []Omitted
}

// Omitted is an attribute that a netCDF-4 file cannot hold.
type Omitted struct {
	Var  int // number of its variable, or -1 for the file
	Attr string
	Why  string
}

// Registered is the number that The HDF Group has registered for lorenz: 0 until there is one. c/Makefile has it, too, for
// the plugin.
var Registered uint16 = 0

// Known reports whether HDF5 can decode blocks with this chain if it has the plugins, that for
// lorenz among them (docs/hdf5.md). It cannot decode cdfz's other private filters, and zfp, whose
// plugin does not decode big-endian values.
func Known(c filters.Chain) bool {
	const zfp = 32013
	return !slices.ContainsFunc(c, func(f filters.Filter) bool {
		return f.ID > filters.Lorenz && f.ID <= filters.NumcodecsLZ4 || f.ID == zfp || f.ID > filters.MaxID
	})
}

// hasLorenz reports whether readers of the chain need the plugin for lorenz.
func hasLorenz(c filters.Chain) bool {
	return slices.ContainsFunc(c, func(f filters.Filter) bool { return f.ID == filters.Lorenz })
}

// ErrLimit reports a file that a netCDF-4 file cannot hold: beyond the limits of HDF5.
var ErrLimit = hdf5.ErrLimit

// Target is a new, empty file.
type Target interface {
	io.Writer   // appends
	io.WriterAt // overwrites bytes that were written
}

// Write writes the netCDF file in f, an archive or a classic file, to dst, a new file. The
// error wraps ErrLimit if a netCDF-4 file cannot hold f. Other errors are those of
// filters, of reading f and of dst. After an error the content of dst is useless.
func Write(ctx context.Context, dst Target, f *archive.File, o *Options) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	if !Known(o.Filters) {
		return nil, fmt.Errorf("netcdf4: expected filters that HDF5 knows, found %s", o.Filters)
	}
	d, err := describe(f, chunkOptions(f.Header(), o))
	if err != nil {
		return nil, err
	}
	if o.Registered {
		for _, s := range d.file.Datasets {
			for i := range s.Filters {
				if uint32(s.Filters[i].ID) == filters.Lorenz {
					s.Filters[i].ID = Registered
				}
			}
		}
	}
	w, err := hdf5.NewWriter(dst, &d.file)
	if err != nil {
		return nil, err
	}
	res := &Result{Omitted: d.omitted}
	for _, s := range d.sources {
		if c := s.chunks; c != nil && c.Len() > 0 {
			res.Lorenz = res.Lorenz || hasLorenz(c.Chain())
			if !c.Kept() {
				res.Encoded = append(res.Encoded, s.v.Num())
			}
		}
	}
	if err := copyValues(ctx, w, d, o, res); err != nil {
		return nil, err
	}
	res.Size, err = w.Close()
	return res, err
}

// chunkOptions returns how each variable is stored.
func chunkOptions(h *cdf3.Header, o *Options) func(*archive.Var) *archive.ChunkOptions {
	never := func(filters.Chain) bool { return false }
	keep := func(c filters.Chain) bool { return Known(c) && !hasLorenz(c) }
	portable := &archive.ChunkOptions{Keep: never, Beyond: mostBeyond, Filters: archive.PresetPortable.Chain}
	if !hasLorenz(o.Filters) {
		portable.Keep = keep
		if o.Filters != nil {
			portable.Filters = func(cdf3.Type) (filters.Chain, error) { return o.Filters, nil }
		}
		return func(*archive.Var) *archive.ChunkOptions { return portable }
	}
	plain := &archive.ChunkOptions{Keep: never, Beyond: mostBeyond}
	lorenz := &archive.ChunkOptions{Keep: Known, Beyond: mostBeyond, Filters: func(cdf3.Type) (filters.Chain, error) { return o.Filters, nil }}
	named := coordinates(h)
	return func(v *archive.Var) *archive.ChunkOptions {
		w := &h.Vars[v.Num()]
		switch {
		case len(w.DimIDs) == 1 && h.Dims[w.DimIDs[0]].Name == w.Name, w.Len <= mostContiguous:
			return plain
		case named[w.Name]:
			return portable
		}
		return lorenz
	}
}

// coordinates returns the names of the variables that the attributes of others name as their coordinates
// or the bounds of these.
func coordinates(h *cdf3.Header) map[string]bool {
	named := map[string]bool{}
	for i := range h.Vars {
		for _, of := range []string{"coordinates", "bounds", "climatology"} {
			for _, name := range strings.Fields(h.Vars[i].Attr(of).Text()) {
				named[name] = true
			}
		}
	}
	return named
}
