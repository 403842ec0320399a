package ioat

import (
	"context"
	"errors"
	"io"
)

// Section is a part of a file, like io.SectionReader. Its reads can be cancelled if
// those of the file can.
type Section struct {
	r    io.ReaderAt
	span Span
}

var (
	_ io.ReaderAt     = Section{}
	_ ContextReaderAt = Section{}
)

// NewSection returns the bytes [off, off+n) of r. Neither may be negative.
func NewSection(r io.ReaderAt, off, n int64) Section { return Section{r, Span{off, n}} }

// Size returns the length of the section in bytes.
func (s Section) Size() int64 { return s.span.Len }

// Gap returns the Gap of the file.
func (s Section) Gap() int64 { return Gap(s.r) }

// ReadAt implements io.ReaderAt.
func (s Section) ReadAt(p []byte, off int64) (int, error) { return s.readAt(s.r, p, off) }

// ReadAtContext is ReadAt that ends early when ctx is done.
func (s Section) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return s.readAt(Bind(ctx, s.r), p, off)
}

func (s Section) readAt(r io.ReaderAt, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("ioat: negative offset")
	}
	if off >= s.span.Len {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	if left := s.span.Len - off; int64(len(p)) > left {
		n, err := r.ReadAt(p[:left], s.span.Off+off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return r.ReadAt(p, s.span.Off+off)
}
