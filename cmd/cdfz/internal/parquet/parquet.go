// Package parquet writes and reads the part of Parquet that catalogues and references of kerchunk need: columns
// of numbers and texts, pages of version 1 compressed with zstd, dictionaries, and statistics of row groups.
//
//	write.go   rows to a file
//	read.go    a file to rows
//	pages.go   pages to values
//	footer.go  the metadata at the end
//	levels.go  runs of small numbers: levels and indices of dictionaries
//	thrift.go  the encoding of metadata and of headers of pages
//	zstd.go    the compression of pages
//
// A file may come from anybody. Each length, count and offset is checked before memory is allocated for it.
//
// https://parquet.apache.org/docs/file-format/ and parquet.thrift in apache/parquet-format
package parquet

import (
	"errors"
	"fmt"
)

// Kind is what the values of a column are.
type Kind uint8

// The kinds.
const (
	Bool Kind = iota
	Int32
	Int64
	Micros // microseconds since 1970, UTC
	Double
	Bytes
	Text // UTF-8
	JSON
)

// Repetition is how many values a column has in a row.
type Repetition uint8

// The repetitions.
const (
	Required Repetition = iota // one
	Optional                   // one or none
	List                       // any number
)

// Column describes a column.
type Column struct {
	Name string
	Kind Kind
	Repetition
	// Dictionary stores each value once. Only for Bytes, Text and JSON.
	Dictionary bool
	// Unbounded omits the least and the greatest value from the statistics.
	Unbounded bool
}

// Value is a value of a column: Int for numbers and for Bool as 0 or 1, Double for Double, Text for the rest.
type Value struct {
	Int    int64
	Double float64
	Text   string
}

// Bounds of a file that is read. A reader may need a small multiple of them.
const (
	MaxText   = 1 << 20   // bytes of a text
	MaxFooter = 256 << 20 // bytes of the metadata; Writer keeps it, too
	maxPage   = 32 << 20  // bytes of a page, decompressed
	maxValues = 1 << 20   // values of a page, rows of a row group
	maxChunk  = 1 << 22   // values of a column in a row group
	maxGroups = 1<<15 - 1
	maxNested = 16 // structures and lists in each other; Parquet needs eight
	maxList   = 64 // elements of all lists except the row groups: files have fewer columns
)

// ErrDamaged reports a damaged file.
var ErrDamaged = errors.New("damaged")

// NotParquetError reports a file that is not one of Parquet.
type NotParquetError struct{ Found string }

func (e *NotParquetError) Error() string { return "expected a file of Parquet, found " + e.Found }

// damaged is an error of the class ErrDamaged.
type damaged string

func (e damaged) Error() string        { return string(e) }
func (e damaged) Is(target error) bool { return target == ErrDamaged }

func damage(f string, args ...any) error { return damaged(fmt.Sprintf(f, args...)) }

// Numbers of parquet.thrift.
const (
	typeBoolean   = 0
	typeInt32     = 1
	typeInt64     = 2
	typeDouble    = 5
	typeByteArray = 6

	repetitionRequired = 0
	repetitionOptional = 1
	repetitionRepeated = 2

	convertedUTF8   = 0
	convertedList   = 3
	convertedMicros = 10
	convertedJSON   = 19

	logicalString    = 1
	logicalList      = 3
	logicalTimestamp = 8
	logicalJSON      = 12

	encodingPlain         = 0
	encodingRLE           = 3
	encodingRLEDictionary = 8

	codecUncompressed = 0
	codecZstd         = 6

	pageData       = 0
	pageDictionary = 2
)

// magic begins and ends a file.
const magic = "PAR1"

// physical returns the type of parquet.thrift.
func (k Kind) physical() int64 {
	switch k {
	case Bool:
		return typeBoolean
	case Int32:
		return typeInt32
	case Int64, Micros:
		return typeInt64
	case Double:
		return typeDouble
	}
	return typeByteArray
}

// isText reports whether values are texts of any length.
func (k Kind) isText() bool { return k >= Bytes }

// path returns the path of a column in the schema. A list has two levels around its elements.
func (c *Column) path() []string {
	if c.Repetition == List {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}
