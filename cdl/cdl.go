// Package cdl writes netCDF files as CDL text, byte for byte as ncdump does.
//
// [Dump] takes a header and the values of its variables from any source. It also writes
// NcML. [Name] and [Kind] derive the data set's name and kind from a file, as ncdump
// does. The command cdfz gen reads CDL.
//
// The reference is ncdump of netCDF-C 4.9.0 on Linux, including its oddities where they
// are the same in every run. Files that ncdump refuses, or at which it stops halfway,
// are written by the same rules as far as possible. C_format attributes are followed
// unless the C program's behaviour is undefined. In that case the default format is
// used.
//
// # What is not done
//
// Groups and the types of netCDF-4 are missing, and so are times in calendar "none".
// Times more than about 80,000 years away are written as numbers, where ncdump writes
// uninitialized memory. NcML is well-formed, unlike ncdump's: names are escaped, text that
// is not UTF-8 is taken as Latin-1, and U+FFFD stands for what XML does not have. If the
// number of records is indeterminate (STREAMING), records are counted, where ncdump writes
// 4294967295. For the Fortran index of a scalar (-f), ncdump writes uninitialized
// memory, usually 34. This package always writes 34.
//
// Rules of the text: https://docs.unidata.ucar.edu/nug/current/_c_d_l.html
package cdl

import (
	"context"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/slab"
)

// Options control Dump. Nil and the zero value mean ncdump without flags.
type Options struct {
	Name   string   // of the data set, see [Name]
	Header bool     // no data (-h)
	Coords bool     // data of coordinate variables only (-c)
	Vars   []string // data of these variables only (-v); empty for all

	// Special adds the special attributes (-s): the format and, for CDF-5 and where
	// Storage provides more, the storage of each variable.
	Special bool
	// Storage returns how an archive stores variable number v, or nil if it has no
	// blocks. Storage may be nil.
	Storage func(v int) *Storage
	// BlockSize is the target size of the blocks of an archive, in bytes, or 0. With
	// Special it becomes the attribute _BlockSize of the file, which ncdump does not
	// have.
	BlockSize int64

	// Times writes the values of time variables as quoted dates (-t) and adds a comment
	// with dates to their numeric attributes. ISO separates date and time of day by T
	// instead of a blank (-i with Times).
	Times, ISO bool
	// NcML writes dimensions, attributes and variables as XML (-x), without values.
	// Location is the file name in it.
	NcML     bool
	Location string

	Brief   bool // a comment with the indices of each row (-b)
	Full    bool // a comment with the index of each value (-f)
	Fortran bool // indices count from 1, fastest dimension first

	// FloatDigits and DoubleDigits are significant digits (-p), 1 to 20. Zero means 7
	// and 15, or those of a C_format attribute.
	FloatDigits, DoubleDigits int
	// Format is the value of _Format, by default the kind of the file. If it is set, variables
	// without blocks have no special attributes, since not all kinds can have them contiguous.
	Format string
	// Warn, if not nil, is called with what the text cannot express, such as a NUL in NcML.
	Warn func(text string)
	// LineLen is the length of lines of data (-l), at least 10. Zero means 80.
	LineLen int
}

// Storage describes how the values of a variable are stored.
type Storage struct {
	Block   []int64 // shape of a block
	Filters []Filter
	// Codecs is the chain as a JSON array of Zarr's codecs, in the order of encoding,
	// or "" if some filter has none.
	Codecs string
}

// Filter is a filter by its number in HDF5's registry.
type Filter struct {
	ID       uint32
	Params   []uint32
	Optional bool // HDF5's H5Z_FLAG_OPTIONAL, a ? in the text
}

func (o *Options) check() error {
	switch {
	case o.FloatDigits < 0 || o.FloatDigits > maxDigits:
		return fmt.Errorf("cdl: FloatDigits is %d, expected 1 to %d", o.FloatDigits, maxDigits)
	case o.DoubleDigits < 0 || o.DoubleDigits > maxDigits:
		return fmt.Errorf("cdl: DoubleDigits is %d, expected 1 to %d", o.DoubleDigits, maxDigits)
	case o.LineLen != 0 && o.LineLen < minLine:
		return fmt.Errorf("cdl: LineLen is %d, expected at least %d", o.LineLen, minLine)
	}
	return nil
}

const (
	maxDigits   = 20
	minLine     = 10
	defaultLine = 80
)

// Dump writes the file as CDL. It writes nothing if the options are invalid or name a
// missing variable. Memory is bounded, whatever the size of the variables. Errors of w
// are returned unchanged. Errors of reading values are wrapped with the variable's
// name. Text written before an error stays written.
func Dump(ctx context.Context, w io.Writer, src slab.Source, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	if err := o.check(); err != nil {
		return err
	}
	d := &dumper{ctx: ctx, w: w, src: src, h: src.Header(), o: o, names: newNames(src.Header())}
	chosen, err := d.chosen()
	if err != nil {
		return err
	}
	d.maxLine = defaultLine
	if o.LineLen != 0 {
		d.maxLine = o.LineLen
	}
	d.maxLine -= 2 // ncdump reserves a blank and a newline
	if o.NcML {
		d.ncml(chosen)
		d.flush()
		return d.err
	}
	d.text("netcdf ")
	d.name(o.Name)
	d.text(" {\n")
	d.header()
	if !o.Header {
		if err := d.data(chosen); err != nil {
			return err
		}
	}
	d.text("}\n")
	d.flush()
	return d.err
}

// chosen reports for each variable whether Options.Vars names it. It is nil if all are
// wanted. If several variables share a name, the last one is chosen, as in ncdump.
// Names with a slash are allowed, although ncdump takes them for names in groups.
func (d *dumper) chosen() ([]bool, error) {
	if len(d.o.Vars) == 0 {
		return nil, nil
	}
	out := make([]bool, len(d.h.Vars))
	for _, name := range d.o.Vars {
		v, ok := d.names.vars[name]
		if !ok || name == "" {
			return nil, fmt.Errorf("%s: no such variable", name)
		}
		out[v] = true
	}
	return out, nil
}
