package read

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/archive/internal/opening"
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
	dense := bytes > denseRead && asked >= bytes/2 && !a.Remote
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
		return a.load(ctx, missing[0], ioat.Span{}, keep(missing[0]), func(data blockData) error { return use(missing[0], data) })
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
	rows, err := a.IndexIn(ctx).Lookup(numbers, a.Gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = opening.Corrupt(err)
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
	if a.Remote {
		return ioat.Joiner{Gap: a.Gap, Max: maxFarRun}
	}
	bytes := int64(0)
	for i := range needs {
		bytes += needs[i].row.Len
	}
	share := bytes / int64(2*a.Workers)
	return ioat.Joiner{Gap: a.Gap, Max: maxRun, Enough: min(max(share, minRun), enoughRun)}
}

// loadAll reads and decodes blocks in any order and calls use with each, from several
// goroutines. Those to keep go into the cache.
func (a *Reader) loadAll(ctx context.Context, needs []need, keep func(need) bool, use func(need, blockData) error) error {
	stored, err := a.inStoredOrder(ctx, needs)
	if err != nil {
		return err
	}
	a.wanted.add(stored)
	var pieces [][]storedNeed
	for _, part := range ioat.Runs(a.joiner(stored), stored, storedNeed.span) {
		pieces = append(pieces, part)
	}
	// Few goroutines for all pieces, since each must grow its stack.
	var next atomic.Int64
	g, work := errgroup.WithContext(ctx)
	for range min(max(a.Parallel, a.Workers), len(pieces)) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(pieces); i = int(next.Add(1)) - 1 {
				err := work.Err()
				if err == nil {
					err = a.loadRun(work, pieces[i], keep, use)
				}
				a.wanted.remove(pieces[i])
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	for i := int(next.Load()); i < len(pieces); i++ {
		a.wanted.remove(pieces[i]) // nobody began it
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// loadRun reads a run and decodes its blocks, except those that another goroutine is reading.
func (a *Reader) loadRun(ctx context.Context, part []storedNeed, keep func(need) bool, use func(need, blockData) error) error {
	for len(part) > 0 {
		var claims []*claim
		for n := range part {
			c := a.flights.Claim(part[n].N)
			if c == nil {
				break // another goroutine reads it
			}
			if data, ok := a.stored(part[n].N); ok { // another goroutine was faster
				c.Publish(decoded{blockData: data}, nil)
				c.Leave()
				break
			}
			claims = append(claims, c)
		}
		if len(claims) > 0 {
			if err := a.loadClaimed(ctx, part[:len(claims)], claims, keep, use); err != nil {
				return err
			}
			part = part[len(claims):]
			continue
		}
		q := part[0].need
		if err := a.load(ctx, q, runOf(part), keep(q), func(data blockData) error { return use(q, data) }); err != nil {
			return err
		}
		part = part[1:]
	}
	return nil
}

// runOf returns the place of blocks in the order of their stored bytes.
func runOf(part []storedNeed) ioat.Span {
	run := part[0].span()
	for i := range part {
		run.Len = max(run.Len, part[i].span().End()-run.Off)
	}
	return run
}

// loadClaimed reads blocks together and decodes them for all that wait for them.
func (a *Reader) loadClaimed(ctx context.Context, part []storedNeed, claims []*claim, keep func(need) bool, use func(need, blockData) error) error {
	defer func() {
		for _, c := range claims {
			c.Leave()
		}
	}()
	run := runOf(part)
	if a.Remote {
		if err := a.far.runs.Acquire(ctx, 1); err != nil {
			return err
		}
		defer a.far.runs.Release(1)
	} else {
		taken, err := a.limits.runs.take(ctx, run.Len)
		if err != nil {
			return err
		}
		defer a.limits.runs.give(taken)
	}
	stored, free, err := a.ReadStored(ctx, run.Off, run.Len)
	if err != nil {
		for _, c := range claims {
			c.Publish(decoded{}, &runError{run, err})
		}
		return err
	}
	defer free()
	for _, q := range part {
		block := stored[q.row.Off-run.Off:][:q.row.Len]
		d, err := a.decodeClaimed(ctx, q, block, keep(q.need), claims[0])
		claims[0].Publish(d, err)
		if err == nil {
			err = use(q.need, d.blockData)
		}
		claims[0].Leave()
		claims = claims[1:]
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeClaimed decodes a block of a run.
func (a *Reader) decodeClaimed(ctx context.Context, q storedNeed, stored []byte, keep bool, c *claim) (d decoded, err error) {
	if err := a.FetchAgain(ctx, q.row, stored); err != nil {
		return d, err
	}
	n, keep := a.chosen(q.need, keep, c.Shared() || a.wanted.of(q.N) > 1)
	return a.decode(ctx, n, keep, func(n need, room func(int64) []byte) (blockData, error) {
		return a.decodeStored(n, q.row, stored, room)
	})
}
