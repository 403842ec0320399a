package image

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/unlimited"
)

const (
	// streamWindow is the number of image bytes whose blocks one goroutine decodes ahead.
	streamWindow = 1 << 20
	// streamAhead and streamBehind are the windows after and before a read whose blocks
	// are decoded or kept. Requests of systems that read ahead overtake each other by up
	// to four windows.
	streamAhead  = 4
	streamBehind = 4
)

// Stream is an ahead.Stream of an archive.
type Stream struct {
	a      *read.Reader
	store  *blockStore
	all    []bool // every segment, for Scatter
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	low     int64           // number of the first window; before the first read -1
	first   int64           // the window in which the furthest read began
	windows []*streamedPart // window low and those after it
}

// streamedPart is a window of a stream.
type streamedPart struct{ users int } // goroutines that decode or read it

// NewStream starts nothing before the first read. The caller must close the stream.
func NewStream(a *read.Reader) *Stream {
	s := &Stream{a: a, low: -1, all: make([]bool, a.L.Perm.Segments()+1)}
	for i := range s.all {
		s.all[i] = true
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.store = &blockStore{a: a, read: a.ReadBlockInTurn, window: streamWindow, blocks: map[int64][]byte{}, byWindow: map[int64][]int64{}}
	return s
}

// Close ends the goroutines. No read may be active.
func (s *Stream) Close() {
	s.cancel()
	s.wg.Wait()
}

// StreamMemory implements ahead.Memory.
func StreamMemory(a *read.Reader) int64 {
	n := (streamBehind+1+streamAhead+1)*int64(streamWindow) + 2*a.L.MaxBlockLen()
	for v, g := range a.L.Geoms {
		switch {
		case v >= len(a.L.Vars):
			n += g.RawLen // its variables may lie anywhere in the image
		case a.L.Vars[v].Segment.Count > 1:
			n += 2 * g.BlockLen
		}
	}
	return n
}

// ReadAt implements io.ReaderAt.
func (s *Stream) ReadAt(p []byte, off int64) (int, error) {
	size := s.a.L.Image.Size
	switch {
	case off < 0:
		return 0, errors.New("archive: negative offset")
	case s.a.Remote:
		return s.a.ReadImage(s.ctx, p, off)
	case off >= size || len(p) == 0:
		return s.a.ReadImage(s.ctx, p, off)
	}
	have := p[:min(int64(len(p)), size-off)]
	from, to := off/streamWindow, (off+int64(len(have))-1)/streamWindow
	if !s.begin(from, to) {
		return s.a.ReadImage(s.ctx, p, off)
	}
	err := s.a.L.Perm.Scatter(have, off, s.all, s.store.pieces(s.ctx))
	s.end(from, to)
	switch {
	case err != nil:
		return 0, err
	case len(have) < len(p):
		return len(have), io.EOF
	}
	return len(have), nil
}

// minSlice is the least average length of the slices of a loan. Copying shorter ones is as fast.
const minSlice = 16 << 10

// Lend returns the image bytes [off, off+n) as slices of decoded blocks, which stay as they are
// until free is called. It returns nil if ReadAt must be used: if there are too many slices, or
// the stream does not have the bytes, or a block is damaged.
func (s *Stream) Lend(off, n int64) (slices [][]byte, free func()) {
	if s.a.Remote || off < 0 || n <= 0 || n > s.a.L.Image.Size-off {
		return nil, nil
	}
	from, to := off/streamWindow, (off+n-1)/streamWindow
	if !s.begin(from, to) {
		return nil, nil
	}
	whole := true
	s.a.L.Perm.ImageRuns(off, off+n, func(r unlimited.Run) bool {
		for at := r.RawOff; at < r.RawOff+r.Len && whole; {
			lo, data, err := s.store.get(s.ctx, at)
			if whole = err == nil && int64(len(slices)) < n/minSlice; whole {
				data = data[at-lo : min(int64(len(data)), r.RawOff+r.Len-lo)]
				slices = append(slices, data)
				at += int64(len(data))
			}
		}
		return whole
	})
	if !whole {
		s.end(from, to)
		return nil, nil
	}
	return slices, func() { s.end(from, to) }
}

// begin adds a user to the windows from to to, and starts decoding them and the windows
// after them. It reports false if the stream has passed them, or is not near them yet.
func (s *Stream) begin(from, to int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.low + int64(len(s.windows))
	switch {
	case s.low < 0:
		s.low, s.first, next = from, from, from
	case from < s.low || to-from > streamAhead || from > next+streamAhead:
		return false
	}
	s.first = max(s.first, from)
	// At first, no more is decoded ahead than was read.
	ahead := min(streamAhead, 1+to-s.low)
	for ; next <= min(to+ahead, (s.a.L.Image.Size-1)/streamWindow); next++ {
		n := next
		s.windows = append(s.windows, &streamedPart{users: 1})
		s.wg.Go(func() {
			_ = s.fill(n) // errors are left to the reads that need the blocks
			s.end(n, n)
		})
	}
	for n := from; n <= to; n++ {
		s.windows[n-s.low].users++
	}
	return true
}

// end removes a user of the windows from to to, and frees those that are no longer needed.
func (s *Stream) end(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := from; n <= to; n++ {
		s.windows[n-s.low].users--
	}
	for len(s.windows) > 0 && s.low < s.first-streamBehind && s.windows[0].users == 0 {
		s.store.release(s.low)
		s.windows = slices.Delete(s.windows, 0, 1)
		s.low++
	}
}

// fill decodes the blocks of a window.
func (s *Stream) fill(n int64) (err error) {
	l := s.a.L
	off := n * streamWindow
	upto := make([]int64, len(s.all)) // raw bytes of each segment whose blocks were decoded
	l.Perm.ImageRuns(off, min(off+streamWindow, l.Image.Size), func(r unlimited.Run) bool {
		for at := max(r.RawOff, upto[r.Seg]); at < r.RawOff+r.Len; {
			var lo int64
			var data []byte
			if lo, data, err = s.store.get(s.ctx, at); err != nil {
				return false
			}
			at = lo + int64(len(data))
			upto[r.Seg] = at
		}
		return true
	})
	return err
}
