package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/remote"
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
	archive *blocks.Reader // nil for a classic file
	vars    []int          // position of each variable in the plan, or -1 if not blocked
	pooled  []int32        // segment of each pooled variable, else -1; nil without pools
	closer  io.Closer

	byName  func() map[string]int     // numbers of variables
	reasons func() []unlimited.Reason // why variables are not blocked
}

// OpenOptions control Open and New. Nil and the zero value mean the defaults. All
// fields except Name and Remote are for archives.
type OpenOptions struct {
	Name   string // name of the file in errors; empty: the name passed to Open
	Cache  int64  // bytes of decoded blocks kept; 0: DefaultCache, negative: none
	Shared *Cache // a cache shared with other files; nil: a separate cache
	Index  int64  // bytes of index pages kept; 0: 4 MiB
	// Workers is the number of blocks decoded at the same time, however many goroutines
	// read. 0 means GOMAXPROCS. Image.Copy has a separate number.
	Workers int
	// Remote is for URLs.
	Remote *remote.Options
}

func (o *OpenOptions) reader() *blocks.ReadOptions {
	r := &blocks.ReadOptions{Name: o.Name, Cache: o.Cache, Index: o.Index, Workers: o.Workers}
	if o.Shared != nil {
		r.Shared = o.Shared.c
	}
	return r
}

// Cache keeps decoded blocks, bounded in bytes. A File makes its own unless
// OpenOptions.Shared is set. Safe for concurrent use.
type Cache struct{ c *blocks.BlockCache }

// NewCache makes a cache for the given number of bytes of decoded blocks. It may
// briefly exceed that by one block.
func NewCache(bytes int64) (*Cache, error) {
	c, err := blocks.NewCache(bytes)
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

// Open opens an archive or a classic netCDF file by its name or its http or https URL.
// The caller must close it. ctx is only for opening.
//
// For URLs, only the needed ranges are fetched. Opening an archive takes up to three
// requests: its end; manifest and index header; plan and netCDF header. A classic file
// takes two if its header is at most 64 KiB long. See remote.Open for the requests and
// for errors of the source.
func Open(ctx context.Context, name string, opts *OpenOptions) (*File, error) {
	if remote.IsURL(name) {
		return openRemote(ctx, name, opts)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, size, err := openNamed(name)
	if err != nil {
		return nil, err
	}
	o := OpenOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = name
	}
	out, err := newNamed(ctx, f, size, &o)
	if err != nil {
		f.Close()
		return nil, err
	}
	out.closer = f
	return out, nil
}

// openNamed opens a file, which must not be a folder, and returns its size.
func openNamed(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			p.Path = remote.Redact(p.Path) // it may be a URL of another scheme
		}
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("archive: %s: is a folder", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// New opens an archive or a classic netCDF file of size bytes.
//
// Opening an archive takes three reads: the end; manifest and index header, unless the
// end contains them; plan and netCDF header. The ZIP directory is never read.
//
// The error for a file that is neither wraps both ErrNotArchive and cdf3.ErrNotCDF.
// Other errors are ErrVersion, ErrCorrupt, *cdf3.FormatError, and those of r.
func New(r io.ReaderAt, size int64, opts *OpenOptions) (*File, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	return newNamed(context.Background(), r, size, opts)
}

// newNamed is New that can be cancelled.
func newNamed(ctx context.Context, r io.ReaderAt, size int64, opts *OpenOptions) (*File, error) {
	f, err := newFile(ctx, r, size, opts)
	if err != nil {
		return nil, fault.WithName(opts.Name, err)
	}
	return f, nil
}

func newFile(ctx context.Context, r io.ReaderAt, size int64, opts *OpenOptions) (*File, error) {
	if size < 0 {
		return nil, fault.Optionsf("a file of %d bytes", size)
	}
	var f *File
	a, err := blocks.NewReader(ctx, r, size, opts.reader())
	switch {
	case errors.Is(err, ErrNotArchive):
		h, err := readHeader(ctx, r, size)
		if errors.Is(err, cdf3.ErrNotCDF) {
			return nil, &neitherError{err}
		}
		if err != nil {
			return nil, err
		}
		f = wrap(h, &Image{classic: &sized{r, size}}, nil)
	case err != nil:
		return nil, err
	default:
		f = wrap(a.Header, newImage(a), a)
	}
	f.name, f.size = opts.Name, size
	return f, nil
}

// readHeader reads the header of a classic file until ctx is done.
func readHeader(ctx context.Context, r io.ReaderAt, size int64) (*cdf3.Header, error) {
	return cdf3.Read(ioat.Live(ctx, r), size)
}

// wrap makes a File without a name. a is nil for a classic file.
func wrap(h *cdf3.Header, im *Image, a *blocks.Reader) *File {
	f := &File{header: h, image: im, archive: a, vars: make([]int, len(h.Vars))}
	for i := range f.vars {
		f.vars[i] = -1
	}
	if a != nil {
		for pos := range a.L.Vars {
			f.vars[a.L.Vars[pos].Var] = pos
		}
		f.pooled = a.L.Pooled(len(h.Vars))
	}
	f.byName = sync.OnceValue(func() map[string]int {
		m := make(map[string]int, len(f.header.Vars))
		for i := range f.header.Vars {
			if _, ok := m[f.header.Vars[i].Name]; !ok {
				m[f.header.Vars[i].Name] = i
			}
		}
		return m
	})
	f.reasons = sync.OnceValue(func() []unlimited.Reason {
		_, reasons := unlimited.Plan(f.header, f.image.Size())
		return reasons
	})
	return f
}

// neitherError is the error for files that are neither archives nor classic.
type neitherError struct{ error }

func (e *neitherError) Unwrap() []error { return []error{ErrNotArchive, e.error} }

// Close closes the file that Open opened.
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

// Image returns the classic netCDF file, byte for byte.
func (f *File) Image() *Image { return f.image }

// Stats returns the cost of reading so far, or zeros for a classic file.
func (f *File) Stats() Stats {
	if f.archive == nil {
		return Stats{}
	}
	return Stats(f.archive.Stats())
}

// Var returns the first variable of that name, or nil. Reading from nil is an error in
// package slab.
func (f *File) Var(name string) *Var {
	i, ok := f.byName()[name]
	if !ok {
		return nil
	}
	return f.newVar(i)
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
// archives. It is a *Var, which is nil if there is no such variable.
func (f *File) Array(v int) slab.Array {
	if v < 0 || v >= len(f.vars) {
		return (*Var)(nil)
	}
	return f.newVar(v)
}

// IsArchive reports whether a file of size bytes has the head or the tail of a cdfz
// archive, intact or damaged.
func IsArchive(r io.ReaderAt, size int64) (bool, error) {
	head, end, err := blocks.ProbeArchive(r, size)
	return head || end, err
}
