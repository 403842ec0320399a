package read

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// DefaultCache is the bound of the block cache, in bytes of decoded blocks.
const DefaultCache = 32 << 20

// BlockCache keeps the decoded blocks that were used last, bounded in bytes. A reader makes
// its own cache unless it gets a shared one. It is safe for concurrent use.
type BlockCache struct {
	limits *limits                     // of the readers that share the cache
	recent [recentBlocks]atomic.Uint32 // see user.repeated

	mu          sync.Mutex
	lru         *simplelru.LRU[blockKey, data]
	bytes, held int64 // the bound and what the cache holds
}

// recentBlocks is the number of requested blocks outside the cache that are remembered.
const recentBlocks = 1 << 11

// blockKey identifies a block among the readers that share a cache.
type blockKey struct{ reader, block int64 }

// readers numbers the readers.
var readers atomic.Int64

// blockOverhead is the approximate overhead of a block in the cache.
const blockOverhead = 128

// NewCache makes a cache for the given number of bytes of decoded blocks. A single block
// may exceed them.
func NewCache(bytes int64) (*BlockCache, error) {
	if bytes <= 0 {
		return nil, fault.Optionsf("cache of %d bytes", bytes)
	}
	c := &BlockCache{limits: newLimits(runtime.GOMAXPROCS(0)), bytes: bytes}
	// The number of blocks has no bound of its own.
	c.lru, _ = simplelru.NewLRU(math.MaxInt, func(_ blockKey, d data) { c.held -= d.cost() })
	return c, nil
}

// cost returns the bytes that a block takes in the cache.
func (d data) cost() int64 { return int64(len(d.b)) + blockOverhead }

// Resize changes the bound of the cache. Blocks that no longer fit are dropped.
func (c *BlockCache) Resize(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = bytes
	c.shrink(0)
}

// shrink drops the blocks that were used longest ago until the others fit, or so few are left.
func (c *BlockCache) shrink(left int) {
	for c.held > c.bytes && c.lru.Len() > left {
		c.lru.RemoveOldest()
	}
}

// fits reports whether the cache is large enough for all of these bytes.
func (c *BlockCache) fits(bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes <= c.bytes
}

// get returns a block.
func (c *BlockCache) get(k blockKey) (data, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(k)
}

// put keeps a block.
func (c *BlockCache) put(k blockKey, d data) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(k)
	c.lru.Add(k, d)
	c.held += d.cost()
	c.shrink(1)
}

// user is one reader of a cache.
type user struct {
	*BlockCache // nil: nothing is cached
	reader      int64
	hits        *atomic.Int64
}

// newUser returns the shared cache or a new one.
func newUser(o *Options) (v user, err error) {
	v = user{o.Shared, readers.Add(1), new(atomic.Int64)}
	if o.Shared == nil && o.Cache >= 0 {
		bytes := o.Cache
		if bytes == 0 {
			bytes = DefaultCache
		}
		v.BlockCache, err = NewCache(bytes)
	}
	return v, err
}

// get returns a block.
func (v user) get(block int64) (data, bool) {
	if v.BlockCache == nil {
		return data{}, false
	}
	return v.BlockCache.get(blockKey{v.reader, block})
}

// hit returns the requested bytes of a block and counts them.
func (v user) hit(q request) (data, bool) {
	d, ok := v.get(q.N)
	if !ok || !d.covers(q) {
		return data{}, false
	}
	v.hits.Add(1)
	return d, true
}

// put keeps a block.
func (v user) put(block int64, d data) {
	v.BlockCache.put(blockKey{v.reader, block}, d)
}

// repeated remembers that a block outside the cache is requested. It reports whether it
// remembered the block already. Blocks with close numbers have different places in the memory.
func (v user) repeated(block int64) bool {
	place := uint64(block) + 769*uint64(v.reader)
	mark := uint32((uint64(block)<<20^uint64(v.reader))*0x9E3779B97F4A7C15>>32) | 1
	return v.recent[place%recentBlocks].Swap(mark) == mark
}
