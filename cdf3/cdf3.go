// Package cdf3 reads and writes the headers of classic netCDF files: CDF-1,
// CDF-2 (64-bit offsets) and CDF-5 (64-bit data).
//
// [Read] returns everything but the values: dimensions, attributes, variables, the
// place, shape and length of every variable, the size and number of records.
// [Header.Append] writes a header, [Header.Layout] places the variables of a header built
// by a program, and [WriteFile] writes a whole file. [Builder] makes a file from scratch.
//
// # Strictness
//
// Structure is strict: tags, counts, type codes, dimension numbers and the
// position of the unlimited dimension must be right, the header must lie
// wholly inside the file, and no length or offset may pass the range of
// int64. Content is lenient: names may hold any bytes, be empty or occur
// twice, padding may have any value, an empty list may be written in either
// form, variables may lie anywhere, overlap, and end beyond the end of the
// file. The netCDF C library differs on both sides: it reads cut headers as
// if zeros followed, and refuses variables out of order.
//
// Writing is strict: Layout refuses what the C library does not write, and WriteFile
// refuses values that the header has no room for. [Header.LayoutRead] is for headers with the
// contents of files.
//
// # What is not done
//
// It does not read values or any other bytes after the header. A [Header] does not
// record which form an empty list had or the bytes of padding. To restore a file
// exactly, keep the bytes of its header.
//
// All offsets are bytes of the file from its beginning, all lengths are
// bytes, and all numbers of the format are big-endian.
//
// Format facts follow "The NetCDF Classic Format Specification",
// https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html
package cdf3

import "strconv"

// Version is the fourth byte of a classic file.
type Version uint8

// The three versions. Part of the format.
const (
	Classic  Version = 1 // CDF-1: offsets of 31 bits
	Offset64 Version = 2 // CDF-2: offsets of 64 bits
	Data64   Version = 5 // CDF-5: counts, lengths and offsets of 64 bits
)

// magicLen is the length of the magic number: "CDF" and the version.
const magicLen = 4

// Valid reports whether v is 1, 2 or 5.
func (v Version) valid() bool { return v == Classic || v == Offset64 || v == Data64 }

// String returns "CDF-1", "CDF-2" or "CDF-5". Other versions are formatted alike.
func (v Version) String() string { return "CDF-" + strconv.Itoa(int(v)) }

// countLen returns the width of the format's NON_NEG: counts, lengths of names and
// dimensions, dimension numbers, numrecs and vsize.
func (v Version) countLen() int64 {
	if v == Data64 {
		return 8
	}
	return 4
}

// beginLen returns the width of the format's OFFSET.
func (v Version) beginLen() int64 {
	if v == Classic {
		return 4
	}
	return 8
}

// streaming returns the value of numrecs that leaves the number of records to the reader
// (STREAMING in the grammar).
func (v Version) streaming() uint64 {
	if v == Data64 {
		return 1<<64 - 1
	}
	return 1<<32 - 1
}

// Dim is a dimension. Its number is its index in Header.Dims.
type Dim struct {
	Name string // any bytes, as in the file
	Len  int64  // in elements; 0 if unlimited, see Header.NumRecs
}

// Attr is an attribute of the file or of a variable.
type Attr struct {
	Name   string // any bytes, as in the file
	Type   Type
	Len    int64  // number of elements, not bytes
	Values []byte // Len elements, big-endian as in the file, without padding
}

// Var is a variable. Begin and the fields above it are as in the file; those
// below it are computed by Read and Layout.
type Var struct {
	Name   string // any bytes, as in the file
	DimIDs []int  // indices into Header.Dims, slowest first; empty for a scalar
	Attrs  []Attr
	Type   Type

	// VSize is unreliable: writers disagree about it, and it is too narrow for large
	// variables. It is kept for Append and never used.
	VSize uint64

	// Begin is the offset of the first value. It is never negative, but the
	// values may overlap others or lie beyond the end of the file.
	Begin int64

	Record bool    // the first dimension is unlimited
	Shape  []int64 // in elements; the first is NumRecs if Record; empty and not nil for a scalar
	// RecLen is the length in bytes of the values in one record of a record variable,
	// or of all values of another variable. Padding is not counted.
	RecLen int64
	// Len is the length in bytes of all values: RecLen, times NumRecs if Record.
	Len int64
}

// Header is the header of a classic file. It shares no memory with the
// reader it came from and is safe for concurrent use while nobody changes it.
//
// In a header from Read or Layout no offset within a variable overflows:
// Begin+(NumRecs-1)*RecSize+RecLen of every record variable, Begin+RecLen of
// every variable and NumRecs*RecSize are in the range of int64. Record n of
// a record variable is at Begin+n*RecSize and RecLen bytes long.
type Header struct {
	Version Version

	// NumRecsField is numrecs as in the file. It may be smaller or larger than the
	// number of records that the file holds, or all ones.
	NumRecsField uint64
	// Streaming reports that NumRecsField is all ones and the number of
	// records follows from the size of the file.
	Streaming bool

	Dims  []Dim
	Attrs []Attr
	Vars  []Var

	// Len is the length in bytes of the header in the file, including the magic
	// number.
	Len int64
	// NumRecs is NumRecsField or, if Streaming, the number of records whose values
	// lie completely inside the file. The padding of the last one may be missing.
	// Otherwise it does not depend on the size of the file.
	NumRecs int64
	// RecSize is the distance in bytes from one record to the next, 0 without record
	// variables. Each record variable takes RecLen rounded up to 4, except that the
	// only record variable of a file is not padded.
	RecSize int64
}

const (
	// MaxHeaderLen is the longest header that Read accepts, in bytes. It bounds the
	// memory that a hostile file can take. The largest real headers are a few
	// megabytes long.
	MaxHeaderLen = 1 << 28
	// MaxRank is the highest rank of a variable that the netCDF C library reads
	// (NC_MAX_VAR_DIMS). Read accepts more.
	MaxRank = 1024
)
