package ioat

import (
	"slices"
	"sync"
)

// maxFree bounds the number of buffers that a Buffers keeps. It is about the capacity
// of the queues of a pipeline.
const maxFree = 32

// Buffers recycles byte slices of similar lengths. The zero value is ready to use. It
// is safe for concurrent use.
type Buffers struct {
	mu   sync.Mutex
	free [][]byte
}

// Get returns n bytes of any content. It reuses only buffers of at most about four
// times this capacity, so that short requests do not hold on to long buffers.
func (b *Buffers) Get(n int64) []byte {
	b.mu.Lock()
	for i := len(b.free) - 1; i >= 0; i-- {
		if p := b.free[i]; int64(cap(p)) >= n && int64(cap(p)) <= 4*n+4096 {
			b.free = slices.Delete(b.free, i, i+1)
			b.mu.Unlock()
			return p[:n]
		}
	}
	b.mu.Unlock()
	return make([]byte, n)
}

// Put returns a buffer that is no longer used.
func (b *Buffers) Put(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) >= maxFree {
		b.free = b.free[1:]
	}
	b.free = append(b.free, p)
}
