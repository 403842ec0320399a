package read

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// blockData holds the bytes of a decoded block from off on, including padding. With runs
// it holds these only, one after the other.
type blockData struct {
	off  int64
	b    []byte
	runs runs
}

// covers reports whether all needed bytes are present.
func (d blockData) covers(q need) bool {
	if d.runs.count == 0 {
		return d.off <= q.lo && q.hi <= d.off+int64(len(d.b))
	}
	return d.runs == q.runs && d.off == q.lo
}

// need stands for the bytes [lo, hi) of a block, or for runs of them. Runs begin at lo and end
// at hi.
type need struct {
	plan.Block
	lo, hi int64
	runs   runs
	// once keeps the block out of the cache, unless it was needed before. again keeps it there
	// in a dense read, too: the next read is likely to need the rest of it.
	once, again bool
}

// runs are the same bytes of several planes of a block: count times len bytes, the starts
// stride bytes apart. The zero value means all bytes.
type runs struct{ len, stride, count int64 }

// bytes returns how many bytes are needed.
func (q need) bytes() int64 {
	if q.runs.count > 0 {
		return q.runs.len * q.runs.count
	}
	return q.hi - q.lo
}

// maxRun bounds the stored bytes that are read together. Single blocks may be longer,
// and a remote archive reads several runs at once.
const (
	maxRun    = 64 << 20
	maxFarRun = 16 << 20
)

// ReadBlock decodes a block into dst, whose length is the decoded length. Damage is a
// *BlockError.
func (a *Reader) ReadBlock(ctx context.Context, b plan.Block, dst []byte) error {
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
	_, err = a.decodeStored(whole(b), row, stored, func(int64) []byte { return dst })
	return err
}

// ReadBlockInTurn is ReadBlock within the limits that reads of values share.
func (a *Reader) ReadBlockInTurn(ctx context.Context, b plan.Block, dst []byte) error {
	taken, err := a.limits.blocks.take(ctx, a.cost(b))
	if err != nil {
		return err
	}
	defer a.limits.blocks.give(taken)
	if err := a.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.slots.Release(1)
	return a.ReadBlock(ctx, b, dst)
}

// DecodeWhole decodes a block whose stored bytes were read into dst, whose length is the decoded
// length.
func (a *Reader) DecodeWhole(ctx context.Context, b plan.Block, row blockidx.Row, stored, dst []byte) error {
	if err := a.FetchAgain(ctx, row, stored); err != nil {
		return err
	}
	_, err := a.decodeStored(whole(b), row, stored, func(int64) []byte { return dst })
	return err
}

// readBlock reads the stored bytes of a block into memory that free returns.
func (a *Reader) readBlock(ctx context.Context, b plan.Block) (row blockidx.Row, stored []byte, free func(), err error) {
	if err = ctx.Err(); err != nil {
		return
	}
	row, err = a.IndexIn(ctx).Row(b.N)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = a.BlockError(b, -1, opening.Corrupt(err))
	}
	if err == nil {
		err = a.CheckRow(b, row)
	}
	if err != nil {
		return
	}
	if stored, free, err = a.ReadStored(ctx, row.Off, row.Len); err != nil {
		return
	}
	if err = a.FetchAgain(ctx, row, stored); err != nil {
		free()
	}
	return
}

// ReadStored reads stored bytes into recycled memory, which free returns, or where they are
// many into memory that grows as they arrive: their number is a claim.
func (a *Reader) ReadStored(ctx context.Context, off, n int64) (stored []byte, free func(), err error) {
	a.reads.Add(1)
	a.bytes.Add(n)
	r := ioat.Bind(ctx, a.R)
	if n > maxRun || n > maxKept && !a.Remote { // reads in parts cost more requests
		stored, err = ioat.ReadBytes(r, off, n)
		free = func() {}
	} else {
		stored, free = memory(n)
		err = ioat.ReadFull(r, stored, off)
	}
	if err != nil {
		free()
		return nil, nil, a.ReadError(err)
	}
	return stored, free, nil
}

// decodeStored checks the stored bytes of a block and decodes at least its needed
// bytes into memory from room.
func (a *Reader) decodeStored(q need, row blockidx.Row, stored []byte, room func(n int64) []byte) (none blockData, err error) {
	start := time.Now()
	d := a.states.Get().(*decoder)
	defer a.states.Put(d)
	defer func() {
		a.nanos.Add(int64(time.Since(start)))
		a.blocks.Add(1)
	}()
	if got := czip.CRC(stored); got != row.CRC {
		return none, a.BlockError(q.Block, row.Off, fault.Corruptf("expected checksum %08x, found %08x", row.CRC, got))
	}
	if cost := a.cost(q.Block); a.most > 0 && cost > a.most {
		return none, a.BlockError(q.Block, row.Off, fmt.Errorf("%w: expected at most %d bytes, found %d", fault.ErrMemory, a.most, cost))
	}
	data, err := d.decode(a.L, q, stored, row.Mask, room)
	if err != nil {
		if !errors.Is(err, filters.ErrUnknownFilter) && !errors.Is(err, filters.ErrUnavailable) {
			err = opening.Corrupt(err)
		}
		return none, a.BlockError(q.Block, row.Off, err)
	}
	if a.CheckPadding && q.Var >= 0 && data.off == 0 && data.runs.count == 0 { // CheckPad ignores parts of blocks
		if err := a.L.Geoms[q.Var].CheckPad(q.B, data.b); err != nil {
			return none, a.BlockError(q.Block, row.Off, err)
		}
	}
	if a.Decoded != nil {
		a.Decoded(q.N)
	}
	return data, nil
}

// whole returns a whole block as a need.
func whole(b plan.Block) need { return need{Block: b, hi: b.Len} }

// partOf returns the part of block b of a variable that must be decoded for its bytes
// [lo, hi). It is the whole block if the filters cannot decode ranges, if the range is
// most of the block, and for remote archives, where fetching a block costs more than
// decoding it.
func (a *Reader) partOf(v int, b, lo, hi int64) need {
	block := a.L.BlockOf(v, b)
	grain := a.grain(v)
	switch {
	case grain == 0 || a.Remote:
		return whole(block)
	case hi-lo > block.Len/2:
		return need{Block: block, hi: block.Len, once: true}
	}
	return need{Block: block, lo: lo / grain * grain, hi: min(plan.CeilDiv(hi, grain)*grain, block.Len), once: true}
}

// grain returns the granularity in bytes at which the filters of a variable decode ranges of
// its blocks, or 0 if they cannot.
func (a *Reader) grain(v int) int64 {
	if g := a.grains[v].Load(); g > 0 {
		return g - 1
	}
	grain := int64(0)
	chain, _ := a.L.BlockInfo(v, 0)
	d := a.states.Get().(*decoder)
	if c, err := d.coder(a.L, chain); err == nil {
		grain = int64(c.Grain(int(a.L.Geoms[v].BlockLen)))
	}
	a.states.Put(d)
	a.grains[v].Store(grain + 1)
	return grain
}

// FetchAgain reads the stored bytes of a block of a remote archive again if their
// checksum is wrong, since they may have been garbled in transit. decodeStored checks
// the second copy.
func (a *Reader) FetchAgain(ctx context.Context, row blockidx.Row, stored []byte) error {
	if !a.Remote || czip.CRC(stored) == row.CRC {
		return nil
	}
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	if err := opening.ReadAgain(ctx, a.R, stored, row.Off); err != nil {
		return a.ReadError(err)
	}
	return nil
}

// AppendStored appends the stored bytes of a block to dst, without decoding them, and
// returns the block's exclusion mask. Their checksum is verified. Damage is a
// *BlockError.
func (a *Reader) AppendStored(ctx context.Context, b plan.Block, dst []byte) (out []byte, mask uint32, err error) {
	if err := ctx.Err(); err != nil {
		return dst, 0, err
	}
	row, err := a.IndexIn(ctx).Row(b.N)
	if err != nil {
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = a.BlockError(b, -1, opening.Corrupt(err))
		}
		return dst, 0, err
	}
	if err := a.CheckRow(b, row); err != nil {
		return dst, 0, err
	}
	stored, free, err := a.ReadStored(ctx, row.Off, row.Len)
	if err != nil {
		return dst, 0, err
	}
	defer free()
	if err := a.FetchAgain(ctx, row, stored); err != nil {
		return dst, 0, err
	}
	if got := czip.CRC(stored); got != row.CRC {
		return dst, 0, a.BlockError(b, row.Off, fault.Corruptf("expected checksum %08x, found %08x", row.CRC, got))
	}
	return append(dst, stored...), row.Mask, nil
}
