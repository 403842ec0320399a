// Package cataloguefile makes and reads catalogues: Parquet files with a row for each variable of each archive
// or classic netCDF file.
//
//	describe.go  a file to rows
//	cover.go     what the coordinates of a variable cover
//	points.go    the single places of a variable
//	attrs.go     attributes as JSON
//	build.go     rows and parts to a catalogue, in bounded memory
//	states.go    which states of files in volumes are current
//	columns.go   the columns of rows in Parquet
//	write.go     rows to Parquet
//	read.go      Parquet to rows
//	query.go     which rows a user looks for
//	date.go      dates of any calendar
package cataloguefile

import "strings"

// Row is a variable of a file, or a file without variables. Zero values of optional columns are null: columns.go has which are. A
// column never changes its meaning. A later format may add some.
type Row struct {
	// Path is the path or URL as it was given, in UTF-8. PathBytes has the bytes of a name that is not
	// UTF-8.
	Path      string
	PathBytes string
	Image     string // base name of the netCDF file
	SHA256    string // of the netCDF file, in hexadecimal digits
	// ImageSize and ArchiveSize are bytes.
	ImageSize   int64
	ArchiveSize int64 // null for classic files
	// Number is the place of the variable in the file, from 0.
	Number     int32
	Variable   string // null for a file without variables
	Type       string
	Dimensions []string
	Shape      []int64
	// Record is the name of the record dimension, if the variable has it.
	Record         string
	Units          string
	StandardName   string
	LongName       string
	Attributes     string // of the variable
	FileAttributes string // of the file
	Calendar       string
	TimeStart      string // ISO 8601 in the calendar
	TimeEnd        string
	LatMin         *float64 // degrees north
	LatMax         *float64
	LonMin         *float64 // degrees east; LonMax is not less
	LonMax         *float64
	LonCircle      bool   // the longitudes go all the way round
	Filters        string // as -F takes them; null without blocks
	// Proved is when the archive was last proved, in microseconds since 1970.
	Proved int64
	// Points are the single places of the variable if it has several, such as stations. The box is around them.
	Points *Points
	// Kind is the kind of the file. It is "" in catalogues of format 1.
	Kind string
	// Volume is the volume in which the file is, as Path names it. Packed is when that was packed, in microseconds since
	// 1970.
	Volume string
	Packed int64
	// CurrentVolume is the volume that has the current state of the file, null if this is it.
	CurrentVolume string
}

// The kinds of files. Files of other kinds than these two are in whole trees, and have no variables.
const (
	KindArchive = "archive"
	KindClassic = "classic netCDF"
)

// Kinds are all kinds.
var Kinds = []string{KindArchive, KindClassic, "netCDF-4", "compressed", "empty", "other", "link", "hard link"}

// Name returns the path or URL of the file in its own bytes.
func (r *Row) Name() string {
	if r.PathBytes != "" {
		return r.PathBytes
	}
	return r.Path
}

// SetName sets the path of the file.
func (r *Row) SetName(name string) {
	if r.Path = validUTF8(name); r.Path != name {
		r.PathBytes = name
	}
}

// validUTF8 replaces bytes of the name of a file that are not UTF-8.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// compare orders rows: by the path, and in a file by the number of the variable.
func (r *Row) compare(o *Row) int {
	if c := strings.Compare(r.Name(), o.Name()); c != 0 {
		return c
	}
	return int(r.Number) - int(o.Number)
}

// The key of the metadata of Parquet that makes a file a catalogue, and the version of the format. Version 2 has
// added the columns points and kind, version 3 those about volumes.
const (
	formatKey     = "cdfz_catalogue"
	formatVersion = "3"
)

// maxRow bounds the texts of a row in bytes. Builder keeps it, and Reader checks it.
const maxRow = 4 << 20
