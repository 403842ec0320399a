// Package formats writes parts of the variables of a netCDF file as CSV, JSON, npy,
// raw bytes or a classic netCDF file, for cdfz get and the page of cdfz serve. Below it
// are the writers of whole files in other formats, for cdfz export.
//
// [ParseSelection] parses a selection such as "tas[0, :, lon=10:20]", and
// [Selection.Apply] resolves it in a file. [NewWriter] combines selections, and
// [Writer.Write] writes them:
//
//	sel, err := formats.ParseSelection("tas[time=2001-05, lat=52.5]")
//	values, err := sel.Apply(ctx, file, nil)
//	w, err := formats.NewWriter(formats.CSV, []*formats.Values{values})
//	err = w.Write(ctx, os.Stdout)
//
// Only the blocks that hold the selections are read, in pieces of bounded size, so
// that memory does not grow with the selection.
//
// The package uses cf for unpacking and times, slab for reading and cdf3 for headers.
// It knows nothing of archives.
package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Format is an output format.
type Format string

// The formats.
const (
	CSV  Format = "csv"  // a table with a row for each position
	JSON Format = "json" // nested arrays
	Npy  Format = "npy"  // an array of numpy
	Raw  Format = "raw"  // just the values, big-endian
	NC   Format = "nc"   // a classic netCDF file
)

// Formats lists all formats.
var Formats = []Format{CSV, JSON, Npy, Raw, NC}

// Binary reports whether a format is not text.
func (f Format) Binary() bool { return f != CSV && f != JSON }

// Single reports whether a format holds only one selection.
func (f Format) Single() bool { return f == Npy || f == Raw }

// FormatOf returns the format for the suffix of a file name, or "" if the suffix is
// unknown.
func FormatOf(name string) Format {
	f := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
	if !slices.Contains(Formats, f) {
		return ""
	}
	return f
}

// Options control how values are written. Nil and the zero value write values as
// stored, with fill values left empty in CSV and null in JSON.
type Options struct {
	// Unpack writes unpacked values, see cf.Packing. Missing values become NaN.
	Unpack bool
	// Time writes times as ISO 8601 text. CSV and JSON only.
	Time bool
	// KeepFill writes fill values as numbers in CSV and JSON.
	KeepFill bool
	// Nearest takes the nearest value for values that lie outside of an axis: beyond half a
	// cell from its ends. Otherwise they are an error.
	Nearest bool
	// Escape makes CSV safe for terminals: control characters and bytes that are not
	// UTF-8 are written as escapes.
	Escape bool
	// History is a line to append to the history attribute of netCDF files. If it is
	// empty, nothing is appended.
	History string
}

// ErrCombine is wrapped by errors about selections that do not fit into one file. Each
// of them fits into a separate file.
var ErrCombine = errors.New("cannot be written to one file")

// combineError explains why selections do not fit into one file.
type combineError string

func (e combineError) Error() string        { return string(e) }
func (e combineError) Is(target error) bool { return target == ErrCombine }

// Writer writes selections in a format. It can be used repeatedly, but not
// concurrently.
type Writer struct {
	write func(ctx context.Context, w io.Writer) error
	reads []*Values
}

// NewWriter checks that selections of a file can be written together. All must have
// been applied with the same options.
func NewWriter(f Format, values []*Values) (*Writer, error) {
	if len(values) == 0 {
		return nil, errors.New("export: no selection")
	}
	src, o := values[0].src, values[0].o
	for _, x := range values[1:] {
		if *x.o != *o {
			return nil, errors.New("export: selections have different options")
		}
	}
	switch {
	case f.Single() && len(values) > 1:
		return nil, combineError(fmt.Sprintf("a file of format %s holds one variable, found %d", f, len(values)))
	case o.Time && f != CSV && f != JSON:
		return nil, fmt.Errorf("export: times as text: expected format csv or json, found %s", f)
	}
	switch f {
	case CSV:
		t, err := newTable(src, values, o)
		if err != nil {
			return nil, err
		}
		return &Writer{t.write, slices.Concat(values, t.reads())}, nil
	case JSON:
		return &Writer{func(ctx context.Context, w io.Writer) error { return writeJSON(ctx, w, src.Header(), values) }, values}, nil
	case Npy:
		return &Writer{func(ctx context.Context, w io.Writer) error { return writeNpy(ctx, w, values[0]) }, values}, nil
	case Raw:
		return &Writer{func(ctx context.Context, w io.Writer) error { return writeRaw(ctx, w, values[0]) }, values}, nil
	case NC:
		s, err := newSubset(src, values, o)
		if err != nil {
			return nil, err
		}
		return &Writer{s.write, s.vars}, nil
	}
	return nil, fmt.Errorf("export: unknown format %q", string(f))
}

// Write writes the file. It fails if values cannot be read, ctx is done or a write
// fails. Output before an error stays written.
func (w *Writer) Write(ctx context.Context, dst io.Writer) error { return w.write(ctx, dst) }

// Reads returns all values that Write reads: the selections and the coordinate
// variables written with them.
func (w *Writer) Reads() []*Values { return w.reads }
