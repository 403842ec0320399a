package archive

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// sized is a classic file. It cuts reads to the file's size.
type sized struct {
	r    io.ReaderAt
	size int64
}

func (s sized) Size() int64 { return s.size }

// ReadAt implements io.ReaderAt.
func (s sized) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.r, 0, s.size).ReadAt(p, off)
}

// ReadAtContext is ReadAt that ends early when ctx is done, if the reader supports it.
func (s sized) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return sized{ioat.Bind(ctx, s.r), s.size}.ReadAt(p, off)
}
