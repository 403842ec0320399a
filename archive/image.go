package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Image is the original netCDF file: an io.ReaderAt with a size. Safe for concurrent
// use. Copy and WriteTo are the fast ways to read all of it.
type Image struct {
	classic *sized // nil: of an archive
	a       *reader
	view    *unlimited.View
}

var (
	_ io.ReaderAt = (*Image)(nil)
	_ io.WriterTo = (*Image)(nil)
)

// Image returns the image that the archive holds.
func (a *reader) Image() *Image { return &Image{a: a, view: a.l.perm.Image(rawReader{a})} }

// Size is the length of the image in bytes.
func (im *Image) Size() int64 {
	if im.classic != nil {
		return im.classic.size
	}
	return im.a.l.Image.Size
}

// ReadAt implements io.ReaderAt, for archives through the block cache.
func (im *Image) ReadAt(p []byte, off int64) (int, error) {
	if im.classic != nil {
		return im.classic.ReadAt(p, off)
	}
	return im.view.ReadAt(p, off)
}

// ReadAtContext is ReadAt until ctx is done.
func (im *Image) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if im.classic != nil {
		return im.classic.ReadAtContext(ctx, p, off)
	}
	return im.a.l.perm.Image(ioat.Bind(ctx, rawReader{im.a})).ReadAt(p, off)
}

// gap is the distance from which on two reads of a classic file pay, 0 if its reads
// have no latency.
func (im *Image) gap() int64 {
	if im.classic == nil {
		return 0
	}
	return ioat.Gap(im.classic.r)
}

// Copy writes the whole image to w, in order. The image of an archive is decoded on
// several goroutines, and its SHA-256 compared with the one in the archive: if it
// differs, that is ErrCorrupt. A nil w only checks.
//
// Remote archives are read ahead, in requests of up to 4 MiB; two batches of 16 MiB
// are in memory besides what decoding takes.
//
// The blocks of all record variables are needed at the same time. If they exceed
// the memory, the image is put together in several passes over a temporary file.
func (im *Image) Copy(ctx context.Context, w io.Writer, o *CopyOptions) error {
	if im.classic == nil {
		return im.a.Copy(ctx, w, o)
	}
	if w == nil {
		w = io.Discard
	}
	size := im.Size()
	from, end := walked(ctx, im.classic.r, size)
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
		if err := writeFull(w, b); err != nil {
			return err
		}
		if o != nil && o.Progress != nil {
			o.Progress(off + int64(len(b)))
		}
	}
	return nil
}

// copyChunk is how much of a classic file is copied at once.
const copyChunk = 1 << 20

// writeFull writes all of p: a Writer that takes less without an error is at fault.
func writeFull(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("archive: writing: %w", err)
	}
	return nil
}

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

// rawReader is raw, the blocks of an archive in the order of their numbers.
type rawReader struct{ a *reader }

// ReadAt implements io.ReaderAt.
func (r rawReader) ReadAt(p []byte, off int64) (int, error) {
	return r.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt until ctx is done.
func (r rawReader) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	l := r.a.l
	have := max(0, min(int64(len(p)), l.Image.Size-off))
	var short error
	if have < int64(len(p)) {
		short = io.EOF
	}
	if have == 0 {
		return 0, short
	}
	p = p[:have]
	if block, in, left := l.findRaw(off); have <= left {
		// Most reads of an image are short runs of a record.
		v, b := l.locate(block)
		if data, ok := r.a.peek(r.a.needOf(v, b)); ok {
			return copy(p, data.b[in-data.off:]), short
		}
	}
	use := func(q need, data blockData) error {
		start, n := l.rawAt(q.n)
		lo := max(start+data.off, off)
		hi := min(start+min(n, data.off+int64(len(data.b))), off+have)
		copy(p[lo-off:hi-off], data.b[lo-start-data.off:])
		return nil
	}
	if err := r.a.eachNeed(ctx, l.rawNeeds(r.a, off, have), use); err != nil {
		return 0, err
	}
	return int(have), short
}

// rawNeeds calls yield with what the raw bytes [off, off+n) need of each block.
func (l *layout) rawNeeds(a *reader, off, n int64) iter.Seq[need] {
	return func(yield func(need) bool) {
		for end := off + n; off < end; {
			block, _, left := l.findRaw(off)
			k := min(left, end-off)
			v, b := l.locate(block)
			if !yield(a.needOf(v, b)) {
				return
			}
			off += k
		}
	}
}

// rawAt is the place of a block in raw and its length there, without padding.
func (l *layout) rawAt(block int64) (off, n int64) {
	v, b := l.locate(block)
	if v < 0 {
		off, n = l.restAt(b)
		return l.perm.RawOff(len(l.vars)) + off, n
	}
	off, n = l.vars[v].at(b)
	return l.vars[v].rawOff + off, n
}

// findRaw returns the block that holds raw byte off, the place of the byte in
// it, and how many bytes of raw follow there, itself included.
func (l *layout) findRaw(off int64) (block, in, left int64) {
	v := l.segmentOf(off)
	if v == len(l.vars) {
		b, in, n := l.findRest(off - l.perm.RawOff(v))
		return l.restFirst + b, in, n - in
	}
	g := l.vars[v]
	b, in := g.find(off - g.rawOff)
	_, n := g.at(b)
	return g.first + b, in, n - in
}

// findRest returns the block of the rest that holds its byte off, the place of
// the byte in it, and the block's length.
func (l *layout) findRest(off int64) (b, in, n int64) {
	if off < l.Rest.First {
		return 0, off, l.Rest.First
	}
	b = 1 + (off-l.Rest.First)/l.Rest.Block
	start, n := l.restAt(b)
	return b, off - start, n
}

// segmentOf returns the variable that holds raw byte off, or the number of
// variables for the rest.
func (l *layout) segmentOf(off int64) int {
	lo, hi := 0, len(l.vars)
	for lo < hi {
		mid := (lo + hi) / 2
		if l.perm.RawOff(mid+1) > off {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
