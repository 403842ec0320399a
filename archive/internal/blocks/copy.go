package blocks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// imageWindow is the piece of the image that one goroutine assembles at a time. It is
// large enough that most blocks are needed by one or two windows.
const imageWindow = 4 << 20

// CopyOptions control Reader.Copy. Nil and the zero value mean the defaults.
type CopyOptions struct {
	Workers  int   // goroutines that decode; 0: GOMAXPROCS
	Memory   int64 // bytes of blocks of record variables held at once, and of blocks being decoded; 0: DefaultMemory
	Progress func(done int64)
}

// defaultMemory is enough for the blocks of 500 record variables at once.
const DefaultMemory = 128 << 20

// decodeCost is the memory for decoding, in lengths of the block: stored bytes, decoded
// bytes, and the data between filters.
const decodeCost = 3

// Copy implements Image.Copy.
func (a *Reader) Copy(ctx context.Context, w io.Writer, o *CopyOptions) error {
	if w == nil {
		w = io.Discard
	}
	sum := sha256.New()
	if err := a.copyImage(ctx, &hashingWriter{w: w, sum: sum}, o); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != a.Man.SHA256 {
		return fault.Corruptf("SHA-256 of the image: %s, expected %s", got, a.Man.SHA256)
	}
	return nil
}

// hashingWriter hashes and writes at the same time, on two goroutines.
type hashingWriter struct {
	w   io.Writer
	sum io.Writer
}

func (h *hashingWriter) Write(p []byte) (int, error) {
	done := make(chan struct{})
	go func() {
		h.sum.Write(p)
		close(done)
	}()
	err := fault.WriteFull(h.w, p)
	<-done
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *Reader) copyImage(ctx context.Context, w io.Writer, o *CopyOptions) error {
	var c CopyOptions
	if o != nil {
		c = *o
	}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Memory <= 0 {
		c.Memory = DefaultMemory
	}
	// Blocks that are large for the memory are decoded by fewer goroutines.
	c.Workers = int(min(int64(c.Workers), max(1, c.Memory/(decodeCost*a.L.MaxBlockLen()))))
	passes := a.Passes(c.Memory)
	if len(passes) == 1 {
		done := int64(0)
		return a.assemble(ctx, passes[0], c.Workers, func(_ int64, p []byte) error {
			if _, err := w.Write(p); err != nil {
				return err
			}
			if done += int64(len(p)); c.Progress != nil {
				c.Progress(done)
			}
			return nil
		})
	}
	tmp, err := os.CreateTemp("", "cdfz-image-*")
	if err != nil {
		return fmt.Errorf("archive: temporary file: %w", err)
	}
	// Unlinked at once, so that it disappears however the program ends. If the system
	// refuses, it is removed at the end.
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	os.Remove(tmp.Name())
	for i, pass := range passes {
		err := a.assemble(ctx, pass, c.Workers, func(off int64, p []byte) error {
			if i > 0 {
				return a.overlay(tmp, pass, off, p)
			}
			_, err := tmp.WriteAt(p, off)
			return err
		})
		if err != nil {
			return err
		}
	}
	buf := make([]byte, imageWindow)
	for off := int64(0); off < a.L.Image.Size; off += imageWindow {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(imageWindow, a.L.Image.Size-off)]
		if err := ioat.ReadFull(tmp, b, off); err != nil {
			return fmt.Errorf("archive: temporary file: %w", err)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		if c.Progress != nil {
			c.Progress(off + int64(len(b)))
		}
	}
	return nil
}

// overlay writes the runs of a pass into the file.
func (a *Reader) overlay(f *os.File, pass []bool, off int64, p []byte) error {
	old := make([]byte, len(p))
	if err := ioat.ReadFull(f, old, off); err != nil {
		return fmt.Errorf("archive: temporary file: %w", err)
	}
	a.L.Perm.Overlay(old, p, off, pass)
	_, err := f.WriteAt(old, off)
	return err
}

// Passes divides the segments into parts such that the blocks of the record variables
// and pools in each part fit the memory. The first part also has all other segments. The
// last element of each part stands for the rest.
func (a *Reader) Passes(memory int64) [][]bool {
	n := a.L.Perm.Segments()
	first := make([]bool, n+1)
	first[n] = true
	passes := [][]bool{first}
	used := int64(0)
	take := func(from, to int, bytes int64) {
		if used > 0 && used+bytes > memory {
			passes = append(passes, make([]bool, n+1))
			used = 0
		}
		for seg := from; seg < to; seg++ {
			passes[len(passes)-1][seg] = true
		}
		used += bytes
	}
	seg := 0
	for v, g := range a.L.Geoms {
		switch members := a.L.Segments(v); {
		case v >= len(a.L.Vars):
			// The variables of a pool may lie anywhere, so all of its blocks stay.
			take(seg, seg+members, g.RawLen)
			seg += members
		case a.L.Vars[v].Segment.Count <= 1:
			first[seg] = true
			seg++
		default:
			take(seg, seg+1, g.BlockLen)
			seg++
		}
	}
	return passes
}

// assemble assembles the image window by window on several goroutines, and passes the
// windows to sink in order. Bytes of segments that are not in the pass are undefined.
// sink must not keep the slice.
func (a *Reader) assemble(ctx context.Context, pass []bool, workers int, sink func(off int64, p []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store := &blockStore{a: a, read: a.ReadBlock, blocks: map[int64]*openBlock{}, byWindow: map[int64][]int64{}}
	ahead := a.newImageAhead(ctx, pass)
	if ahead != nil {
		store.read = ahead.ReadBlock
		defer ahead.Close()
	}
	type window struct {
		n    int64
		buf  []byte
		done chan error
	}
	work := make(chan *window)
	ordered := make(chan *window, workers+1)
	var wg sync.WaitGroup
	var pool ioat.Buffers
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for w := range work {
				w.done <- a.fillWindow(ctx, store, pass, w.n*imageWindow, w.buf)
			}
		}()
	}
	go func() {
		defer close(ordered)
		defer close(work)
		for n := int64(0); n*imageWindow < a.L.Image.Size; n++ {
			w := &window{n: n, done: make(chan error, 1)}
			w.buf = pool.Get(min(imageWindow, a.L.Image.Size-n*imageWindow))
			select {
			case ordered <- w:
			case <-ctx.Done():
				return
			}
			if ahead != nil {
				if err := ahead.Begun(n); err != nil {
					w.done <- err
					return
				}
			}
			select {
			case work <- w:
			case <-ctx.Done():
				w.done <- ctx.Err()
				return
			}
		}
	}()
	var failed error
	for w := range ordered {
		err := <-w.done
		if failed == nil {
			if failed = err; failed == nil {
				failed = sink(w.n*imageWindow, w.buf)
			}
			if failed != nil {
				cancel()
			}
		}
		store.release(w.n)
		pool.Put(w.buf)
	}
	wg.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// fillWindow copies the runs of the image bytes [off, off+len(buf)).
func (a *Reader) fillWindow(ctx context.Context, store *blockStore, pass []bool, off int64, buf []byte) error {
	return a.L.Perm.Scatter(buf, off, pass, func(raw int64) (int64, []byte, error) { return store.get(ctx, raw) })
}

// blockStore holds the blocks that active windows need, each decoded once.
type blockStore struct {
	a        *Reader
	read     func(ctx context.Context, b format.Block, dst []byte) error // decodes a block
	mu       sync.Mutex
	blocks   map[int64]*openBlock
	byWindow map[int64][]int64 // blocks by the last window that needs them
	pool     ioat.Buffers
}

type openBlock struct {
	buf   []byte
	ready chan struct{}
	err   error
}

// get returns the block that holds raw byte off, and its raw offset. It decodes the
// block unless another goroutine does.
func (s *blockStore) get(ctx context.Context, off int64) (lo int64, data []byte, err error) {
	l := s.a.L
	block, in, left := l.FindRaw(off)
	lo, hi := off-in, off+left
	s.mu.Lock()
	b, ok := s.blocks[block.N]
	if !ok {
		b = &openBlock{ready: make(chan struct{})}
		s.blocks[block.N] = b
		w := l.Perm.LastByte(lo, hi) / imageWindow // the last window that needs the block
		s.byWindow[w] = append(s.byWindow[w], block.N)
	}
	s.mu.Unlock()
	if ok {
		<-b.ready
	} else {
		b.buf = s.pool.Get(block.Len)
		b.err = s.read(ctx, block, b.buf)
		close(b.ready)
	}
	if b.err != nil {
		return 0, nil, b.err
	}
	return lo, b.buf[:hi-lo], nil
}

// release frees the blocks that no window after n needs. All windows up to n are done.
func (s *blockStore) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.byWindow[n] {
		s.pool.Put(s.blocks[b].buf)
		delete(s.blocks, b)
	}
	delete(s.byWindow, n)
}
