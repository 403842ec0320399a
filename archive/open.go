package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/unlimited"
)

// OpenOptions control Open and New. Nil and the zero value mean the defaults. All
// fields except Name are for archives.
type OpenOptions struct {
	Name   string // name of the file in errors; empty: the name passed to Open
	Cache  int64  // size in bytes of a separate cache of decoded blocks; 0: 32 MiB, negative: none but that of the netCDF header, up to 64 KiB
	Shared *Cache // the cache to use instead, which other files may use, too; nil: the separate one
	Index  int64  // bytes of index pages kept; 0: 4 MiB
	// Workers is the number of blocks decoded at the same time, however many goroutines
	// read. 0 means GOMAXPROCS. Image.Copy has a separate number.
	Workers int
	// BlockMemory is the number of bytes that decoding a block may need, with its stored and
	// decoded bytes. Reads that need a block beyond it fail with ErrMemory. 0 means any
	// number: few stored bytes can need several GB.
	BlockMemory int64
}

func (o *OpenOptions) reader() *read.Options {
	r := &read.Options{Cache: o.Cache, Workers: o.Workers, Most: o.BlockMemory}
	r.Name, r.Index, r.KeepFirst = o.Name, o.Index, o.Cache < 0
	if o.Shared != nil {
		r.Shared = o.Shared.c
	}
	return r
}

// Open opens an archive or a classic netCDF file by its name or its URL, also as a member of a volume, such as
// vol/0001.tar/1987/tas.nc.cdfz (package volume). The caller must close it. ctx is only for opening. Errors are those
// of [New].
//
// A program that opens http and https URLs imports package remote, one that opens s3 URLs
// imports package remote/s3. For headers, timeouts and other options, call remote.Open, and
// [New] with the result. Only the needed ranges are fetched. Opening an archive takes up to
// three requests: its end; manifest and index header; plan and netCDF header. A classic file
// takes two if its header is at most 64 KiB long. See remote.Open for the requests and for
// errors of the source.
func Open(ctx context.Context, name string, opts *OpenOptions) (*File, error) {
	o := OpenOptions{}
	if opts != nil {
		o = *opts
	}
	if urls.Is(name) {
		if f, err := openRemoteMember(ctx, name, &o); f != nil || err != nil {
			return f, err
		}
		return openRemote(ctx, name, &o)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = name
	}
	f, size, err := openNamed(name)
	if err != nil {
		if f, e := openMember(ctx, name, &o); f != nil || e != nil {
			return f, e
		}
		return nil, err
	}
	out, err := newNamed(ctx, f, size, &o)
	if err != nil {
		f.Close()
		return nil, err
	}
	out.closer = f
	return out, nil
}

var errFolder = errors.New("is a folder")

// openNamed opens a file, which must not be a folder, and returns its size.
func openNamed(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			p.Path = urls.Redact(p.Path) // it may be a URL of another scheme
		}
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("archive: %s: %w", name, errFolder)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// Optional interfaces of the io.ReaderAt that New and Write read. Files of package remote implement
// both.
type (
	// ContextReaderAt is a reader whose reads end early when their context is done.
	ContextReaderAt = ioat.ContextReaderAt
	// DistantReaderAt is a reader with latency, such as an object store or a tape. Reads of it are
	// merged and made ahead.
	DistantReaderAt = ioat.DistantReaderAt
)

// New opens an archive or a classic netCDF file of size bytes. It does not close r, which may be
// the result of remote.Open. r may implement ContextReaderAt and DistantReaderAt. ctx is only for
// opening.
//
// Opening an archive takes three reads: the end; manifest and index header, unless the
// end contains them; plan and netCDF header. The ZIP directory is never read.
//
// The error for a file that is neither wraps both ErrNotArchive and cdf3.ErrNotCDF.
// Other errors are ErrVersion, ErrCorrupt, *cdf3.FormatError, and those of r.
func New(ctx context.Context, r io.ReaderAt, size int64, opts *OpenOptions) (*File, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	if f, ok := r.(urls.File); ok && f.Size() == size {
		return newRemote(ctx, f, opts)
	}
	return newNamed(ctx, r, size, opts)
}

// Source is a classic file that a program makes up, such as many files that are joined to one. The Arrays have
// its values. Its bytes are read only for the image.
type Source interface {
	slab.Source
	io.ReaderAt
	Size() int64
	Stats() Stats // the cost of reading so far
}

// FromSource returns the file of a source. It has no name, and closing it does nothing.
func FromSource(s Source) *File {
	f := wrap(s.Header(), newClassic(s, s.Size()), nil)
	f.size, f.source = s.Size(), s
	return f
}

// newNamed is New for a reader that is no file at a URL.
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
	a, err := read.NewReader(ctx, r, size, opts.reader())
	switch {
	case errors.Is(err, ErrNotArchive):
		h, err := readHeader(ctx, r, size)
		if errors.Is(err, cdf3.ErrNotCDF) {
			return nil, &neitherError{err}
		}
		if err != nil {
			return nil, err
		}
		f = wrap(h, newClassic(r, size), nil)
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
func wrap(h *cdf3.Header, im *Image, a *read.Reader) *File {
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

// frontProbe is the length of the read-ahead in a classic file: the first window of the
// header's parser, which starts after the magic number.
const frontProbe = 68 << 10

// openRemote opens the file at a URL.
func openRemote(ctx context.Context, url string, o *OpenOptions) (*File, error) {
	r, err := urls.Open(ctx, url)
	if err != nil {
		if errors.Is(err, urls.ErrOptions) {
			err = fmt.Errorf("%w: %w", err, ErrOptions)
		}
		return nil, err
	}
	f, err := newRemote(ctx, r, o)
	if err != nil {
		r.Close()
		return nil, err
	}
	f.closer = r
	return f, nil
}

// newRemote opens an archive, or a classic file with its header read ahead.
func newRemote(ctx context.Context, r urls.File, o *OpenOptions) (*File, error) {
	c := *o
	if c.Name == "" {
		c.Name = r.Name()
	}
	err := readAhead(ctx, r)
	var f *File
	if err == nil {
		f, err = newNamed(ctx, r, r.Size(), &c)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("archive: %s: %w", r.Name(), ctx.Err())
	}
	if errors.Is(err, ErrCorrupt) {
		// A mixture of two versions of a file looks like damage.
		if again := r.CheckTail(ctx); errors.Is(again, urls.ErrChanged) {
			err = again
		}
	}
	return f, err
}

// readAhead reads the start of a file that is not an archive.
func readAhead(ctx context.Context, r urls.File) error {
	end := make([]byte, min(czip.TailLen, r.Size()))
	if err := ioat.ReadFull(ioat.Bind(ctx, r), end, r.Size()-int64(len(end))); err != nil {
		return err
	}
	if len(end) == czip.TailLen && string(end[:len(czip.TailMagic)]) == czip.TailMagic {
		return nil
	}
	return r.Preload(ctx, frontProbe)
}
