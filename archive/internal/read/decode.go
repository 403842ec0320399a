package read

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// decoder undoes the filters of blocks.
type decoder struct {
	a      *opening.Archive
	chains *Chains
	memory *budget             // of blocks that are decoded
	slots  *semaphore.Weighted // one for each worker
	most   int64               // bytes that decoding a block may need, 0: any number

	CheckPadding bool          // whether the padding of short blocks is checked
	Decoded      func(n int64) // if not nil, called with the number of each block that was decoded

	blocks, nanos *atomic.Int64
}

func newDecoder(a *opening.Archive, l *limits, workers int, most int64) decoder {
	return decoder{
		a: a, chains: NewChains(a.L), memory: l.decoded, slots: semaphore.NewWeighted(int64(workers)), most: most,
		blocks: new(atomic.Int64), nanos: new(atomic.Int64),
	}
}

// Chains are the coders of a plan's chains. They are safe for concurrent use.
type Chains struct {
	Observer filters.Observer // of all coders, or nil

	l      *plan.Resolved
	coders []atomic.Pointer[filters.Coder] // made when first needed
}

// NewChains makes no coder yet.
func NewChains(l *plan.Resolved) *Chains {
	return &Chains{l: l, coders: make([]atomic.Pointer[filters.Coder], len(l.Filters))}
}

// Coder returns the coder of a chain, for a block of an array of the plan or, with -1, of the
// rest.
func (c *Chains) Coder(chain, v int) (*filters.Coder, error) {
	coder := c.coders[chain].Load()
	if coder == nil {
		var err error
		if coder, err = filters.NewDecoder(c.l.Filters[chain]); err != nil {
			return nil, err
		}
		c.coders[chain].Store(coder)
	}
	if c.Observer == nil {
		return coder, nil
	}
	label := "(rest)"
	if v >= 0 {
		label = c.l.Path(v)
	}
	return coder.Observed(c.Observer, label), nil
}

// grain returns the granularity in bytes at which the filters of a variable decode ranges of
// its blocks, or 0 if they cannot.
func (d *decoder) grain(v int) int64 {
	chain, _ := d.a.L.BlockInfo(v, 0)
	c, err := d.chains.Coder(chain, v)
	if err != nil {
		return 0
	}
	return int64(c.Grain(int(d.a.L.Geoms[v].BlockLen)))
}

// cost bounds the bytes of memory for decoding a block: its stored and decoded bytes and what
// its filters need. Unknown filters count nothing, since decoding refuses them.
func (d *decoder) cost(b plan.Block) int64 {
	cost := 2 * b.Len
	if c, err := d.chains.Coder(b.Chain, b.Var); err == nil {
		cost += c.Memory(int(b.Len))
	}
	return cost
}

// ReadBlock decodes a block into dst, whose length is the decoded length. Damage is a
// *BlockError. Callers bound the number of blocks that are decoded at the same time, except those of
// remote archives.
func (a *Reader) ReadBlock(ctx context.Context, b plan.Block, dst []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.First != nil && b.N == a.L.RestFirst {
		copy(dst, a.First)
		return nil
	}
	row, stored, free, err := a.readBlock(ctx, b)
	if err != nil {
		return err
	}
	defer free()
	if a.Remote {
		if err := a.slots.Acquire(ctx, 1); err != nil {
			return err
		}
		defer a.slots.Release(1)
	}
	_, err = a.decodeChain(whole(b), row, stored, &dst)
	return err
}

// ReadBlockInTurn is ReadBlock within the limits that reads of values share.
func (a *Reader) ReadBlockInTurn(ctx context.Context, b plan.Block, dst []byte) error {
	if a.Remote { // ReadBlock takes the slot, and nobody waits for a server with memory that others need
		return a.ReadBlock(ctx, b, dst)
	}
	taken, err := a.decoder.memory.take(ctx, a.cost(b))
	if err != nil {
		return err
	}
	defer a.decoder.memory.give(taken)
	if err := a.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.slots.Release(1)
	return a.ReadBlock(ctx, b, dst)
}

// DecodeStored decodes the stored bytes of a block, which the caller has read, into dst. The length of
// dst is the decoded length.
func (a *Reader) DecodeStored(ctx context.Context, b plan.Block, row blockidx.Row, stored, dst []byte) error {
	if err := a.readAgain(ctx, row, stored); err != nil {
		return err
	}
	_, err := a.decodeChain(whole(b), row, stored, &dst)
	return err
}

// decoded is a block decoded for all callers that request it at the same time.
type decoded struct {
	data
	scratch []byte // recycled memory that holds the data, nil if the data has its own
	taken   int64  // of the memory for decoding, until the last user is done
}

// free recycles the memory of a block that nobody uses any more.
func (d *decoder) free(b decoded) {
	recycled.Put(b.scratch)
	if b.taken > 0 {
		d.memory.give(b.taken)
	}
}

// decodeBlock decodes a block for all that wait for it, when memory and a worker are free. A
// block that others want, too, is decoded whole and cached.
func (a *Reader) decodeBlock(ctx context.Context, q located, stored []byte, shared bool) (d decoded, err error) {
	if err := a.readAgain(ctx, q.row, stored); err != nil {
		return d, err
	}
	part := q.request
	switch {
	case shared && a.cache.BlockCache != nil:
		part.cached = true
	case part.cached && part.repeated:
		part.cached = a.cache.repeated(q.N)
	}
	if shared || part.cached {
		part.lo, part.hi, part.planes = 0, q.Len, planes{}
	}
	if d.taken, err = a.decoder.memory.take(ctx, a.cost(q.Block)); err != nil {
		return decoded{}, err
	}
	done := false
	defer func() {
		if !done {
			a.free(d)
			d = decoded{}
		}
	}()
	if err := a.slots.Acquire(ctx, 1); err != nil {
		return d, err
	}
	defer a.slots.Release(1)
	if err := ctx.Err(); err != nil {
		return d, err
	}
	var own []byte
	into := &own
	if !part.cached {
		d.scratch = recycled.Get(part.bytes())
		into = &d.scratch
	}
	if d.data, err = a.decodeChain(part, q.row, stored, into); err != nil {
		return d, err
	}
	if part.cached {
		a.cache.put(q.N, d.data)
	}
	done = true
	return d, nil
}

// decodeChain checks the stored bytes of a block and undoes its filters, for the requested bytes
// or the whole block. The result is in the memory of into, which is replaced if it is too short.
func (d *decoder) decodeChain(q request, row blockidx.Row, stored []byte, into *[]byte) (out data, err error) {
	start := time.Now()
	defer func() {
		d.nanos.Add(int64(time.Since(start)))
		d.blocks.Add(1)
	}()
	if got := czip.CRC(stored); got != row.CRC {
		return data{}, d.a.BlockError(q.Block, row.Off, fault.Corruptf("expected checksum %08x, found %08x", row.CRC, got))
	}
	if d.most > 0 {
		if cost := d.cost(q.Block); cost > d.most {
			return data{}, d.a.BlockError(q.Block, row.Off, fmt.Errorf("%w: expected at most %d bytes, found %d", fault.ErrMemory, d.most, cost))
		}
	}
	c, err := d.chains.Coder(q.Chain, q.Var)
	if err == nil {
		err = filters.ErrWhole
		if p := q.planes; p.count > 0 {
			out = data{q.lo, slice(into, p.len*p.count), p}
			err = c.DecodeRuns(out.b, stored, row.Mask, int(q.Len), filters.Runs{Start: int(q.lo), Len: int(p.len), Stride: int(p.stride), Count: int(p.count)})
		} else if q.lo > 0 || q.hi < q.Len {
			out = data{off: q.lo, b: slice(into, q.hi-q.lo)}
			err = c.DecodeRange(out.b, stored, row.Mask, int(q.Len), int(q.lo))
		}
		if errors.Is(err, filters.ErrWhole) { // a filter was skipped that decodes ranges
			out = data{b: slice(into, q.Len)}
			err = c.Decode(out.b, stored, row.Mask)
		}
	}
	if err != nil {
		if !opening.Refused(err) {
			err = opening.Corrupt(err)
		}
		return data{}, d.a.BlockError(q.Block, row.Off, err)
	}
	if d.CheckPadding && q.Var >= 0 && int64(len(out.b)) == q.Len { // CheckPad needs a whole block
		if err := d.a.L.Geoms[q.Var].CheckPad(q.B, out.b); err != nil {
			return data{}, d.a.BlockError(q.Block, row.Off, err)
		}
	}
	if d.Decoded != nil {
		d.Decoded(q.N)
	}
	return out, nil
}

// slice returns n bytes of scratch memory.
func slice(scratch *[]byte, n int64) []byte {
	if int64(cap(*scratch)) < n {
		*scratch = make([]byte, n)
	}
	return (*scratch)[:n]
}
