// Package image makes whole images from archives, in order: it decodes blocks and reads ahead on
// several goroutines. It also reads an image once for cutting and hashing.
package image

import (
	"context"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/pipeline"
	"github.com/cdfz-format/cdfz/internal/recycled"
	"github.com/cdfz-format/cdfz/unlimited"
)

// imageWindow is the piece of the image that one goroutine assembles at a time. It is
// large enough that most blocks are needed by one or two windows.
const imageWindow = 4 << 20

// fillFunc makes the window of the image from byte off on, from the pieces of a pass.
type fillFunc func(ctx context.Context, off int64, buf []byte, pieces unlimited.Pieces) error

// assemble makes the image window by window on several goroutines with fill, and passes the
// windows to sink in order. sink must not keep the slice.
func assemble(ctx context.Context, a *read.Reader, pass []bool, workers int, fill fillFunc, sink func(off int64, p []byte) error) error {
	store := &blockStore{a: a, read: a.ReadBlock, window: imageWindow, blocks: map[int64][]byte{}, byWindow: map[int64][]int64{}}
	ahead := newImageAhead(ctx, a, pass)
	if ahead != nil {
		store.read = ahead.ReadBlock
		defer ahead.Close()
	}
	if a.L.Image.Size <= imageWindow && ahead == nil {
		workers = 0 // one window needs no goroutines
	}
	type window struct {
		n   int64
		buf []byte
	}
	return pipeline.Run(ctx, workers, workers+1, pipeline.Steps[window]{
		Make: func(ctx context.Context, submit func(window) error) error {
			if ahead != nil {
				defer context.AfterFunc(ctx, ahead.cancel)()
			}
			for n := int64(0); n*imageWindow < a.L.Image.Size; n++ {
				if ahead != nil {
					if err := ahead.Begun(n); err != nil {
						return err
					}
				}
				if err := submit(window{n, recycled.Get(min(imageWindow, a.L.Image.Size-n*imageWindow))}); err != nil {
					return err
				}
			}
			return ctx.Err()
		},
		Work: func(ctx context.Context) func(window) error {
			return func(w window) error { return fill(ctx, w.n*imageWindow, w.buf, store.pieces(ctx)) }
		},
		Pass: func(w window) error { return sink(w.n*imageWindow, w.buf) },
		Free: func(w window) {
			store.release(w.n)
			recycled.Put(w.buf)
		},
	})
}

// scatter returns a fillFunc that copies the pieces. Bytes of segments that are not in the
// pass are undefined.
func scatter(l *plan.Resolved, pass []bool) fillFunc {
	return func(_ context.Context, off int64, buf []byte, pieces unlimited.Pieces) error {
		return l.Perm.Scatter(buf, off, pass, pieces)
	}
}

// blockStore holds the blocks that active windows need, each decoded once.
type blockStore struct {
	a        *read.Reader
	read     func(ctx context.Context, b plan.Block, dst []byte) error // decodes a block
	window   int64                                                     // length of the windows
	decoding ioat.Singleflight[int64, []byte]
	mu       sync.Mutex
	blocks   map[int64][]byte  // decoded blocks by their number
	byWindow map[int64][]int64 // blocks by the last window that needs them
}

// pieces returns the blocks as pieces of raw.
func (s *blockStore) pieces(ctx context.Context) unlimited.Pieces {
	return func(raw int64) (int64, []byte, error) { return s.get(ctx, raw) }
}

// get returns the block that holds raw byte off, and its raw offset. It decodes the
// block unless another goroutine does.
func (s *blockStore) get(ctx context.Context, off int64) (lo int64, data []byte, err error) {
	block, in, left := s.a.L.FindRaw(off)
	lo, hi := off-in, off+left
	buf := s.held(block.N)
	for err = ioat.ErrRetry; buf == nil && err == ioat.ErrRetry; {
		buf, err = s.decodeOnce(ctx, block, lo, hi)
	}
	if buf == nil {
		return 0, nil, err
	}
	return lo, buf[:hi-lo], nil
}

// held returns a block that is decoded already, or nil.
func (s *blockStore) held(n int64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks[n]
}

// decodeOnce decodes the block of the raw bytes [lo, hi) and keeps it, or waits for another
// goroutine that does.
func (s *blockStore) decodeOnce(ctx context.Context, block plan.Block, lo, hi int64) (buf []byte, err error) {
	c, leads := s.decoding.Join(block.N)
	defer c.Leave()
	if !leads {
		return c.Wait(ctx)
	}
	if buf = s.held(block.N); buf == nil { // else another goroutine was faster
		buf = recycled.Get(block.Len)
		if err = s.read(ctx, block, buf); err != nil {
			recycled.Put(buf)
			buf = nil
		} else {
			s.hold(block.N, buf, s.a.L.Perm.LastByte(lo, hi)/s.window)
		}
	}
	c.Publish(buf, err)
	return buf, err
}

// hold keeps a block until window is done, the last one that needs it.
func (s *blockStore) hold(n int64, buf []byte, window int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks[n] = buf
	s.byWindow[window] = append(s.byWindow[window], n)
}

// release frees the blocks that no window after n needs. All windows up to n are done.
func (s *blockStore) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.byWindow[n] {
		recycled.Put(s.blocks[b])
		delete(s.blocks, b)
	}
	delete(s.byWindow, n)
}

// newImageAhead reads ahead for assembling the image. Its items are the windows of the
// image. It is nil for an archive whose reads have no latency.
func newImageAhead(ctx context.Context, a *read.Reader, pass []bool) *orderedReadAhead {
	if !a.Remote {
		return nil
	}
	upto := make([]int64, a.L.Perm.Segments()+1) // raw bytes of each segment whose blocks were listed
	pooled := map[int64]bool{}                   // blocks of pools that were listed
	list := func(i int64) (out []numbered) {
		off := i * imageWindow
		a.L.Perm.ImageRuns(off, min(off+imageWindow, a.L.Image.Size), func(r unlimited.Run) bool {
			if !pass[r.Seg] {
				return true
			}
			for at := max(r.RawOff, upto[r.Seg]); at < r.RawOff+r.Len; {
				block, _, left := a.L.FindRaw(at)
				if !pooled[block.N] {
					out = append(out, numbered{Block: block})
				}
				if a.L.IsPool(block.Var) {
					pooled[block.N] = true // other variables have bytes in it, too
				}
				at += left
				upto[r.Seg] = at
			}
			return true
		})
		return out
	}
	return &orderedReadAhead{readAhead: newAhead(ctx, a), items: plan.CeilDiv(a.L.Image.Size, imageWindow), group: 16, list: list}
}
