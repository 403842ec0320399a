package read

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// call is the part of a goroutine in a block that is read for all who request it.
type call = ioat.Call[int64, decoded]

// loadRun reads the first blocks of a run with one read, decodes them and calls use with each. It
// stops before a block that another goroutine reads. If that is the first one, it waits for it. It
// returns the number of blocks that were used, which may be 0. The row of a single block need not
// be known.
func (a *Reader) loadRun(ctx context.Context, run []located, use func(request, data) error) (used int, err error) {
	c, leads := a.active.Join(run[0].N)
	if !leads {
		return a.await(ctx, c, run, use)
	}
	calls := []*call{c}
	defer func() {
		for _, c := range calls {
			c.Leave()
		}
	}()
	if d, ok := a.cache.get(run[0].N); ok { // another goroutine was faster
		c.Publish(decoded{data: d}, nil)
		return 1, use(run[0].request, d)
	}
	if run[0].row == (blockidx.Row{}) {
		if run[0].row, err = a.Row(ctx, run[0].Block); err != nil {
			c.Publish(decoded{}, err)
			return 0, err
		}
	}
	for _, q := range run[1:] {
		if _, ok := a.cache.get(q.N); ok {
			break
		}
		if c = a.active.Lead(q.N); c == nil {
			break
		}
		calls = append(calls, c)
	}
	run = run[:len(calls)]
	span := spanOf(run)
	taken, err := a.fetcher.memory.take(ctx, max(span.Len, a.share))
	if err != nil {
		return 0, err
	}
	defer a.fetcher.memory.give(taken)
	stored, free, err := a.ReadStored(ctx, span.Off, span.Len)
	if err != nil {
		failed := err
		if len(calls) > 1 {
			failed = &runError{span, err}
		}
		for _, c := range calls {
			c.Publish(decoded{}, failed)
		}
		return 0, err
	}
	defer free()
	for i, q := range run {
		c := calls[0]
		shared := c.Shared() || a.pending.of(q.N) > 1
		d, err := a.decodeBlock(ctx, q, stored[q.row.Off-span.Off:][:q.row.Len], shared)
		c.Publish(d, err)
		if err == nil {
			err = use(q.request, d.data)
		}
		if err != nil {
			return i, err
		}
		c.Leave()
		calls = calls[1:]
	}
	return len(run), nil
}

// await waits for the first block of a run, which another goroutine reads. The caller must try
// again if that block is not used: the other goroutine decodes another part of it or failed.
func (a *Reader) await(ctx context.Context, c *call, run []located, use func(request, data) error) (used int, err error) {
	defer c.Leave()
	d, err := c.Wait(ctx)
	var other *runError
	switch {
	case errors.As(err, &other):
		if own := spanOf(run); other.run.Off < own.Off || other.run.End() > own.End() {
			return 0, nil // the error may be of bytes that this run does not have
		}
		return 0, other.err
	case errors.Is(err, ioat.ErrRetry):
		return 0, nil
	case err != nil:
		return 0, err
	case !d.covers(run[0].request):
		return 0, nil
	}
	return 1, use(run[0].request, d.data)
}

// spanOf returns the place of blocks that are sorted by their stored bytes.
func spanOf(run []located) ioat.Span {
	span := run[0].span()
	for i := range run {
		span.Len = max(span.Len, run[i].span().End()-span.Off)
	}
	return span
}

// runError is the error of a read of several blocks, for goroutines that wait for one of them.
type runError struct {
	run ioat.Span
	err error
}

func (e *runError) Error() string {
	return fmt.Sprintf("reading a run at byte %d: %v", e.run.Off, e.err)
}
func (e *runError) Unwrap() error { return e.err }
