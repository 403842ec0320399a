package parity

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Copy copies the first size bytes of a damaged archive, to be healed in the copy. Sectors
// that the disk refuses to read become zeros. Other errors of the source are errors.
func Copy(ctx context.Context, w io.WriterAt, r io.ReaderAt, size int64) error {
	r = ioat.Bind(ctx, r)
	buf := make([]byte, min(size, searchWindow))
	for off := int64(0); off < size; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(int64(len(buf)), size-off)]
		if err := readHard(r, b, off, func(int64, int64) {}); err != nil {
			return err
		}
		if err := write(w, b, off); err != nil {
			return err
		}
	}
	return nil
}
