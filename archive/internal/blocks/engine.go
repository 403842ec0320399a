package blocks

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// LocalGap is the distance in bytes up to which stored extents are read together.
// Reading that many bytes costs no more than another system call.
const LocalGap = 4 << 10

// engine is the part of a Reader that decodes blocks: cache, state and counters.
type engine struct {
	cache   *BlockCache // nil for none
	id      int64       // of this reader's blocks in the cache
	states  sync.Pool   // of *decoder
	flights flights
	wanted  wanted
	limits  *limits
	most    int64 // bytes that decoding a block may need, 0: any number
	Workers int   // blocks that may be decoded at the same time
	slots   *semaphore.Weighted
	far     *far  // of a remote archive, else nil
	gap     int64 // of runs
	remote  int   // useful number of simultaneous reads

	grains []atomic.Int64 // of the variables in the plan: one more than grain returns, 0 if not known yet
	costs  []atomic.Int64 // of their blocks, 0 if not known yet

	CheckPadding bool          // whether the padding of short blocks is checked
	Decoded      func(n int64) // if not nil, called with the number of each block that was decoded

	blocks, hits, reads, bytes, nanos atomic.Int64
}

// stats counts the work of a reader since it was opened.
type stats struct {
	Blocks int64         // decoded
	Hits   int64         // blocks that were in the cache
	Reads  int64         // reads of stored blocks
	Bytes  int64         // bytes of these reads
	Decode time.Duration // time for decoding, sum of all goroutines
}

// Stats returns the counters.
func (a *Reader) Stats() stats {
	return stats{a.blocks.Load(), a.hits.Load(), a.reads.Load(), a.bytes.Load(), time.Duration(a.nanos.Load())}
}

func (e *engine) init(r io.ReaderAt, workers int) {
	e.states.New = func() any { return &decoder{} }
	if e.Workers = workers; workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	e.slots = semaphore.NewWeighted(int64(e.Workers))
	e.gap, e.remote = LocalGap, 1
	if gap := ioat.Gap(r); gap > 0 {
		e.gap, e.remote = gap, 8
		e.far = newFar(e.remote)
	}
}

// openCache makes the cache or takes the shared one.
func (e *engine) openCache(o *ReadOptions) (err error) {
	switch {
	case o.Shared != nil:
		e.cache, e.limits = o.Shared, o.Shared.limits
	case o.Cache == 0:
		e.cache, err = NewCache(DefaultCache)
	case o.Cache > 0:
		e.cache, err = NewCache(o.Cache)
	}
	if e.limits == nil {
		e.limits = newLimits(e.Workers)
	}
	e.id, e.most = readers.Add(1), o.Most
	return err
}

// far bounds the memory of a remote archive's reader outside its cache. Its reads wait
// for a server, so they must not hold a decoding slot meanwhile. Instead, a single
// block holds a place in blocks and a run holds a place in runs until its blocks are
// decoded. A run has at most maxFarRun bytes or is one longer block.
type far struct {
	blocks, runs *semaphore.Weighted
}

func newFar(reads int) *far {
	blocks := max(reads, runtime.GOMAXPROCS(0))
	return &far{semaphore.NewWeighted(int64(blocks)), semaphore.NewWeighted(int64(reads))}
}

// lent is a pool of *[]byte for blocks that bypass the cache, shared by all readers: fresh memory
// can cost as much as decoding.
var lent sync.Pool
