// Package cdl writes netCDF files as CDL text, byte for byte as ncdump does.
//
// [Dump] takes a header and the values of its variables, wherever they come from. It
// writes NcML too. [Name] and [Kind] derive the data set's name and kind from a file,
// as ncdump does.
//
// The reference is ncdump of netCDF-C 4.9.0 on Linux, its oddities included where
// they are the same in every run. Files that it refuses, or that make it stop
// halfway, are written as far as the same rules go. C_format attributes are followed,
// unless the behaviour of the C program is undefined. Then the default format is
// used.
//
// # What is not done
//
// Groups and the types of netCDF-4, and times in calendar "none". Times beyond some
// 80,000 years are written as numbers, where ncdump writes uninitialized memory. In
// NcML, names are escaped, which ncdump forgets. If the number of records is
// indeterminate (STREAMING), they are counted, where ncdump writes 4294967295. For the
// Fortran index of a scalar (-f), ncdump writes uninitialized memory, most often 34.
// Here it is always 34.
//
// Rules of the text: https://docs.unidata.ucar.edu/nug/current/_c_d_l.html
package cdl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// Source is a netCDF file.
type Source interface {
	Header() *cdf3.Header
	// Array returns the values of variable number v of the header.
	Array(v int) slab.Array
}

// ErrNoVariable is wrapped by the error for a name in Options.Vars that no
// variable has.
var ErrNoVariable = errors.New("no such variable")

// Options of Dump. Nil and the zero value mean those of ncdump without flags.
type Options struct {
	Name   string   // of the data set, see [Name]
	Header bool     // no data (-h)
	Coords bool     // of the data only that of coordinate variables (-c)
	Vars   []string // of the data only that of these variables (-v); none: all

	// Special adds the special attributes (-s): the format and, for CDF-5 and
	// where Storage knows more, how the values of a variable are stored.
	Special bool
	// Storage returns how an archive stores variable number v, or nil if it has no
	// blocks. Storage may be nil.
	Storage func(v int) *Storage

	// Times writes the values of time variables as dates in quotes (-t), and those of
	// their numeric attributes in a comment. ISO puts a T between date and time of day
	// and no blank (-i with Times).
	Times, ISO bool
	// NcML writes the dimensions, attributes and variables as XML (-x), without values.
	// Location is the name of the file in it.
	NcML     bool
	Location string

	Brief   bool // a comment with the indices of each row (-b)
	Full    bool // a comment with the index of each value (-f)
	Fortran bool // indices count from 1, fastest dimension first

	// FloatDigits and DoubleDigits are significant digits (-p), 1 to 20. Zero means 7
	// and 15, unless a C_format attribute says otherwise.
	FloatDigits, DoubleDigits int
	// LineLen is the length of lines of data (-l), at least 10. Zero means 80.
	LineLen int
}

// Storage is how the values of a variable are stored.
type Storage struct {
	Block   []int64 // shape of a block
	Filters []Filter
}

// Filter is a filter by its number in HDF5's registry.
type Filter struct {
	ID     uint32
	Params []uint32
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

// Dump writes the file as CDL. Nothing is written if the options are wrong or name a
// variable that is not there. Memory is bounded, whatever the size of the variables.
// Errors of w are returned as they are. Errors of reading values are wrapped with the
// variable's name. Text written before an error stays written.
func Dump(ctx context.Context, w io.Writer, src Source, o *Options) error {
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
	d.maxLine -= 2 // ncdump leaves room for a blank and a newline
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

// chosen tells for each variable whether Options.Vars names it. It is nil if all are
// wanted. Among variables of one name the last is chosen, as in ncdump. Names with a
// slash, which ncdump takes for names in groups, are allowed.
func (d *dumper) chosen() ([]bool, error) {
	if len(d.o.Vars) == 0 {
		return nil, nil
	}
	out := make([]bool, len(d.h.Vars))
	for _, name := range d.o.Vars {
		v, ok := d.names.vars[name]
		if !ok || name == "" {
			return nil, fmt.Errorf("%s: %w", name, ErrNoVariable)
		}
		out[v] = true
	}
	return out, nil
}

// Kind returns the kind of a file as ncdump -k prints it.
func Kind(v cdf3.Version) string {
	switch v {
	case cdf3.Classic:
		return "classic"
	case cdf3.Offset64:
		return "64-bit offset"
	case cdf3.Data64:
		return "cdf5"
	}
	return v.String()
}

// Name is the name of a data set as ncdump derives it from the name of its file:
// without folders and without what follows the last dot.
func Name(file string) string {
	file = file[strings.LastIndexAny(file, `/\`)+1:]
	if dot := strings.LastIndexByte(file, '.'); dot >= 0 {
		file = file[:dot]
	}
	return file
}
