package joined

import (
	"context"
	"fmt"
	"io"
	"sort"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// image is the joined file as a source of package archive. Its bytes are the header of the first member with
// the joined length, and the values. Padding is zero. It is safe for concurrent use.
type image struct {
	d      *Dataset
	size   int64
	header []byte
	fixed  []extent // those of variables without records, in order
	record []extent // those of a record, in order; off counts from the first record
	begin  int64    // offset of the first record
}

var (
	_ ioat.ContextReaderAt = (*image)(nil)
	_ archive.Source       = (*image)(nil)
)

// extent is the place of the values of a variable: n bytes from off on.
type extent struct {
	v      int
	off, n int64
}

func newImage(d *Dataset) (*image, error) {
	h := d.header
	im := &image{d: d}
	var err error
	if im.header, err = h.Append(nil); err != nil {
		return nil, err
	}
	end := int64(len(im.header))
	for i := range h.Vars {
		v := &h.Vars[i]
		if !v.Record {
			im.fixed = append(im.fixed, extent{i, v.Begin, v.RecLen})
			end = max(end, v.Begin+(v.RecLen+3)&^3)
		}
	}
	im.size, im.begin = end, end
	for i := range h.Vars {
		if v := &h.Vars[i]; v.Record {
			if len(im.record) == 0 {
				im.begin = v.Begin
			}
			im.record = append(im.record, extent{i, v.Begin - im.begin, v.RecLen})
		}
	}
	if len(im.record) > 0 {
		im.size = im.begin + h.NumRecs*h.RecSize
	}
	return im, nil
}

// Size returns the length in bytes.
func (im *image) Size() int64 { return im.size }

// Header implements slab.Source.
func (im *image) Header() *cdf3.Header { return im.d.header }

// Array implements slab.Source.
func (im *image) Array(v int) slab.Array { return im.d.array(v) }

// Stats returns the cost of reading members so far.
func (im *image) Stats() archive.Stats { return im.d.members.stats() }

// ReadAt implements io.ReaderAt.
func (im *image) ReadAt(p []byte, off int64) (int, error) {
	return im.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that ends early when ctx is done.
func (im *image) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("joined: expected an offset of at least 0, found %d", off)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= im.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), im.size-off)
	part := p[:n]
	clear(part)
	if off < int64(len(im.header)) {
		copy(part, im.header[off:])
	}
	if err := im.readFixed(ctx, part, off); err != nil {
		return 0, err
	}
	if err := im.readRecords(ctx, part, off); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// readFixed reads the values of variables without records into p, the bytes from off on.
func (im *image) readFixed(ctx context.Context, p []byte, off int64) error {
	end := off + int64(len(p))
	first := sort.Search(len(im.fixed), func(i int) bool { return im.fixed[i].off+im.fixed[i].n > off })
	for _, e := range im.fixed[first:] {
		if e.off >= end {
			break
		}
		lo, hi := max(e.off, off), min(e.off+e.n, end)
		if lo >= hi {
			continue
		}
		if err := im.values(ctx, e.v, p[lo-off:hi-off], lo-e.off); err != nil {
			return err
		}
	}
	return nil
}

// readRecords reads the values of records into p, the bytes from off on. The values of a variable are
// read at once and then distributed.
func (im *image) readRecords(ctx context.Context, p []byte, off int64) error {
	size := im.d.header.RecSize
	if size == 0 {
		return nil
	}
	from, end := max(off-im.begin, 0), off+int64(len(p))-im.begin // within the records
	if end <= from {
		return nil
	}
	var buf []byte
	for _, e := range im.record {
		if e.n == 0 {
			continue
		}
		at := func(x int64) int64 { return x/size*e.n + min(max(x%size-e.off, 0), e.n) }
		lo, hi := at(from), at(end)
		if lo >= hi {
			continue
		}
		place := func(value int64) int64 { return im.begin - off + value/e.n*size + e.off + value%e.n }
		if (hi-1)/e.n == lo/e.n {
			if err := im.values(ctx, e.v, p[place(lo):place(hi-1)+1], lo); err != nil {
				return err
			}
			continue
		}
		if int64(cap(buf)) < hi-lo {
			buf = make([]byte, hi-lo)
		}
		if err := im.values(ctx, e.v, buf[:hi-lo], lo); err != nil {
			return err
		}
		for b, x := buf[:hi-lo], lo; len(b) > 0; {
			k := copy(p[place(x):], b[:min(int64(len(b)), e.n-x%e.n)])
			b, x = b[k:], x+int64(k)
		}
	}
	return nil
}

// values reads bytes of the values of a variable.
func (im *image) values(ctx context.Context, v int, p []byte, off int64) error {
	if err := ioat.ReadFull(ioat.Bind(ctx, im.d.array(v).Values()), p, off); err != nil {
		return fmt.Errorf("joined: variable %q: %w", im.d.header.Vars[v].Name, err)
	}
	return nil
}
