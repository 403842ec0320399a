//go:build linux

package mount

import (
	"context"
	"io"
	"runtime"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sync/semaphore"
)

const (
	// readAhead is how far the kernel reads ahead of a program that reads in sequence, in
	// KiB. Eight requests at a time cost a fifth less processor time than one, which the
	// default of 128 KiB makes.
	readAhead = 1024
	// aheadChunk is the number of image bytes that one goroutine decodes ahead: two
	// blocks of the default size.
	aheadChunk = 512 << 10
	// aheadMost bounds the distance between a sequential reader and the chunks decoded
	// ahead. A quarter of the cache bounds it too.
	aheadMost = 8 * aheadChunk
	// aheadAfter is the number of bytes read in sequence before anything is decoded
	// ahead.
	aheadAfter = 256 << 10
	// aheadSlack is how far requests of a sequential reader may be out of order: the
	// kernel has as many of them at a time as it reads ahead.
	aheadSlack = readAhead << 10
)

// ahead decodes the blocks that sequential readers need next, so that the cache has them
// in time.
type ahead struct {
	images *images
	window int64 // 0: off
	slots  *semaphore.Weighted
	chunks sync.Pool // of *[]byte
}

func newAhead(c *images, cache int64) *ahead {
	a := &ahead{images: c, window: min(aheadMost, cache/4), slots: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
	if a.window < aheadChunk {
		a.window = 0
	}
	a.chunks.New = func() any { b := make([]byte, aheadChunk); return &b }
	return a
}

// start decodes a chunk of an image in the background, unless enough others are being
// decoded. Errors are left to the reads that need the blocks.
func (a *ahead) start(im *image, off int64) bool {
	if !a.slots.TryAcquire(1) {
		return false
	}
	a.images.Retain(im)
	go func() {
		defer a.slots.Release(1)
		defer a.images.Release(im)
		b := a.chunks.Get().(*[]byte)
		defer a.chunks.Put(b)
		_, _ = im.Value.ReadAt(*b, off)
	}()
	return true
}

// reading is an open image.
type reading struct {
	t    *tree
	name string // of the archive, in the source
	im   *image

	mu   sync.Mutex
	next int64 // end of the furthest read of the sequence
	run  int64 // bytes of the sequence
	done int64 // end of the chunks decoded ahead
}

var _ interface {
	fs.FileReader
	fs.FileReleaser
} = (*reading)(nil)

// Read does not end early when a signal interrupts the caller: programs do not expect
// that of a file.
func (r *reading) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	r.t.active.touch()
	r.advance(off, int64(len(dest)))
	n, err := r.im.Value.ReadAt(dest, off)
	if err != nil && err != io.EOF {
		r.t.source.warnings.Add(r.name, err)
		return nil, syscall.EIO
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// advance notes a read and decodes ahead if it continues a sequence.
func (r *reading) advance(off, n int64) {
	a := r.t.ahead
	if a.window == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if off < r.next-aheadSlack || off > r.next+aheadSlack {
		r.next, r.run, r.done = off, 0, 0
	}
	r.next = max(r.next, off+n)
	r.run += n
	if r.run < aheadAfter {
		return
	}
	r.done = max(r.done, r.next)
	for r.done < min(r.next+a.window, r.im.Value.Size()) && a.start(r.im, r.done) {
		r.done += aheadChunk
	}
}

// Release implements fs.FileReleaser.
func (r *reading) Release(context.Context) syscall.Errno {
	r.t.images.Release(r.im)
	r.t.active.closed()
	return 0
}
