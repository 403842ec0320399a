package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/internal/future"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// aheadChunks is the number of chunks that a sequential reader fetches ahead or holds. The
// previous chunk comes on top.
const aheadChunks = 4

// sequential reads a remote file from its first byte to its last in chunks of AheadRun
// bytes, and fetches the next chunks ahead. At most aheadChunks+1 of them are in
// memory. It is for one goroutine and must be closed.
type sequential struct {
	r      *ioat.Source
	size   int64
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	chunks []*chunk // of increasing places, without gaps
	last   int64    // offset of the last chunk read
}

type chunk struct {
	off int64
	buf *future.Future[[]byte]
}

// newSequential sends no request before the first read.
func newSequential(ctx context.Context, r *ioat.Source, size int64) *sequential {
	s := &sequential{r: r, size: size, last: -AheadRun}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Sequential returns a reader for reading a file from its first byte to its last: r, or one that
// reads ahead if the reads of r have a latency. The caller must call end after the last read.
func Sequential(ctx context.Context, r io.ReaderAt, size int64) (from *ioat.Source, end func()) {
	src := ioat.Of(r)
	if src.Gap() == 0 {
		return src, func() {}
	}
	s := newSequential(ctx, src, size)
	return s.source(), s.close
}

// source returns the reader: for reads under Reread the file itself, which gives bytes again that were wrong.
func (s *sequential) source() *ioat.Source {
	return ioat.Func(s.ctx, func(ctx context.Context, p []byte, off int64) (int, error) {
		if ioat.IsReread(ctx) {
			return s.r.ReadAtContext(ctx, p, off)
		}
		return s.read(p, off)
	})
}

// close ends active requests.
func (s *sequential) close() {
	s.cancel()
	s.wg.Wait()
	s.chunks = nil
}

// read reads from the chunks.
func (s *sequential) read(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= s.size {
			return n, io.EOF
		}
		c := s.chunk(at / AheadRun * AheadRun)
		buf, err := c.buf.Wait(s.ctx)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], buf[at-c.off:])
	}
	return n, nil
}

// chunk returns the chunk at off. If it is the last chunk or the next one, the chunks
// after it are requested.
func (s *sequential) chunk(off int64) *chunk {
	count := int64(1)
	if off == s.last || off == s.last+AheadRun {
		count = aheadChunks
	}
	s.last = off
	// Drop earlier chunks except one, because walks go back a little. A walk that jumps
	// elsewhere starts over.
	for len(s.chunks) > 0 && (s.chunks[0].off < off-AheadRun || s.chunks[0].off > off) {
		s.chunks = s.chunks[1:]
	}
	next := off
	if k := len(s.chunks); k > 0 {
		next = s.chunks[k-1].off + AheadRun
	}
	for ; next < min(off+count*AheadRun, s.size); next += AheadRun {
		c := &chunk{next, future.New[[]byte]()}
		s.chunks = append(s.chunks, c)
		s.wg.Go(func() { c.buf.Make(func() ([]byte, error) { return s.fetch(c.off) }) })
	}
	return s.chunks[(off-s.chunks[0].off)/AheadRun]
}

func (s *sequential) fetch(off int64) ([]byte, error) {
	buf := make([]byte, min(AheadRun, s.size-off))
	if n, err := s.r.ReadAtContext(s.ctx, buf, off); n < len(buf) {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("read %d of %d bytes at %d: %w", n, len(buf), off, io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return buf, nil
}
