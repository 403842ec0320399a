package blocks

import (
	"fmt"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// blockCache keeps decoded blocks, bounded in bytes. A reader makes its own unless it
// is given one to share. Safe for concurrent use.
type BlockCache struct {
	c     *otter.Cache[blockKey, blockData]
	bytes int64
}

// blockKey is a block of one of the readers that share a cache.
type blockKey struct{ reader, block int64 }

// readers numbers them.
var readers atomic.Int64

// blockOverhead is what a block takes in the cache beside its bytes, about.
const blockOverhead = 128

// newCache makes a cache that holds so many bytes of decoded blocks. It may exceed
// them by a block for a moment.
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
	return &BlockCache{c, bytes}, nil
}

// put keeps the decoded bytes of a block, replacing earlier ones.
func (c *BlockCache) put(key blockKey, data blockData) { c.c.Set(key, data) }

// stored returns what the cache has of a block.
func (a *Reader) stored(n int64) (blockData, bool) {
	if a.cache == nil {
		return blockData{}, false
	}
	return a.cache.c.GetIfPresent(blockKey{a.id, n})
}

// peek returns the needed bytes of a block if they are in the cache.
func (a *Reader) peek(q need) (blockData, bool) {
	data, ok := a.stored(q.n)
	if !ok || !data.covers(q) {
		return blockData{}, false
	}
	a.hits.Add(1)
	return data, true
}
