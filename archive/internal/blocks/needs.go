package blocks

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"golang.org/x/sync/errgroup"
)

// denseRead is the number of bytes from which on a read of a local archive bypasses the cache, if
// it uses most of the bytes that it decodes. Little would be left for later reads, and fresh memory
// can cost as much as decoding.
const denseRead = 512 << 10

// eachNeed calls use with the needed parts of blocks: those in the cache first, then
// the others, read in runs and decoded on several goroutines. asked is how many bytes the
// caller wants of them. They bypass the cache if it cannot hold them all, and in dense reads.
// A block that is needed for most of its bytes enters the cache the second time.
// use must not keep or change them.
func (a *Reader) eachNeed(ctx context.Context, needs iter.Seq[need], asked int64, use func(need, blockData) error) error {
	var missing []need
	bytes := int64(0)
	for q := range needs {
		if data, ok := a.peek(q); ok {
			if err := use(q, data); err != nil {
				return err
			}
			continue
		}
		missing = append(missing, q)
		bytes += q.bytes()
	}
	fits := a.cache != nil && bytes <= a.cache.bytes.Load()
	dense := bytes > denseRead && asked >= bytes/2 && a.far == nil
	keep := func(q need) bool { return fits && (!dense || q.again) }
	if asked < bytes/2 {
		for i := range missing {
			missing[i].once = missing[i].once && missing[i].bytes() < missing[i].Len
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return a.load(ctx, missing[0], keep(missing[0]), a.reading(), a.readNeed, func(data blockData) error { return use(missing[0], data) })
	}
	return a.loadAll(ctx, missing, keep, use)
}

// storedNeed is a need with the row of its block in the index.
type storedNeed struct {
	need
	row blockidx.Row
}

func (q storedNeed) span() ioat.Span { return ioat.Span{Off: q.row.Off, Len: q.row.Len} }

// inStoredOrder returns needs with their rows, in the order of their stored bytes.
func (a *Reader) inStoredOrder(ctx context.Context, needs []need) ([]storedNeed, error) {
	numbers := make([]int64, len(needs))
	for i := range needs {
		numbers[i] = needs[i].N
	}
	rows, err := a.indexUntil(ctx).Lookup(numbers, a.gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = Corrupt(err)
	}
	if err != nil {
		return nil, err
	}
	out := make([]storedNeed, len(needs))
	for i, row := range rows {
		if err := a.CheckRow(needs[i].Block, row); err != nil {
			return nil, err
		}
		out[i] = storedNeed{needs[i], row}
	}
	slices.SortStableFunc(out, func(x, y storedNeed) int { return cmp.Compare(x.row.Off, y.row.Off) })
	return out, nil
}

// A local archive is read in runs of minRun to enoughRun stored bytes. A shorter run is not
// worth another goroutine.
const (
	minRun    = 64 << 10
	enoughRun = 1 << 20
)

// joiner decides which blocks are read together. Without latency, several short runs
// keep the decoders busy and memory small.
func (a *Reader) joiner(needs []storedNeed) ioat.Joiner {
	if a.far != nil {
		return ioat.Joiner{Gap: a.gap, Max: maxFarRun}
	}
	bytes := int64(0)
	for i := range needs {
		bytes += needs[i].row.Len
	}
	share := bytes / int64(2*a.Workers)
	return ioat.Joiner{Gap: a.gap, Max: maxRun, Enough: min(max(share, minRun), enoughRun)}
}

// loadAll reads and decodes blocks in any order and calls use with each, from several
// goroutines. Those to keep go into the cache.
func (a *Reader) loadAll(ctx context.Context, needs []need, keep func(need) bool, use func(need, blockData) error) error {
	stored, err := a.inStoredOrder(ctx, needs)
	if err != nil {
		return err
	}
	type piece struct {
		run  ioat.Span
		part []storedNeed
	}
	var pieces []piece
	for run, part := range ioat.Runs(a.joiner(stored), stored, storedNeed.span) {
		pieces = append(pieces, piece{run, part})
	}
	// Few goroutines for all pieces, since each must grow its stack.
	var next atomic.Int64
	g, work := errgroup.WithContext(ctx)
	for range min(max(a.remote, a.Workers), len(pieces)) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(pieces); i = int(next.Add(1)) - 1 {
				if err := a.loadRun(work, pieces[i].run, pieces[i].part, keep, use); err != nil {
					return err
				}
				if err := work.Err(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// loadRun reads a run and decodes its blocks.
func (a *Reader) loadRun(ctx context.Context, run ioat.Span, part []storedNeed, keep func(need) bool, use func(need, blockData) error) error {
	if a.far != nil {
		if err := a.far.runs.Acquire(ctx, 1); err != nil {
			return err
		}
		defer a.far.runs.Release(1)
	}
	stored, free, err := a.readStored(ctx, run.Off, run.Len)
	if err != nil {
		return err
	}
	defer free()
	for _, q := range part {
		block := stored[q.row.Off-run.Off:][:q.row.Len]
		if err := a.fetchAgain(ctx, q.row, block); err != nil {
			return err
		}
		decode := func(ctx context.Context, n need, room func(n int64) []byte) (blockData, error) {
			if err := ctx.Err(); err != nil {
				return blockData{}, err
			}
			return a.decodeStored(n, q.row, block, room)
		}
		if err := a.load(ctx, q.need, keep(q.need), a.slots, decode, func(data blockData) error { return use(q.need, data) }); err != nil {
			return err
		}
	}
	return nil
}
