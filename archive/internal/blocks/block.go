package blocks

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// blockData holds the bytes of a decoded block from off on, including padding.
type blockData struct {
	off int64
	b   []byte
}

// covers reports whether all needed bytes are present.
func (d blockData) covers(q need) bool { return d.off <= q.lo && q.hi <= d.off+int64(len(d.b)) }

// need stands for the bytes [lo, hi) of a block.
type need struct {
	format.Block
	lo, hi int64
}

// maxRun bounds the stored bytes that are read together. Single blocks may be longer,
// and a remote archive reads several runs at once.
const (
	maxRun    = 64 << 20
	maxFarRun = 16 << 20
)

// ReadBlock decodes a block into dst, whose length is the decoded length. Damage is a
// *BlockError.
func (a *Reader) ReadBlock(ctx context.Context, b format.Block, dst []byte) error {
	_, err := a.readNeed(ctx, whole(b), func(int64) []byte { return dst })
	return err
}

// readNeed reads a block and decodes at least its needed bytes into memory from room.
func (a *Reader) readNeed(ctx context.Context, q need, room func(n int64) []byte) (none blockData, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	row, err := a.indexUntil(ctx).Row(q.N)
	if err != nil {
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = a.blockError(q.Block, -1, Corrupt(err))
		}
		return none, err
	}
	if err := a.CheckRow(q.Block, row); err != nil {
		return none, err
	}
	d := a.states.Get().(*decoder)
	defer a.states.Put(d)
	stored, err := a.readStored(ctx, d, row.Off, row.Len)
	if err != nil {
		return none, err
	}
	if err := a.fetchAgain(ctx, row, stored); err != nil {
		return none, err
	}
	if a.far != nil {
		if err := a.slots.Acquire(ctx, 1); err != nil {
			return none, err
		}
		defer a.slots.Release(1)
	}
	return a.decodeStored(d, q, row, stored, room)
}

// readStored reads stored bytes into memory of d, or where they are many into memory that
// grows as they arrive: their number is a claim.
func (a *Reader) readStored(ctx context.Context, d *decoder, off, n int64) (stored []byte, err error) {
	a.reads.Add(1)
	a.bytes.Add(n)
	r := ioat.Bind(ctx, a.r)
	if n > maxRun || n > maxKept && a.far == nil { // reads in parts cost more requests
		stored, err = ioat.ReadBytes(r, off, n)
	} else {
		stored = d.memory(n)
		err = ioat.ReadFull(r, stored, off)
	}
	if err != nil {
		return nil, a.readError(err)
	}
	return stored, nil
}

// ReadStored returns the stored bytes of a block, whose filters were all applied. Damage is
// a *BlockError.
func (a *Reader) ReadStored(ctx context.Context, b format.Block) ([]byte, error) {
	row, err := a.indexUntil(ctx).Row(b.N)
	if err != nil {
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = a.blockError(b, -1, Corrupt(err))
		}
		return nil, err
	}
	if err := a.CheckRow(b, row); err != nil {
		return nil, err
	}
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	stored, err := ioat.ReadBytes(ioat.Bind(ctx, a.r), row.Off, row.Len)
	if err != nil {
		return nil, a.readError(err)
	}
	if got := czip.CRC(stored); got != row.CRC || row.Mask != 0 {
		return nil, a.blockError(b, row.Off, fault.Corruptf("checksum %08x and mask %x, expected %08x and 0", got, row.Mask, row.CRC))
	}
	return stored, nil
}

// decodeStored checks the stored bytes of a block and decodes at least its needed
// bytes into memory from room.
func (a *Reader) decodeStored(d *decoder, q need, row blockidx.Row, stored []byte, room func(n int64) []byte) (none blockData, err error) {
	start := time.Now()
	defer func() {
		a.nanos.Add(int64(time.Since(start)))
		a.blocks.Add(1)
	}()
	if got := czip.CRC(stored); got != row.CRC {
		return none, a.blockError(q.Block, row.Off, fault.Corruptf("checksum %08x, expected %08x", got, row.CRC))
	}
	data, err := d.decode(a.L, q, stored, row.Mask, room)
	if err != nil {
		if !errors.Is(err, filters.ErrUnknownFilter) && !errors.Is(err, filters.ErrUnavailable) {
			err = Corrupt(err)
		}
		return none, a.blockError(q.Block, row.Off, err)
	}
	if a.CheckPadding && q.Var >= 0 && data.off == 0 { // CheckPad ignores parts of blocks
		if err := a.L.Geoms[q.Var].CheckPad(q.B, data.b); err != nil {
			return none, a.blockError(q.Block, row.Off, err)
		}
	}
	return data, nil
}

// whole returns a whole block as a need.
func whole(b format.Block) need { return need{b, 0, b.Len} }

// partOf returns the part of block b of a variable that must be decoded for its bytes
// [lo, hi). It is the whole block if the filters cannot decode ranges, if the range is
// most of the block, and for remote archives, where fetching a block costs more than
// decoding it.
func (a *Reader) partOf(v int, b, lo, hi int64) need {
	block := a.L.BlockOf(v, b)
	grain := a.grains()[v]
	if grain == 0 || a.far != nil || hi-lo > block.Len/2 {
		return whole(block)
	}
	return need{block, lo / grain * grain, min(format.CeilDiv(hi, grain)*grain, block.Len)}
}

// grainsOf returns the granularity in bytes at which the filters of each variable
// decode ranges of its blocks, or 0 if they cannot.
func grainsOf(l *format.Resolved) []int64 {
	d := new(decoder)
	grains := make([]int64, len(l.Geoms))
	for v, g := range l.Geoms {
		chain, _ := l.BlockInfo(v, 0)
		if c, err := d.coder(l, chain); err == nil {
			grains[v] = int64(c.Grain(int(g.BlockLen)))
		}
	}
	return grains
}

// fetchAgain reads the stored bytes of a block of a remote archive again if their
// checksum is wrong, since they may have been garbled in transit. decodeStored checks
// the second copy.
func (a *Reader) fetchAgain(ctx context.Context, row blockidx.Row, stored []byte) error {
	if a.far == nil || czip.CRC(stored) == row.CRC {
		return nil
	}
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	if err := ReadAgain(ctx, a.r, stored, row.Off); err != nil {
		return a.readError(err)
	}
	return nil
}

// ReadAgain reads bytes that were wrong the first time.
func ReadAgain(ctx context.Context, r io.ReaderAt, p []byte, off int64) error {
	return ioat.ReadFull(ioat.Bind(ioat.Reread(ctx), r), p, off)
}
