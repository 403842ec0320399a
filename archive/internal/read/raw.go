package read

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Raw returns raw, read through the cache until ctx is done. Its reads decode whole blocks.
func (a *Reader) Raw(ctx context.Context) *ioat.Source { return rawReader{a: a}.source(ctx) }

// rawReader reads raw: the blocks of an archive in the order of their numbers.
type rawReader struct {
	a     *Reader
	parts bool // parts of blocks are decoded where that is possible
}

func (r rawReader) source(ctx context.Context) *ioat.Source { return ioat.Func(ctx, r.read) }

func (r rawReader) read(ctx context.Context, p []byte, off int64) (int, error) {
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
		if d, ok := r.a.cache.hit(whole(block)); ok {
			return copy(p, d.b[in:]), short
		}
	}
	use := func(q request, d data) error {
		start, n := l.RawAt(q.Block)
		lo := max(start+d.off, off)
		hi := min(start+min(n, d.off+int64(len(d.b))), off+have)
		copy(p[lo-off:hi-off], d.b[lo-start-d.off:])
		return nil
	}
	if err := r.a.each(ctx, r.requests(off, have), have, use); err != nil {
		return 0, err
	}
	return int(have), short
}

// requests calls yield with the blocks of the raw bytes [off, off+n), or the parts of them.
func (r rawReader) requests(off, n int64) iter.Seq[request] {
	return func(yield func(request) bool) {
		for end := off + n; off < end; {
			block, in, left := r.a.L.FindRaw(off)
			k := min(left, end-off)
			q := whole(block)
			if r.parts && block.Var >= 0 && block.Var < len(r.a.L.Geoms) {
				q = r.a.partOf(block.Var, block.B, in, in+k)
			}
			if !yield(q) {
				return
			}
			off += k
		}
	}
}
