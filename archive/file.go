package archive

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/unlimited"
)

// File is a netCDF file open for reading: a classic file or an archive. Both behave the
// same. A File is safe for concurrent use if its io.ReaderAt is.
type File struct {
	name    string
	size    int64
	header  *cdf3.Header
	image   *Image
	archive *read.Reader // nil for a classic file
	source  Source       // nil unless the file is that of one
	vars    []int        // position of each variable in the plan, or -1 if not blocked
	pooled  []int32      // segment of each pooled variable, else -1; nil without pools
	closer  io.Closer

	byName  func() map[string]int     // numbers of variables
	reasons func() []unlimited.Reason // why variables are not blocked
}

// Cache keeps decoded blocks, bounded in bytes, for the files that have it as OpenOptions.Shared.
// Other files have a cache each, of OpenOptions.Cache bytes. Safe for concurrent use.
type Cache struct{ c *read.BlockCache }

// NewCache makes a cache for the given number of bytes of decoded blocks. It may
// briefly exceed that by one block.
func NewCache(bytes int64) (*Cache, error) {
	c, err := read.NewCache(bytes)
	if err != nil {
		return nil, err
	}
	return &Cache{c}, nil
}

// Stats counts the cost of reading since a File was opened.
type Stats struct {
	Blocks int64         // decoded
	Hits   int64         // blocks that were in the cache
	Reads  int64         // reads of stored blocks
	Bytes  int64         // bytes of these reads
	Decode time.Duration // time for decoding, sum of all goroutines
}

// Close closes the file that Open opened. Reads that still need it fail. After New it does
// nothing.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Name returns the name passed to Open, for URLs without user, password and query, or
// the Name of the options passed to New.
func (f *File) Name() string { return f.name }

// Size returns the length in bytes of the opened file: for an archive that of the
// archive, not of the image.
func (f *File) Size() int64 { return f.size }

// Header returns the netCDF header, which callers must not change.
func (f *File) Header() *cdf3.Header { return f.header }

// Attr returns the first attribute of the file of that name, or nil. Callers must not change it.
func (f *File) Attr(name string) *cdf3.Attr { return f.header.Attr(name) }

// Image returns the classic netCDF file, byte for byte.
func (f *File) Image() *Image { return f.image }

// Stats returns the cost of reading so far, or zeros for a classic file. For the file of a Source it returns the
// Stats of that.
func (f *File) Stats() Stats {
	switch {
	case f.source != nil:
		return f.source.Stats()
	case f.archive == nil:
		return Stats{}
	}
	return Stats(f.archive.Stats())
}

// Var returns the first variable of that name, or ErrNoVariable.
func (f *File) Var(name string) (*Var, error) {
	i, ok := f.byName()[name]
	if !ok {
		return nil, fmt.Errorf("archive: variable %q: %w", name, ErrNoVariable)
	}
	return f.newVar(i), nil
}

// Vars walks the variables in the order of the header, with their numbers.
func (f *File) Vars() iter.Seq2[int, *Var] {
	return func(yield func(int, *Var) bool) {
		for i := range f.header.Vars {
			if !yield(i, f.newVar(i)) {
				return
			}
		}
	}
}

// Array returns variable number v of the header, for packages that do not know
// archives. It is a *Var, or nil if there is no such variable.
func (f *File) Array(v int) slab.Array {
	if v < 0 || v >= len(f.vars) {
		return nil
	}
	return f.newVar(v)
}

// CheckStored compares the plan, the Zarr metadata, the netCDF header, second copies
// and the whole index of an archive with their checksums, and with blocks also the stored bytes of
// every block. It decodes nothing: verify.Verify checks everything. Errors are ErrCorrupt and those
// of the source. For a classic file it does nothing.
func (f *File) CheckStored(ctx context.Context, blocks bool) error {
	if f.archive == nil {
		return nil
	}
	return f.archive.CheckStored(ctx, blocks)
}

// IsArchive reports whether a file of size bytes has the head or the tail of a cdfz
// archive, intact or damaged.
func IsArchive(r io.ReaderAt, size int64) (bool, error) {
	head, end, err := opening.ProbeArchive(r, size)
	return head || end, err
}
