package read

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// DefaultCache is the bound of the block cache, in bytes of decoded blocks.
const DefaultCache = 32 << 20

// BlockCache keeps decoded blocks, bounded in bytes. A reader makes its own cache
// unless it gets a shared one. It is safe for concurrent use.
type BlockCache struct {
	limits *limits // of the readers that share the cache
	c      *otter.Cache[blockKey, blockData]
	bytes  atomic.Int64
	asked  [askedBlocks]atomic.Uint32 // see again
}

// askedBlocks is the number of needed blocks outside the cache that are remembered.
const askedBlocks = 1 << 11

// blockKey identifies a block among the readers that share a cache.
type blockKey struct{ reader, block int64 }

// readers numbers the readers.
var readers atomic.Int64

// blockOverhead is the approximate overhead of a block in the cache.
const blockOverhead = 128

// NewCache makes a cache for the given number of bytes of decoded blocks. It may
// briefly exceed that by one block.
func NewCache(bytes int64) (*BlockCache, error) {
	if bytes <= 0 {
		return nil, fault.Optionsf("cache of %d bytes", bytes)
	}
	c, err := otter.New(&otter.Options[blockKey, blockData]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ blockKey, d blockData) uint32 { return uint32(len(d.b)) + blockOverhead },
	})
	if err != nil {
		return nil, fmt.Errorf("archive: internal error: %w", err)
	}
	b := &BlockCache{limits: newLimits(runtime.GOMAXPROCS(0)), c: c}
	b.bytes.Store(bytes)
	return b, nil
}

// Resize changes the bound of the cache. Blocks that no longer fit are dropped.
func (c *BlockCache) Resize(bytes int64) {
	c.bytes.Store(bytes)
	c.c.SetMaximum(uint64(max(bytes, 0)))
}

// again remembers that a block outside the cache is needed. It reports whether it remembered the
// block before. Blocks with close numbers have different places in the memory.
func (c *BlockCache) again(key blockKey) bool {
	place := uint64(key.block) + 769*uint64(key.reader)
	mark := uint32((uint64(key.block)<<20^uint64(key.reader))*0x9E3779B97F4A7C15>>32) | 1
	return c.asked[place%askedBlocks].Swap(mark) == mark
}

// put keeps the decoded bytes of a block, replacing earlier ones.
func (c *BlockCache) put(key blockKey, data blockData) { c.c.Set(key, data) }

// stored returns the cached bytes of a block.
func (a *Reader) stored(n int64) (blockData, bool) {
	if a.cache == nil {
		return blockData{}, false
	}
	return a.cache.c.GetIfPresent(blockKey{a.id, n})
}

// peek returns the needed bytes of a block if they are in the cache.
func (a *Reader) peek(q need) (blockData, bool) {
	data, ok := a.stored(q.N)
	if !ok || !data.covers(q) {
		return blockData{}, false
	}
	a.hits.Add(1)
	return data, true
}
