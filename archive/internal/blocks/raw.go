package blocks

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Image returns the image in the archive, read through the cache until ctx is done.
func (a *Reader) Image(ctx context.Context) *unlimited.View {
	return a.L.Perm.Image(ioat.Bind(ctx, rawReader{a}))
}

// rawReader reads raw: the blocks of an archive in the order of their numbers.
type rawReader struct{ a *Reader }

// ReadAt implements io.ReaderAt.
func (r rawReader) ReadAt(p []byte, off int64) (int, error) {
	return r.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that ends early when ctx is done.
func (r rawReader) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	l := r.a.L
	have := max(0, min(int64(len(p)), l.Image.Size-off))
	var short error
	if have < int64(len(p)) {
		short = io.EOF
	}
	if have == 0 {
		return 0, short
	}
	p = p[:have]
	if block, in, left := l.FindRaw(off); have <= left {
		// Most reads of an image are short runs of a record.
		if data, ok := r.a.peek(whole(block)); ok {
			return copy(p, data.b[in-data.off:]), short
		}
	}
	use := func(q need, data blockData) error {
		start, n := l.RawAt(q.Block)
		lo := max(start+data.off, off)
		hi := min(start+min(n, data.off+int64(len(data.b))), off+have)
		copy(p[lo-off:hi-off], data.b[lo-start-data.off:])
		return nil
	}
	if err := r.a.eachNeed(ctx, r.a.rawNeeds(off, have), have, use); err != nil {
		return 0, err
	}
	return int(have), short
}

// rawNeeds calls yield with the blocks of the raw bytes [off, off+n). The blocks are
// whole, since most readers of the image go on to read their other bytes.
func (a *Reader) rawNeeds(off, n int64) iter.Seq[need] {
	return func(yield func(need) bool) {
		for end := off + n; off < end; {
			block, _, left := a.L.FindRaw(off)
			k := min(left, end-off)
			if !yield(whole(block)) {
				return
			}
			off += k
		}
	}
}
