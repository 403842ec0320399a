// Package cdlgen makes classic netCDF files from CDL, the text that ncdump and package cdl
// write. It reads what ncgen of netCDF-C reads, as far as the classic model can hold it.
//
//	f, err := cdlgen.Parse(ctx, r, nil)
//	defer f.Close()
//	err = f.Write(ctx, w)
//
// [File.Header] has the dimensions, variables and attributes, and [File.Storage] the
// special attributes of each variable: _Filter, _Codecs, _ChunkSizes and so on.
//
// # Differences from ncgen
//
// The reference is ncgen of netCDF-C 4.9.0. Where it makes a file, Write makes the same
// bytes, with these exceptions:
//
//   - Values that a variable cannot hold, more values than it has elements, text for a
//     number and numbers for text are errors. ncgen drops or truncates them, or crashes.
//     As in ncgen, an integer may be written as its unsigned counterpart: 255 for -1b.
//   - Braces may enclose the values of each index of each dimension, as in later versions.
//   - 0x10 is 16. ncgen takes it for bytes in an unknown order.
//   - -0 is the negative zero of floats, and '\0' the character NUL, not 0.
//   - int64 is a type of CDF-5. ncgen writes an int.
//   - The number of records follows from padded strings, so that char c(t, n) may hold
//     strings shorter than n.
//   - Text is padded with _FillValue even if that is written as a character: '#'.
//   - Without a kind, the file has the first of CDF-1, CDF-2 and CDF-5 that can hold it.
//
// Groups, user-defined types, strings of variable length and functions are errors.
// Names are kept as they are, while ncgen composes their characters (NFC).
//
// # Limits
//
// Text is read in one pass, and values are kept in memory up to 32 MiB and then in a
// temporary file. Memory otherwise follows the length of the declarations, which is
// limited. Errors about the text are a [SyntaxError] with its place.
//
// The syntax of CDL: https://docs.unidata.ucar.edu/nug/current/_c_d_l.html
package cdlgen

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Options of [Parse]. Nil and the zero value mean the defaults.
type Options struct {
	// Version is the version of the file. 0 means that of the attribute _Format or, if
	// that is missing or not classic, the first of CDF-1, CDF-2 and CDF-5 that holds the
	// declarations.
	Version cdf3.Version
	// NoFill leaves variables without values in the text at zero (ncgen -x).
	NoFill bool
	// MaxSize is the largest file in bytes. 0 means 1 TiB. A few words of CDL
	// can declare a file of any size.
	MaxSize int64
}

const defaultMaxSize = 1 << 40

// File is a data set read from CDL. Its methods may be called from several goroutines.
type File struct {
	// Name is the name of the data set: the word after "netcdf", unescaped.
	Name string
	// Header is laid out for Write. It must not be changed.
	Header *cdf3.Header
	// Storage has the special attributes of each variable.
	Storage []Storage
	// BlockSize is the attribute _BlockSize of the file, which cdfz dump -s writes for
	// archives: the target size of blocks in bytes, or 0 if the text has none.
	BlockSize int64
	// Kind is the attribute _Format, or "".
	Kind string

	values *spill
	runs   []run // by variable
	noFill bool
}

// run is the place of a variable's values.
type run struct{ off, len int64 }

// Storage has the special attributes of a variable. They describe how an archive, or a
// netCDF-4 file, stores it.
type Storage struct {
	Layout     string  // _Storage: "contiguous", "compact" or "chunked"; "" if not given
	ChunkSizes []int64 // _ChunkSizes
	Deflate    int     // _DeflateLevel; -1 if not given
	Shuffle    bool
	Fletcher32 bool
	Filter     string // _Filter, as in package internal/spec
	Codecs     string // _Codecs: a JSON array of codecs in the order of encoding
	NoFill     bool
}

// Close frees the values.
func (f *File) Close() error { return f.values.Close() }

// Size returns the length in bytes of the file that Write writes.
func (f *File) Size() int64 {
	h, size := f.Header, f.Header.Len
	for i := range h.Vars {
		if v := &h.Vars[i]; !v.Record {
			size = v.Begin + v.RecLen + (-v.RecLen & 3)
		}
	}
	return size + h.NumRecs*h.RecSize
}

// Write writes the classic file. Errors of w and of ctx are returned unchanged.
func (f *File) Write(ctx context.Context, w io.Writer) error {
	return cdf3.WriteFile(ctx, w, f.Header, func(v int) cdf3.Data {
		r := f.runs[v]
		return cdf3.Data{Values: io.NewSectionReader(f.values, r.off, r.len), Len: r.len, NoFill: f.noFill || f.Storage[v].NoFill}
	})
}
