package read

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// denseRead is the number of bytes from which on a read of a local archive bypasses the cache, if
// it uses most of the bytes that it decodes. Little would be left for later reads, and fresh memory
// can cost as much as decoding.
const denseRead = 512 << 10

// each calls use with the requested parts of blocks: those in the cache first, then
// the others, read in runs and decoded on several goroutines. asked is how many bytes the
// caller wants of them. They bypass the cache if it cannot hold them all, and in dense reads.
// A block whose chain decodes ranges enters the cache the second time that most of it is
// requested. use must not keep or change the data.
func (a *Reader) each(ctx context.Context, requests iter.Seq[request], asked int64, use func(request, data) error) error {
	var missing []located
	bytes := int64(0)
	for q := range requests {
		if d, ok := a.cache.hit(q); ok {
			if err := use(q, d); err != nil {
				return err
			}
			continue
		}
		missing = append(missing, located{request: q})
		bytes += q.bytes()
	}
	if len(missing) == 0 {
		return nil
	}
	fits := a.cache.BlockCache != nil && a.cache.BlockCache.fits(bytes)
	dense := bytes > denseRead && asked >= bytes/2 && !a.Remote
	for i := range missing {
		q := &missing[i]
		q.cached = fits && (!dense || q.dense)
		q.repeated = q.repeated && (asked >= bytes/2 || q.bytes() < q.Len)
	}
	a.pending.add(missing)
	if len(missing) > 1 {
		return a.loadAll(ctx, missing, use)
	}
	defer a.pending.remove(missing)
	for {
		if n, err := a.loadRun(ctx, missing, use); n > 0 || err != nil {
			return err
		}
	}
}

// located is a request with the row of its block in the index.
type located struct {
	request
	row blockidx.Row // zero: not known yet
}

func (q located) span() ioat.Span { return ioat.Span{Off: q.row.Off, Len: q.row.Len} }

// locate looks up the rows and sorts requests by the places of their stored bytes.
func (a *Reader) locate(ctx context.Context, requests []located) error {
	numbers := make([]int64, len(requests))
	for i := range requests {
		numbers[i] = requests[i].N
	}
	rows, err := a.IndexIn(ctx).Lookup(numbers, a.Gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = opening.Corrupt(err)
	}
	if err != nil {
		return err
	}
	for i, row := range rows {
		if err := a.CheckRow(requests[i].Block, row); err != nil {
			return err
		}
		requests[i].row = row
	}
	slices.SortStableFunc(requests, func(x, y located) int { return cmp.Compare(x.row.Off, y.row.Off) })
	return nil
}

// A local archive is read in runs of minRun to enoughRun stored bytes. A shorter run is not
// worth another goroutine.
const (
	minRun    = 64 << 10
	enoughRun = 1 << 20
)

// joiner decides which blocks are read together. Without latency, several short runs
// keep the decoders busy and memory small.
func (a *Reader) joiner(requests []located) ioat.Joiner {
	if a.Remote {
		return ioat.Joiner{Gap: a.Gap, Max: maxRemoteRun}
	}
	bytes := int64(0)
	for i := range requests {
		bytes += requests[i].row.Len
	}
	share := bytes / int64(2*a.Workers)
	return ioat.Joiner{Gap: a.Gap, Max: maxRun, Enough: min(max(share, minRun), enoughRun)}
}

// loadAll reads and decodes blocks in runs, and calls use with each, from several goroutines.
func (a *Reader) loadAll(ctx context.Context, requests []located, use func(request, data) error) error {
	if err := a.locate(ctx, requests); err != nil {
		a.pending.remove(requests)
		return err
	}
	var runs [][]located
	for _, run := range ioat.Runs(a.joiner(requests), requests, located.span) {
		runs = append(runs, run)
	}
	// Few goroutines for all runs, since each must grow its stack.
	var next atomic.Int64
	g, work := errgroup.WithContext(ctx)
	for range min(max(a.Parallel, a.Workers), len(runs)) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(runs); i = int(next.Add(1)) - 1 {
				err := work.Err()
				for run := runs[i]; len(run) > 0 && err == nil; {
					var n int
					n, err = a.loadRun(work, run, use)
					run = run[n:]
				}
				a.pending.remove(runs[i])
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	for i := int(next.Load()); i < len(runs); i++ {
		a.pending.remove(runs[i]) // nobody began it
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// pending counts, for each block, the reads that have yet to use it. A block that
// another read wants is decoded whole and cached, since that read may come to it later.
type pending struct {
	mu    sync.Mutex
	reads map[int64]int32
}

func (p *pending) add(blocks []located) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reads == nil {
		p.reads = make(map[int64]int32, len(blocks))
	}
	for i := range blocks {
		p.reads[blocks[i].N]++
	}
}

func (p *pending) remove(blocks []located) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range blocks {
		if n := blocks[i].N; p.reads[n] > 1 {
			p.reads[n]--
		} else {
			delete(p.reads, n)
		}
	}
}

// of returns how many reads have yet to use a block.
func (p *pending) of(block int64) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads[block]
}
