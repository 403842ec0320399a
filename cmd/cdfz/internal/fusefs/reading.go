//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/cdfz-format/cdfz/archive/archivefs"
)

const (
	// readAhead is how far the kernel reads ahead of a program that reads in sequence, in
	// KiB. The default of 128 KiB would bound the length of requests, too.
	readAhead = 1024
	// streamAfter is the number of bytes read in sequence before a stream is used. A stream
	// decodes the blocks around its start again, which does not pay for a single long read.
	streamAfter = 8 << 20
	// slack is how far requests of a sequential reader may be out of order. The kernel reads
	// twice as far ahead if a program announces a sequence, as cat does, and requests the next
	// part before the program has used the last.
	slack = 4 * readAhead << 10
)

// reading is an open image.
type reading struct {
	t    *tree
	name string // of the archive, in the source
	from *archivefs.Held
	size int64 // of the image

	mu    sync.Mutex
	begin int64   // of the sequence
	next  int64   // end of its furthest read
	run   int64   // its bytes
	s     *stream // nil: none
}

var _ interface {
	fs.FileReader
	fs.FileReleaser
} = (*reading)(nil)

// Read does not end early when a signal interrupts the caller: programs do not expect
// that of a file.
func (r *reading) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	r.t.active.touch()
	file, err := r.from.Acquire()
	if err != nil {
		return nil, r.failed(err)
	}
	defer r.t.source.Release(file)
	var from io.ReaderAt = file.NetCDF.Image()
	s := r.advance(file, off, int64(len(dest)))
	if s != nil {
		n := min(int64(len(dest)), r.size-off)
		if slices, free := s.Lend(off, n); slices != nil {
			return &streamed{slices, int(n), func() { free(); s.done() }}, 0
		}
		defer s.done()
		from = s.Stream
	}
	n, err := from.ReadAt(dest, off)
	if err != nil && err != io.EOF {
		return nil, r.failed(err)
	}
	// A vector of one slice is written at once. For plain data, the library prepares a pipe
	// that it does not use.
	return fuse.ReadResultVector([][]byte{dest[:n]}), 0
}

// failed reports the error of a read. That of an archive which is gone names no damage: programs get ESTALE, as from
// a file server.
func (r *reading) failed(err error) syscall.Errno {
	r.t.source.Report(r.name, err)
	if errors.Is(err, archivefs.ErrReplaced) {
		return syscall.ESTALE
	}
	return syscall.EIO
}

// streamed is an answer in the memory of a stream, which must not be reused until Done.
type streamed struct {
	slices [][]byte
	n      int // bytes
	free   func()
}

// Size implements fuse.ReadResult.
func (l *streamed) Size() int { return l.n }

// Done implements fuse.ReadResult.
func (l *streamed) Done() { l.free() }

// Slices lets the library write without a copy.
func (l *streamed) Slices() ([][]byte, fuse.Status) { return l.slices, fuse.OK }

// Bytes implements fuse.ReadResult.
func (l *streamed) Bytes(buf []byte) ([]byte, fuse.Status) {
	buf = buf[:0]
	for _, b := range l.slices {
		buf = append(buf, b...)
	}
	return buf, fuse.OK
}

// advance records a read. It returns a stream if the read continues a sequence and there is
// memory for one. The caller must call the stream's done.
func (r *reading) advance(file *image, off, n int64) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if off < r.next-slack || off > r.next+slack {
		r.drop()
		r.begin, r.next, r.run = off, off, 0
	}
	r.next = max(r.next, off+n)
	r.run += n
	switch {
	case r.s != nil && !r.s.use():
		r.s = nil // another file has its memory
	case r.s != nil:
		return r.s
	}
	// Programs that skip half of the bytes read faster without a stream.
	if r.run < streamAfter || r.run < (r.next-r.begin)/2 || r.next >= r.size {
		return nil
	}
	r.s = r.t.streams.open(r.t.source, file)
	return r.s
}

// drop ends the stream. The caller holds the lock.
func (r *reading) drop() {
	if r.s != nil {
		r.t.streams.close(r.s)
		r.s = nil
	}
}

// Release implements fs.FileReleaser.
func (r *reading) Release(context.Context) syscall.Errno {
	r.mu.Lock()
	r.drop()
	r.mu.Unlock()
	r.from.Close()
	r.t.active.closed()
	return 0
}
