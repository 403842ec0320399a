package archive

import (
	"context"
	"errors"
	"fmt"
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
