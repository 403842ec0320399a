package archive

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// Cache keeps decoded blocks, bounded in bytes. A Reader makes one of its own
// unless it is given one to share with others. Safe for concurrent use.
type Cache struct {
	c *otter.Cache[blockKey, []byte]
}

// blockKey is a block of one of the readers that share a cache.
type blockKey struct{ reader, block int64 }

// readers numbers them.
var readers atomic.Int64

// blockOverhead is what a block takes in the cache beside its bytes, about.
const blockOverhead = 128

// NewCache makes a cache that holds so many bytes of decoded blocks. It may exceed
// them by a block for a moment.
func NewCache(bytes int64) (*Cache, error) {
	if bytes <= 0 {
		return nil, optionsf("cache of %d bytes", bytes)
	}
	c, err := otter.New(&otter.Options[blockKey, []byte]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ blockKey, b []byte) uint32 { return uint32(len(b)) + blockOverhead },
	})
	if err != nil {
		return nil, fmt.Errorf("archive: internal error: %w", err)
	}
	return &Cache{c}, nil
}

// get returns a block, loading it at most once at a time.
func (c *Cache) get(ctx context.Context, key blockKey, load func(context.Context) ([]byte, error)) ([]byte, error) {
	return c.c.Get(ctx, key, otter.LoaderFunc[blockKey, []byte](func(ctx context.Context, _ blockKey) ([]byte, error) {
		return load(ctx)
	}))
}

// peek returns a block that is in the cache.
func (a *Reader) peek(n int64) ([]byte, bool) {
	if a.cache == nil {
		return nil, false
	}
	data, ok := a.cache.c.GetIfPresent(blockKey{a.id, n})
	if ok {
		a.hits.Add(1)
	}
	return data, ok
}
