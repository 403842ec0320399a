package archive

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/layout"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
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
	return writeImage(ctx, dst, image, size, h, &o)
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

// writeImage archives an image under complete options.
func writeImage(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*Result, error) {
	w := &write.Options{Name: o.Name, Loss: o.loss, Workers: o.Workers, Progress: o.Progress}
	if size < plan.SmallImage {
		res, d, err := layout.Small(ctx, dst, image, size, h, o.layout(), w)
		return resultOf(res, d, w, err)
	}
	d, err := layout.Choose(ctx, image, size, h, o.layout())
	if err != nil {
		return nil, err
	}
	res, err := d.Image(ctx, dst, image, nil, w)
	return resultOf(res, d, w, err)
}

// Result describes a written archive.
type Result struct {
	Size   int64  // of the archive, in bytes
	Layout string // as in [Info]
	View   bool   // whether the archive is also a Zarr store
	Blocks int64
	Parity int64  // bytes of Size that parity takes
	Copied int64  // blocks whose stored bytes [Rewrite] copied
	SHA256 string // of the image, in hexadecimal digits
	Loss   *Loss  // values that were rounded; nil: none

	again bool // parts of the image were read again after they had been hashed
}

// resultOf describes an archive that was written from a draft.
func resultOf(res *write.Result, d *write.Draft, w *write.Options, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	l := d.Plan
	return &Result{Size: res.Size, Layout: string(l.Layout()), View: l.Zarr.HasView(), Blocks: l.Blocks, SHA256: res.SHA256, Loss: lossOf(w.Loss), again: res.Again}, nil
}
