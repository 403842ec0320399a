// Package read reads the values of archives. It decodes the blocks that a read needs, on
// several goroutines and through a cache, and each block once for all who request it at the
// same time.
//
// A value that is not cached takes this way: [Var.EachBlock] finds the blocks of a selection
// and the part that is needed of each; each takes those that are cached and sorts the others
// into runs; loadRun reads the stored bytes of a run with one read; decodeBlock decides how
// much of a block to decode and waits for memory; decodeChain undoes the filters.
package read

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/observer"
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
	fetcher
	decoder
	cache   user
	active  ioat.Singleflight[int64, decoded] // by number of the block
	pending pending
	Workers int // blocks that may be decoded at the same time

	imageEnd atomic.Int64 // where the last read of the image ended
}

// NewReader opens an archive of size bytes; see archive.New.
func NewReader(ctx context.Context, r io.ReaderAt, size int64, opts *Options) (*Reader, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Workers < 0 || opts.Workers > MaxWorkers {
		return nil, fault.Optionsf("expected 1 to %d workers, found %d", MaxWorkers, opts.Workers)
	}
	workers := opts.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	archive, err := opening.Open(ctx, r, size, &opts.Options)
	if err != nil {
		return nil, err
	}
	cache, err := newUser(opts)
	if err != nil {
		return nil, err
	}
	limits := newLimits(workers)
	if opts.Shared != nil {
		limits = opts.Shared.limits
	}
	a := &Reader{Archive: archive, cache: cache, Workers: workers}
	a.fetcher = newFetcher(archive, limits)
	a.decoder = newDecoder(archive, limits, workers, opts.Most)
	a.chains.Observer = observer.Of[filters.Observer](ctx)
	a.active.Free = a.free
	return a, nil
}

// Stats counts the work of a reader since it was opened.
type Stats struct {
	Blocks int64         // decoded
	Hits   int64         // blocks that were in the cache
	Reads  int64         // reads of stored blocks
	Bytes  int64         // bytes of these reads
	Decode time.Duration // time for decoding, sum of all goroutines
}

// Stats returns the counters.
func (a *Reader) Stats() Stats {
	return Stats{a.blocks.Load(), a.cache.hits.Load(), a.reads.Load(), a.bytes.Load(), time.Duration(a.nanos.Load())}
}
