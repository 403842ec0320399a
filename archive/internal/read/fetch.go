package read

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// maxRun and maxRemoteRun bound the stored bytes that are read together. Single blocks may be
// longer, and a remote archive reads several runs at once.
const (
	maxRun       = 64 << 20
	maxRemoteRun = 16 << 20
)

// remoteReads is the useful number of simultaneous reads of a remote archive.
const remoteReads = 8

// fetcher reads stored bytes.
type fetcher struct {
	a *opening.Archive

	// Parallel is the useful number of simultaneous reads.
	Parallel int

	// memory bounds the stored bytes of runs that wait for their blocks to be decoded. Each takes at
	// least share bytes, which bounds the number of simultaneous reads of a remote archive.
	memory *budget
	share  int64

	reads, bytes *atomic.Int64
}

func newFetcher(a *opening.Archive, l *limits) fetcher {
	f := fetcher{a: a, Parallel: 1, memory: l.stored, reads: new(atomic.Int64), bytes: new(atomic.Int64)}
	if a.Remote {
		// Readers of other archives must not wait for a slow server.
		f.Parallel, f.memory = remoteReads, newBudget(remoteReads*maxRemoteRun)
		f.share = f.memory.size / int64(max(remoteReads, runtime.GOMAXPROCS(0)))
	}
	return f
}

// maxTrusted is the longest part of a local file for which memory is taken before its bytes have arrived.
const maxTrusted = 8 << 20

// ReadStored reads stored bytes into recycled memory, which free returns, or where they are
// many into memory that grows as they arrive: their number is a claim.
func (f *fetcher) ReadStored(ctx context.Context, off, n int64) (stored []byte, free func(), err error) {
	f.reads.Add(1)
	f.bytes.Add(n)
	r := ioat.Bind(ctx, f.a.R)
	if n > maxRun || n > maxTrusted && !f.a.Remote { // reads in parts cost more requests
		stored, err = ioat.ReadBytes(r, off, n)
		free = func() {}
	} else {
		stored = recycled.Get(n)
		free = func() { recycled.Put(stored) }
		err = ioat.ReadFull(r, stored, off)
	}
	if err != nil {
		free()
		return nil, nil, f.a.ReadError(err)
	}
	return stored, free, nil
}

// readAgain reads the stored bytes of a block of a remote archive again if their
// checksum is wrong, since they may have been garbled in transit. The caller must check
// the second copy.
func (f *fetcher) readAgain(ctx context.Context, row blockidx.Row, stored []byte) error {
	if !f.a.Remote || czip.CRC(stored) == row.CRC {
		return nil
	}
	f.reads.Add(1)
	f.bytes.Add(row.Len)
	if err := opening.ReadAgain(ctx, f.a.R, stored, row.Off); err != nil {
		return f.a.ReadError(err)
	}
	return nil
}

// readBlock reads the stored bytes of a block into memory that free returns.
func (f *fetcher) readBlock(ctx context.Context, b plan.Block) (row blockidx.Row, stored []byte, free func(), err error) {
	if row, err = f.a.Row(ctx, b); err != nil {
		return
	}
	if stored, free, err = f.ReadStored(ctx, row.Off, row.Len); err != nil {
		return
	}
	if err = f.readAgain(ctx, row, stored); err != nil {
		free()
	}
	return
}

// AppendStored appends the stored bytes of a block to dst, without decoding them, and
// returns the block's exclusion mask. Their checksum is verified. Damage is a
// *BlockError.
func (f *fetcher) AppendStored(ctx context.Context, b plan.Block, dst []byte) (out []byte, mask uint32, err error) {
	row, stored, free, err := f.readBlock(ctx, b)
	if err != nil {
		return dst, 0, err
	}
	defer free()
	if got := czip.CRC(stored); got != row.CRC {
		return dst, 0, f.a.BlockError(b, row.Off, fault.Corruptf("expected checksum %08x, found %08x", row.CRC, got))
	}
	return append(dst, stored...), row.Mask, nil
}
