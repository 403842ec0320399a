package unlimited

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Values reads the values of a variable from their places in an image, with records
// joined. Values beyond the end of the image are zeros, as in netCDF-C. The segment
// need not be part of a layout. Values is safe for concurrent use if the image is.
type Values struct {
	Segment
	image *ioat.Source
	size  int64
}

// NewValues returns the values of a segment in an image of size bytes.
func NewValues(s Segment, image io.ReaderAt, size int64) *Values {
	return &Values{s, ioat.Of(image), size}
}

// Held implements slab.Held.
func (v *Values) Held() int64 { return v.size }

// ReadAt implements io.ReaderAt.
func (v *Values) ReadAt(p []byte, off int64) (int, error) {
	return v.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that ends early when ctx is done.
func (v *Values) ReadAtContext(ctx context.Context, p []byte, off int64) (done int, err error) {
	if off < 0 {
		return 0, errors.New("unlimited: negative offset")
	}
	end := min(off+int64(len(p)), v.Size())
	v.Runs(off, end, func(at, n int64) bool {
		if err = v.ReadImage(ctx, p[done:][:n], at); err == nil {
			done += int(n)
		}
		return err == nil
	})
	if err == nil && done < len(p) {
		err = io.EOF
	}
	return done, err
}

// ReadImage reads bytes of the image, and zeros beyond its end.
func (v *Values) ReadImage(ctx context.Context, p []byte, off int64) error {
	have := max(0, min(int64(len(p)), v.size-off))
	clear(p[have:])
	if have == 0 {
		return nil
	}
	if n, err := v.image.ReadAtContext(ctx, p[:have], off); int64(n) < have {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading the image: %w", err)
	}
	return nil
}
