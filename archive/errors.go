package archive

import (
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
)

// The classes of errors. Errors of the source or the sink are wrapped as they came and
// belong to none of them. Input that is not a classic netCDF file gives cdf3.ErrNotCDF
// or *cdf3.FormatError.
var (
	// ErrNotArchive: neither the head nor the tail of a cdfz archive.
	ErrNotArchive = fault.ErrNotArchive
	// ErrVersion: an archive that needs a newer reader; the text names what.
	ErrVersion = fault.ErrVersion
	// ErrCorrupt: an archive whose bytes are damaged.
	ErrCorrupt = fault.ErrCorrupt
	// ErrChanged: the source changed while it was archived, or reads differently
	// each time.
	ErrChanged = fault.ErrChanged
	// ErrOptions: options that contradict each other or the file.
	ErrOptions = fault.ErrOptions
)

// BlockError names a damaged block by file, variable, index range and place, all in
// exported fields. It unwraps to the cause.
type BlockError = fault.BlockError

// Version of the program, named in the archives it writes.
const Version = format.Version

// Layout names what an archive keeps of a file in entries of its own.
type Layout = format.Layout

// The layouts of docs/FORMAT.md, "layout".
const (
	Viewed = format.Viewed // every blocked variable, and Zarr metadata
	Pooled = format.Pooled // no Zarr metadata, small variables in the rest
	Single = format.Single // the image as one block
)

// Omitted is an attribute that the Zarr view leaves out: the number of its variable,
// -1 for the file, its name, and the reason.
type Omitted = format.Omitted
