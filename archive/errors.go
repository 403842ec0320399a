package archive

import (
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
)

// The classes of errors. Errors of the source or the sink are wrapped and belong to no
// class. Input that is not a classic netCDF file is cdf3.ErrNotCDF or a
// *cdf3.FormatError.
var (
	// ErrNotArchive reports a file with neither the head nor the tail of a cdfz
	// archive.
	ErrNotArchive = fault.ErrNotArchive
	// ErrVersion reports an archive that needs a newer reader. The text names the
	// feature.
	ErrVersion = fault.ErrVersion
	// ErrCorrupt reports an archive with damaged bytes.
	ErrCorrupt = fault.ErrCorrupt
	// ErrChanged reports a source that changed while being archived, or reads
	// differently each time.
	ErrChanged = fault.ErrChanged
	// ErrOptions reports options that contradict each other or the file.
	ErrOptions = fault.ErrOptions
)

// BlockError reports a damaged block. Use errors.As to find it in an error. It unwraps
// to the cause.
type BlockError struct {
	File      string      // name of the file, "" if unknown
	Block     int64       // global block number
	Var       string      // name of the variable, path of the pool, "" for the rest
	Start     []int64     // first index of the block in each dimension; nil for a pool and for the rest
	Count     []int64     // number of indices of the block in each dimension
	Parts     []BlockPart // for a pool: the variables in the block, if the netCDF header is sound
	RestOff   int64       // for the rest: offset of the block in it
	StoredOff int64       // archive offset of the stored bytes, -1 if unknown
	Err       error
}

// BlockPart is the part of a variable that lies in a block of a pool, as an index range.
type BlockPart = fault.BlockPart

// Error names the block by its content and its place.
func (e *BlockError) Error() string { return (*fault.BlockError)(e).Error() }

// Unwrap returns the cause.
func (e *BlockError) Unwrap() error { return e.Err }

// Internal packages return an internal error type, which errors.As finds as a
// BlockError.
func init() {
	fault.AsPublic = func(e *fault.BlockError, target any) bool {
		p, ok := target.(**BlockError)
		if ok {
			*p = (*BlockError)(e)
		}
		return ok
	}
}

// Version of the program, named in the archives it writes.
const Version = format.Version

// Omitted is an attribute that the Zarr view leaves out.
type Omitted struct {
	Var  int    // number of its variable, or -1 for the file
	Attr string // its name
	Why  string
}
