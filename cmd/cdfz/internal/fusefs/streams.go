//go:build linux && !386 && !arm

package fusefs

import (
	"slices"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/ahead"
)

// streamShare is the part of the cache that streams may take from the blocks: one byte in
// so many.
const streamShare = 2

// streamRest is how long a stream is kept without reads if another file needs its memory.
const streamRest = time.Second

// streams bounds the memory of all streams. The cache of blocks is smaller by as much.
type streams struct {
	blocks *archive.Cache
	cache  int64 // bytes of blocks without streams

	mu   sync.Mutex
	used int64 // bytes
	all  []*stream
}

// stream is a stream of an open image. The fields are guarded by streams.
type stream struct {
	ahead.Stream
	release func() // ends the use of the file
	of      *streams
	memory  int64
	reads   int       // active
	last    time.Time // when the last one ended
	closed  bool      // is to be closed after the last read
}

// open returns a stream with one read, or nil if there is no memory for it. A stream is a use of its file.
func (t *streams) open(source *source, file *image) *stream {
	im := file.NetCDF.Image()
	need := ahead.Memory(im)
	t.mu.Lock()
	defer t.mu.Unlock()
	most := t.cache / streamShare
	for i := 0; t.used+need > most && i < len(t.all); {
		if s := t.all[i]; s.reads > 0 || time.Since(s.last) < streamRest || !t.remove(s) {
			i++
		}
	}
	if t.used+need > most {
		return nil
	}
	t.take(need)
	source.Retain(file)
	s := &stream{Stream: ahead.NewStream(im), release: func() { source.Release(file) }, of: t, memory: need, reads: 1}
	t.all = append(t.all, s)
	return s
}

// use adds a read, which the caller must end with done. It reports false if the stream was
// closed.
func (s *stream) use() bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.closed {
		return false
	}
	s.reads++
	return true
}

// done ends a read.
func (s *stream) done() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.reads--
	s.last = time.Now()
	if s.closed && s.reads == 0 {
		s.of.remove(s)
	}
}

// close closes a stream when its reads have ended.
func (t *streams) close(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.closed = true
	if s.reads == 0 {
		t.remove(s)
	}
}

// remove closes a stream without reads and frees its memory, unless that has happened. The
// caller holds the lock.
func (t *streams) remove(s *stream) bool {
	i := slices.Index(t.all, s)
	if i < 0 {
		return false
	}
	t.all = slices.Delete(t.all, i, i+1)
	s.closed = true
	s.Stream.Close()
	s.release()
	t.take(-s.memory)
	return true
}

// take moves bytes from the cache to the streams.
func (t *streams) take(n int64) {
	t.used += n
	ahead.Resize(t.blocks, t.cache-t.used)
}
