// Package read reads the values of archives: it decodes the blocks that a read needs, on
// several goroutines and through a cache, each block once for all who ask for it at the same
// time.
package read

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
)

// MaxWorkers is more than any machine needs.
const MaxWorkers = 1024

// Options control NewReader. Nil and the zero value mean the defaults.
type Options struct {
	opening.Options
	Cache   int64       // bytes of decoded blocks kept; 0: DefaultCache, negative: none
	Shared  *BlockCache // nil: a separate cache
	Workers int         // blocks decoded at the same time; 0: GOMAXPROCS
	Most    int64       // bytes that decoding a block may need; 0: any number
}

// Reader reads an archive. It is safe for concurrent use if its io.ReaderAt is. Its
// memory depends on the netCDF header, the size of a block and the options, not on the
// size of the archive.
type Reader struct {
	*opening.Archive

	cache   *BlockCache // nil for none
	id      int64       // of this reader's blocks in the cache
	states  sync.Pool   // of *decoder
	flights flights
	wanted  wanted
	limits  *limits
	most    int64 // bytes that decoding a block may need, 0: any number
	Workers int   // blocks that may be decoded at the same time
	slots   *semaphore.Weighted
	far     *far // of a remote archive, else nil

	// Parallel is the useful number of simultaneous reads of stored bytes.
	Parallel int

	grains []atomic.Int64 // of the variables in the plan: one more than grain returns, 0 if not known yet
	costs  []atomic.Int64 // of their blocks, 0 if not known yet

	CheckPadding bool          // whether the padding of short blocks is checked
	Decoded      func(n int64) // if not nil, called with the number of each block that was decoded

	blocks, hits, reads, bytes, nanos atomic.Int64

	imageEnd atomic.Int64 // where the last read of the image ended
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

// NewReader opens an archive of size bytes; see archive.New.
func NewReader(ctx context.Context, r io.ReaderAt, size int64, opts *Options) (*Reader, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Workers < 0 || opts.Workers > MaxWorkers {
		return nil, fault.Optionsf("expected 1 to %d workers, found %d", MaxWorkers, opts.Workers)
	}
	ends, err := opening.Open(ctx, r, size, &opts.Options)
	if err != nil {
		return nil, err
	}
	a := &Reader{Archive: ends, Workers: opts.Workers, Parallel: 1}
	a.flights.Free = a.free
	a.states.New = func() any { return &decoder{} }
	if a.Workers == 0 {
		a.Workers = runtime.GOMAXPROCS(0)
	}
	a.slots = semaphore.NewWeighted(int64(a.Workers))
	if a.Remote {
		a.Parallel = 8
		a.far = newFar(a.Parallel)
	}
	a.grains, a.costs = make([]atomic.Int64, len(a.L.Geoms)), make([]atomic.Int64, len(a.L.Geoms))
	return a, a.openCache(opts)
}

// openCache makes the cache or takes the shared one.
func (a *Reader) openCache(o *Options) (err error) {
	switch {
	case o.Shared != nil:
		a.cache, a.limits = o.Shared, o.Shared.limits
	case o.Cache == 0:
		a.cache, err = NewCache(DefaultCache)
	case o.Cache > 0:
		a.cache, err = NewCache(o.Cache)
	}
	if a.limits == nil {
		a.limits = newLimits(a.Workers)
	}
	a.id, a.most = readers.Add(1), o.Most
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
