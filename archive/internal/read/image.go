package read

import (
	"context"
	"io"
	"iter"
	"slices"
	"sort"

	"github.com/cdfz-format/cdfz/unlimited"
)

// Image returns the image in the archive, read through the cache until ctx is done. Its reads decode
// whole blocks.
func (a *Reader) Image(ctx context.Context) *unlimited.View {
	return a.L.Perm.Image(a.Raw(ctx))
}

// near is the largest distance in bytes between the end of a read of the image and the beginning of
// the next one that still counts as its continuation. Systems read ahead in pieces of about this
// size, not always in order.
const near = 1 << 20

// wideRead is the number of bytes from which on the blocks of a read of the image are decoded
// together, whichever variables they belong to. Shorter reads need one or two blocks each.
const wideRead = 128 << 10

// ReadImage reads the image at off, like the result of Image. A read that does not continue the
// previous one decodes only the parts of blocks that it needs. Long reads decode on several goroutines.
func (a *Reader) ReadImage(ctx context.Context, p []byte, off int64) (int, error) {
	end := a.imageEnd.Swap(off + int64(len(p)))
	r := rawReader{a, off < end-near || off > end+near}
	size := a.L.Image.Size
	if len(p) < wideRead || off < 0 || off >= size {
		return a.L.Perm.Image(r.source(ctx)).ReadAt(p, off)
	}
	have := p[:min(int64(len(p)), size-off)]
	if err := r.readWide(ctx, have, off); err != nil {
		return 0, err
	}
	if len(have) < len(p) {
		return len(have), io.EOF
	}
	return len(have), nil
}

// readWide reads the image bytes [off, off+len(p)).
func (r rawReader) readWide(ctx context.Context, p []byte, off int64) error {
	l := r.a.L
	// The bytes of a segment follow each other in the image as in raw, so that they are one
	// range of raw.
	ranges := make([]rawRange, l.Perm.Segments()+1)
	l.Perm.ImageRuns(off, off+int64(len(p)), func(run unlimited.Run) bool {
		s := &ranges[run.Seg]
		if s.hi == 0 {
			s.lo = run.RawOff
		}
		s.hi = run.RawOff + run.Len
		return true
	})
	ranges = slices.DeleteFunc(ranges, func(s rawRange) bool { return s.hi == 0 })
	return r.a.each(ctx, r.requestsOf(ranges), int64(len(p)), func(q request, d data) error {
		start, n := l.RawAt(q.Block)
		from, to := start+d.off, start+min(n, d.off+int64(len(d.b)))
		i := sort.Search(len(ranges), func(i int) bool { return ranges[i].hi > from })
		for ; i < len(ranges) && ranges[i].lo < to; i++ {
			l.Perm.RawRuns(max(from, ranges[i].lo), min(to, ranges[i].hi), func(run unlimited.Run) bool {
				copy(p[run.ImageOff-off:][:run.Len], d.b[run.RawOff-from:])
				return true
			})
		}
		return nil
	})
}

// rawRange holds the raw bytes [lo, hi).
type rawRange struct{ lo, hi int64 }

// requestsOf calls yield with the blocks of ranges in increasing order, or the parts of them. Each
// block comes once, also one with bytes of several variables.
func (r rawReader) requestsOf(ranges []rawRange) iter.Seq[request] {
	return func(yield func(request) bool) {
		var last request
		any := false
		for _, s := range ranges {
			for q := range r.requests(s.lo, s.hi-s.lo) {
				if any && q.N == last.N {
					last.lo, last.hi = min(last.lo, q.lo), max(last.hi, q.hi)
					continue
				}
				if any && !yield(last) {
					return
				}
				start, n := r.a.L.RawAt(q.Block)
				q.dense = !r.parts && (start < s.lo || start+n > s.hi)
				last, any = q, true
			}
		}
		if any {
			yield(last)
		}
	}
}
