package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// SizeReaderAt is an io.ReaderAt that knows its length.
type SizeReaderAt interface {
	io.ReaderAt
	Size() int64
}

// File is a netCDF file to read from: a classic file, or the archive of one.
// Both give the same answers. Safe for concurrent use if its io.ReaderAt is.
type File struct {
	header  *cdf3.Header
	image   SizeReaderAt
	archive *Reader // nil for a classic file
	vars    []int   // for each variable its position in the plan, -1 if not blocked
	closer  io.Closer
}

// OpenFile opens a classic netCDF file or an archive by name. Close it when done.
func OpenFile(name string, opts *ReaderOptions) (*File, error) {
	f, size, err := openNamed(name)
	if err != nil {
		return nil, err
	}
	out, err := NewFile(f, size, opts)
	if err != nil {
		f.Close()
		return nil, err
	}
	out.closer = f
	return out, nil
}

// NewFile opens a classic netCDF file or an archive of size bytes. What is neither
// gives an error that wraps cdf3.ErrNotCDF.
func NewFile(r io.ReaderAt, size int64, opts *ReaderOptions) (*File, error) {
	a, err := NewReader(r, size, opts)
	switch {
	case errors.Is(err, ErrNotArchive):
		h, err := cdf3.Read(r, size)
		if err != nil {
			return nil, err
		}
		return newFile(h, sized{r, size}, nil), nil
	case err != nil:
		return nil, err
	}
	return newFile(a.header, a.Image(), a), nil
}

func newFile(h *cdf3.Header, image SizeReaderAt, a *Reader) *File {
	f := &File{header: h, image: image, archive: a, vars: make([]int, len(h.Vars))}
	for i := range f.vars {
		f.vars[i] = -1
	}
	if a != nil {
		for pos := range a.l.Vars {
			f.vars[a.l.Vars[pos].Var] = pos
		}
	}
	return f
}

// Close closes the file that OpenFile opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Header is the netCDF header, which the caller must not change.
func (f *File) Header() *cdf3.Header { return f.header }

// Image is the classic netCDF file, byte for byte.
func (f *File) Image() SizeReaderAt { return f.image }

// Archive is the archive behind the file, nil if it is a classic file.
func (f *File) Archive() *Reader { return f.archive }

// Array is the values of variable number v of the header. Values beyond the end
// of the image are zero, as netCDF-C reads them.
func (f *File) Array(v int) slab.Array {
	w := &f.header.Vars[v]
	a := slab.Array{Shape: w.Shape, Type: slab.Type(w.Type)}
	if pos := f.vars[v]; pos >= 0 {
		a.ReaderAt = newBlockedVar(f.archive, pos)
		return a
	}
	r := varReader{r: f.image, size: f.image.Size(), begin: w.Begin, run: w.RecLen, stride: f.header.RecSize, n: w.Len}
	if !w.Record {
		r.stride = 0
	}
	if i, ok := f.image.(sized); ok {
		if gap := ioat.Gap(i.r); gap > 0 {
			a.ReaderAt = newFarVar(r, w.Shape, a.Type.Size(), gap)
			return a
		}
	}
	a.ReaderAt = &r
	return a
}

// sized is a classic file, whose reads are cut to its size.
type sized struct {
	r    io.ReaderAt
	size int64
}

func (s sized) Size() int64 { return s.size }

// ReadAt implements io.ReaderAt.
func (s sized) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.r, 0, s.size).ReadAt(p, off)
}

// ReadAtContext is ReadAt until ctx is done, if the reader can.
func (s sized) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return sized{ioat.Bind(ctx, s.r), s.size}.ReadAt(p, off)
}

// varReader reads the values of a variable where they lie in an image.
type varReader struct {
	r           io.ReaderAt
	size        int64 // of the image
	begin       int64
	run, stride int64 // bytes of a record, and from one to the next
	n           int64 // bytes of all values
}

// ReadAt implements io.ReaderAt.
func (v *varReader) ReadAt(p []byte, off int64) (int, error) {
	return v.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt until ctx is done.
func (v *varReader) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	done := 0
	for done < len(p) && off < v.n {
		rec, in := off/v.run, off%v.run
		k := int(min(int64(len(p)-done), v.run-in))
		if err := v.readRun(ctx, p[done:done+k], v.begin+rec*v.stride+in); err != nil {
			return done, err
		}
		done += k
		off += int64(k)
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// readRun reads image bytes, zeros beyond the end.
func (v *varReader) readRun(ctx context.Context, p []byte, off int64) error {
	have := max(0, min(int64(len(p)), v.size-off))
	clear(p[have:])
	if have == 0 {
		return nil
	}
	if n, err := ioat.Bind(ctx, v.r).ReadAt(p[:have], off); int64(n) < have {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("archive: reading the image: %w", err)
	}
	return nil
}
