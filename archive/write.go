package archive

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/format"
)

// Write archives the first size bytes of image to dst, which it only appends to.
// image must not change meanwhile. Write cannot detect such changes. Comparing the
// archive with the image does.
//
// The image is read once, roughly from the first byte to the last. Little is read
// again: the header, some blocks if it is uncertain whether a Zarr view pays off, and
// each record for every further group of variables if the blocks of all record
// variables exceed WriteOptions.Memory.
//
// If the image is not a classic netCDF file, the error wraps cdf3.ErrNotCDF or a
// *cdf3.FormatError, and nothing is written. After any other error dst holds a
// useless part of an archive. Errors of reads and writes are wrapped.
func Write(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, opts *WriteOptions) (*Result, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h, err := readHeader(ctx, image, size)
	if err != nil {
		return nil, err
	}
	if err := o.checkFilters(h); err != nil {
		return nil, err
	}
	if size < format.SmallImage {
		return writeSmall(ctx, dst, image, size, h, &o)
	}
	d, err := chooseDraft(ctx, image, size, h, &o)
	if err != nil {
		return nil, err
	}
	return d.write(ctx, dst, image, nil)
}
