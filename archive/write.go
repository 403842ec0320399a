package archive

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
)

// Write archives the first size bytes of image to dst, which it only appends to.
// image must not change meanwhile. Write cannot detect such changes. Comparing the
// archive with the image does.
//
// The image is read once, roughly from the first byte to the last. Little is read
// again: the header, some blocks if it is uncertain whether a Zarr view pays off, samples
// of variables under PresetMax, and each record for every further group of variables if
// the blocks of all record variables exceed WriteOptions.Memory.
//
// If the image is not a classic netCDF file, the error wraps cdf3.ErrNotCDF or a
// *cdf3.FormatError, and nothing is written. After any other error dst holds a
// useless part of an archive. Errors of reads and writes are wrapped.
func Write(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, opts *WriteOptions) (*Result, error) {
	return spooled(ctx, dst, opts, func(dst io.Writer) (*Result, error) { return writeArchive(ctx, dst, image, size, opts) })
}

// writeArchive is Write without parity.
func writeArchive(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, opts *WriteOptions) (*Result, error) {
	o, h, image, err := prepare(ctx, image, size, opts)
	if err != nil {
		return nil, err
	}
	return write(ctx, dst, image, size, h, &o)
}

// prepare checks the options and reads the netCDF header. If values are to be rounded, it
// returns the rounded image.
func prepare(ctx context.Context, image io.ReaderAt, size int64, opts *WriteOptions) (WriteOptions, *cdf3.Header, io.ReaderAt, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return o, nil, nil, err
	}
	h, err := readHeader(ctx, image, size)
	if err == nil {
		err = o.checkNames(h)
	}
	if err != nil || len(o.Lossy) == 0 {
		return o, h, image, err
	}
	rounded, err := newRounded(ctx, image, size, h, &o)
	return o, h, rounded, err
}

// write archives an image under complete options.
func write(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*Result, error) {
	if size < plan.SmallImage {
		return writeSmall(ctx, dst, image, size, h, o)
	}
	d, err := chooseDraft(ctx, image, size, h, o)
	if err != nil {
		return nil, err
	}
	return d.write(ctx, dst, image, nil)
}
