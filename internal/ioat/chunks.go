package ioat

import (
	"container/list"
	"io"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/internal/future"
)

// ChunkOptions control NewChunks.
type ChunkOptions struct {
	Len     int64   // bytes of a chunk
	Keep    int     // chunks kept; at least Ahead+2
	Ahead   int     // chunks after the current one that are fetched while reads are in order, each by a goroutine
	Borders []int64 // offsets, in order, at which a chunk begins in any case; the first chunk begins at 0
	// Observe, if not nil, is called with the bytes of each chunk that was read, from several
	// goroutines. It must not keep or change them. It is called again for a chunk that was
	// dropped and read again.
	Observe func(off int64, b []byte)
}

// Chunks is an io.ReaderAt that reads a file in chunks and keeps the most recently used ones.
// Users that pass through the file at about the same time thus read each byte only once. A user
// waits only for the chunk it needs. If users are at distant places, chunks are read again.
// Chunks is safe for concurrent use.
//
// If a chunk cannot be read, each read that needs it goes to the file itself. With Ahead, which is for files at URLs,
// it fails.
type Chunks struct {
	r    io.ReaderAt
	size int64
	o    ChunkOptions

	mu     sync.Mutex
	chunks map[int64]*chunk // by offset
	used   *list.List       // of *chunk, the most recently used first
	free   [][]byte
	done   int64 // all chunks before this offset were dropped
	last   Span  // the chunk that was read last
	ahead  sync.WaitGroup
}

// chunk is a part of the file.
type chunk struct {
	off   int64
	buf   []byte
	read  *future.Future[struct{}] // of buf
	users int                      // guarded by the mutex of Chunks, as elem is
	elem  *list.Element            // nil: dropped
}

// NewChunks returns a reader of a file of size bytes.
func NewChunks(r io.ReaderAt, size int64, o ChunkOptions) *Chunks {
	o.Borders = slices.Compact(slices.Clone(o.Borders))
	return &Chunks{r: r, size: size, o: o, chunks: map[int64]*chunk{}, used: list.New()}
}

// ReadAt implements io.ReaderAt.
func (c *Chunks) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return c.r.ReadAt(p, off)
	}
	have := max(0, min(int64(len(p)), c.size-off))
	for n := int64(0); n < have; {
		at := off + n
		k, err := c.get(at)
		if err == nil {
			n += int64(copy(p[n:have], k.buf[at-k.off:]))
		}
		c.put(k)
		if err != nil && c.o.Ahead > 0 {
			return int(n), err
		}
		if err != nil {
			return c.r.ReadAt(p, off)
		}
	}
	if have < int64(len(p)) {
		return int(have), io.EOF
	}
	return len(p), nil
}

// Close waits for the chunks that are fetched ahead, whose reads the caller has cancelled, and frees all. No read may be
// active.
func (c *Chunks) Close() {
	c.ahead.Wait()
	c.chunks, c.used, c.free = nil, nil, nil
}

// bounds returns the chunk that holds the byte at off.
func (c *Chunks) bounds(off int64) (start, end int64) {
	i, found := slices.BinarySearch(c.o.Borders, off)
	if found {
		i++
	}
	region, end := int64(0), c.size
	if i > 0 {
		region = c.o.Borders[i-1]
	}
	if i < len(c.o.Borders) {
		end = min(end, c.o.Borders[i])
	}
	start = region + (off-region)/c.o.Len*c.o.Len
	return start, min(end, start+c.o.Len)
}

// get returns the chunk with the byte at off, and the error of reading it. The caller must return it to put.
func (c *Chunks) get(off int64) (k *chunk, err error) {
	start, end := c.bounds(off)
	c.mu.Lock()
	k, isNew := c.take(start, end)
	if c.o.Ahead > 0 {
		c.fetchAhead(start, end)
	}
	c.mu.Unlock()
	if isNew {
		return k, c.fetch(k, end)
	}
	_, err = k.read.Get()
	return k, err
}

// take returns the chunk [start, end) for use, which the caller must fetch if it is new.
func (c *Chunks) take(start, end int64) (k *chunk, isNew bool) {
	k, ok := c.chunks[start]
	if ok {
		c.used.MoveToFront(k.elem)
	} else {
		k = &chunk{off: start, read: future.New[struct{}]()}
		k.elem = c.used.PushFront(k)
		c.chunks[start] = k
		c.shrink()
		if n := len(c.free); n > 0 {
			k.buf, c.free = c.free[n-1][:end-start], c.free[:n-1]
		}
	}
	k.users++
	return k, !ok
}

// fetch reads a new chunk.
func (c *Chunks) fetch(k *chunk, end int64) error {
	if k.buf == nil {
		k.buf = make([]byte, end-k.off, c.o.Len)
	}
	_, err := k.read.Make(func() (struct{}, error) { return struct{}{}, ReadFull(c.r, k.buf, k.off) })
	if err == nil && c.o.Observe != nil {
		c.o.Observe(k.off, k.buf)
	}
	return err
}

// fetchAhead begins to fetch the chunks after [start, end), if the chunk before was read last.
func (c *Chunks) fetchAhead(start, end int64) {
	inOrder := start == c.last.Off || start == c.last.End()
	c.last = Span{start, end - start}
	for n := 0; inOrder && n < c.o.Ahead && end < c.size; n++ {
		start, end = c.bounds(end)
		k, isNew := c.take(start, end)
		if !isNew {
			k.users--
			continue
		}
		last := end
		c.ahead.Go(func() {
			c.fetch(k, last)
			c.put(k)
		})
	}
}

// put takes back a chunk.
func (c *Chunks) put(k *chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.users--; k.users == 0 && k.elem == nil {
		c.free = append(c.free, k.buf)
	}
}

// shrink drops the least recently used chunks.
func (c *Chunks) shrink() {
	for c.used.Len() > c.o.Keep {
		c.drop(c.used.Back().Value.(*chunk))
	}
}

// drop removes a chunk. Its current users may continue to use it.
func (c *Chunks) drop(k *chunk) {
	c.used.Remove(k.elem)
	delete(c.chunks, k.off)
	if k.elem = nil; k.users == 0 {
		c.free = append(c.free, k.buf)
	}
}

// Passed drops the chunks that end before off, because all users have passed them.
func (c *Chunks) Passed(off int64) {
	start, _ := c.bounds(off)
	c.mu.Lock()
	defer c.mu.Unlock()
	if start <= c.done {
		return
	}
	c.done = start
	for e := c.used.Front(); e != nil; {
		k := e.Value.(*chunk)
		if e = e.Next(); k.off < start {
			c.drop(k)
		}
	}
}
