package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Image is the original netCDF file: an io.ReaderAt with a size. It is safe for
// concurrent use. Copy and WriteTo are the fast ways to read all of it.
type Image struct {
	classic *ioat.Source // nil for an archive
	size    int64        // of a classic file
	a       *read.Reader
}

var (
	_ io.ReaderAt = (*Image)(nil)
	_ io.WriterTo = (*Image)(nil)
)

// newImage returns the image in an archive.
func newImage(a *read.Reader) *Image { return &Image{a: a} }

// newClassic returns a classic file of size bytes as an image.
func newClassic(r io.ReaderAt, size int64) *Image {
	return &Image{classic: ioat.Of(r).Section(0, size), size: size}
}

// Size returns the length of the image in bytes.
func (im *Image) Size() int64 {
	if im.classic != nil {
		return im.size
	}
	return im.a.L.Image.Size
}

// ReadAt implements io.ReaderAt. For archives it uses the block cache. A read that begins far from
// the end of the one before decodes only parts of blocks, where their filters can do that. A read
// of 128 KiB or more decodes its blocks on several goroutines, in all reads of a File together at
// most OpenOptions.Workers blocks at a time.
func (im *Image) ReadAt(p []byte, off int64) (int, error) {
	return im.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that ends early when ctx is done.
func (im *Image) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, fmt.Errorf("archive: expected an offset of at least 0, found %d", off)
	case im.classic != nil:
		return im.classic.ReadAtContext(ctx, p, off)
	}
	return im.a.ReadImage(ctx, p, off)
}

// gap returns the distance in bytes above which two reads of a classic file are faster
// than one, or 0 if its reads have no latency.
func (im *Image) gap() int64 {
	if im.classic == nil {
		return 0
	}
	return im.classic.Gap()
}

// CopyOptions control Image.Copy. Nil and the zero value mean the defaults.
type CopyOptions struct {
	Workers int   // goroutines that decode; 0: GOMAXPROCS
	Memory  int64 // bytes of blocks of record variables and pools held at once; 0: DefaultMemory
	// Progress, if not nil, is called with the number of image bytes done so far, from
	// one goroutine at a time.
	Progress func(done int64)
	// SHA256 makes Copy compare the SHA-256 of the image in any case. Without it, the SHA-256 is
	// compared only in archives without a sum of pieces: those of images shorter than 8 MiB.
	SHA256 bool
}

// Copy writes the whole image to w, in order. The image of an archive is decoded on several
// goroutines, and its sum is compared with the one in the archive: the sum of its pieces, which
// the same goroutines compute (docs/FORMAT.md, "The sum of pieces"), or the SHA-256. A
// difference is ErrCorrupt. With a nil w, Copy only checks.
//
// Remote archives are read ahead in requests of up to 4 MiB. Two batches of 16 MiB
// are in memory, in addition to the memory for decoding.
//
// The blocks of all record variables are needed at the same time, and those of variables that
// share blocks. If they exceed the memory, the image is assembled in several passes over a temporary file.
func (im *Image) Copy(ctx context.Context, w io.Writer, o *CopyOptions) error {
	if im.classic == nil {
		return image.Copy(ctx, im.a, w, (*image.CopyOptions)(o))
	}
	if w == nil {
		w = io.Discard
	}
	size := im.Size()
	from, end := image.Sequential(ctx, im.classic, size)
	defer end()
	buf := make([]byte, min(copyChunk, size))
	for off := int64(0); off < size; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(int64(len(buf)), size-off)]
		if err := ioat.ReadFull(from, b, off); err != nil {
			return fmt.Errorf("archive: reading the image: %w", err)
		}
		if err := fault.WriteFull(w, b); err != nil {
			return err
		}
		if o != nil && o.Progress != nil {
			o.Progress(off + int64(len(b)))
		}
	}
	return nil
}

// copyChunk is the number of bytes of a classic file copied at once.
const copyChunk = 1 << 20

// WriteTo writes the whole image to w; see Copy.
func (im *Image) WriteTo(w io.Writer) (int64, error) {
	c := &countWriter{w: w}
	err := im.Copy(context.Background(), c, nil)
	return c.n, err
}

type countWriter struct {
	w io.Writer
	n int64
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
