package archive

import (
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
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
	// ErrMemory reports a block that is not decoded, because that needs more than
	// OpenOptions.BlockMemory. It may be intact.
	ErrMemory = fault.ErrMemory
	// ErrChanged reports a source that changed while being archived, or reads
	// differently each time.
	ErrChanged = fault.ErrChanged
	// ErrOptions reports options that contradict each other or the file.
	ErrOptions = fault.ErrOptions
	// ErrNoVariable reports a name that no variable of a file has.
	ErrNoVariable = errors.New("no such variable")
)

// BlockError reports a damaged block. Use errors.As to find a *BlockError in an error. It
// unwraps to the cause, Err. File is the name of the file, "" if unknown. Block is the
// global number of the block, and StoredOff the archive offset of its stored bytes, -1 if
// unknown.
//
// Var is the name of the variable, the path of the pool, or "" for the rest. For a variable,
// Start is the first index of the block in each dimension, and Count the number of its
// indices. For a pool, both are nil, and Parts lists the variables in the block if the netCDF
// header is sound. For the rest, RestOff is the offset of the block in it.
type BlockError = fault.BlockError

// BlockPart is the part of a variable that lies in a block of a pool: Var is its name, Start
// and Count are the range of indices.
type BlockPart = fault.BlockPart

// Version of the program, named in the archives it writes.
const Version = plan.Version

// Omitted is an attribute that the Zarr view leaves out.
type Omitted struct {
	Var  int    // number of its variable, or -1 for the file
	Attr string // its name
	Why  string
}
