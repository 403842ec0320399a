// Package cataloguefile makes and reads catalogues: Parquet files with a row for each variable of each archive
// or classic netCDF file.
//
//	describe.go  a file to rows
//	cover.go     what the coordinates of a variable cover
//	attrs.go     attributes as JSON
//	build.go     rows and parts to a catalogue, in bounded memory
//	write.go     rows to Parquet
//	read.go      Parquet to rows
//	pages.go     the checks before pages are decoded
//	thrift.go    the checks before metadata are decoded
//	query.go     which rows a user looks for
//	date.go      dates of any calendar
//
// parquet-go reads and writes the files. A catalogue may come from anybody, and parquet-go trusts the
// lengths in its pages and metadata: package catalogue checks each first, in pages.go and thrift.go.
package cataloguefile

import "strings"

// Row is a variable of a file, or a file without variables. Zero values of optional columns are null. A
// column never changes its meaning. A later format may add some.
type Row struct {
	// Path is the path or URL as it was given, in UTF-8. PathBytes has the bytes of a name that is not
	// UTF-8.
	Path      string `parquet:"path,dict"`
	PathBytes string `parquet:"path_bytes,optional,bytes,dict"`
	Image     string `parquet:"image,optional,dict"`  // base name of the netCDF file
	SHA256    string `parquet:"sha256,optional,dict"` // of the netCDF file, in hexadecimal digits
	// ImageSize and ArchiveSize are bytes.
	ImageSize   int64 `parquet:"image_size"`
	ArchiveSize int64 `parquet:"archive_size,optional"` // null for classic files
	// Number is the place of the variable in the file, from 0.
	Number     int32    `parquet:"number"`
	Variable   string   `parquet:"variable,optional,dict"` // null for a file without variables
	Type       string   `parquet:"type,optional,dict"`
	Dimensions []string `parquet:"dimensions,list" parquet-element:",dict"`
	Shape      []int64  `parquet:"shape,list"`
	// Record is the name of the record dimension, if the variable has it.
	Record         string   `parquet:"record_dimension,optional,dict"`
	Units          string   `parquet:"units,optional,dict"`
	StandardName   string   `parquet:"standard_name,optional,dict"`
	LongName       string   `parquet:"long_name,optional,dict"`
	Attributes     string   `parquet:"attributes,optional,json,dict"`      // of the variable
	FileAttributes string   `parquet:"file_attributes,optional,json,dict"` // of the file
	Calendar       string   `parquet:"calendar,optional,dict"`
	TimeStart      string   `parquet:"time_start,optional,dict"` // ISO 8601 in the calendar
	TimeEnd        string   `parquet:"time_end,optional,dict"`
	LatMin         *float64 `parquet:"lat_min"` // degrees north
	LatMax         *float64 `parquet:"lat_max"`
	LonMin         *float64 `parquet:"lon_min"` // degrees east; LonMax is not less
	LonMax         *float64 `parquet:"lon_max"`
	LonCircle      bool     `parquet:"lon_circle"`            // the longitudes go all the way round
	Filters        string   `parquet:"filters,optional,dict"` // as -F takes them; null without blocks
	// Proved is when the archive was last proved, in microseconds since 1970.
	Proved int64 `parquet:"proved,optional,timestamp(microsecond)"`
}

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

// validUTF8 replaces bytes that are not UTF-8.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// compare orders rows: by the path, and in a file by the number of the variable.
func (r *Row) compare(o *Row) int {
	if c := strings.Compare(r.Name(), o.Name()); c != 0 {
		return c
	}
	return int(r.Number) - int(o.Number)
}

// The key of the metadata of Parquet that makes a file a catalogue, and the version of the format.
const (
	formatKey     = "cdfz_catalogue"
	formatVersion = "1"
)

// Bounds of a catalogue, which Write keeps and Reader checks. A reader may need a small multiple of them.
const (
	maxText = 1 << 20 // bytes of a text
	maxRow  = 4 << 20 // bytes of all texts of a row
	// maxPage bounds a page in bytes, decompressed, maxValues its values, and maxChunk those of a column in
	// a row group.
	maxPage   = 32 << 20
	maxValues = 1 << 20
	maxChunk  = 1 << 22
	// maxFooter bounds the metadata of Parquet in bytes, maxGroups the row groups.
	maxFooter = 256 << 20
	maxGroups = 1<<15 - 1
)
