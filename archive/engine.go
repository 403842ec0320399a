package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// localGap is the distance of stored extents, in bytes, up to which they are read
// together: reading so much costs no more than another system call.
const localGap = 4 << 10

// engine is the part of a Reader that decodes blocks: its cache, its state and
// its counters.
type engine struct {
	cache  *Cache        // nil: none
	id     int64         // of this reader's blocks in the cache
	states sync.Pool     // of *decoder
	slots  chan struct{} // blocks that may be decoded at the same time
	gap    int64         // of runs
	remote int           // reads that are worth doing at the same time

	blocks, hits, reads, bytes, nanos atomic.Int64
}

// Stats counts what a Reader did since it was opened.
type Stats struct {
	Blocks int64         // decoded
	Hits   int64         // blocks that were in the cache
	Reads  int64         // of stored blocks
	Bytes  int64         // of these reads
	Decode time.Duration // spent decoding, on all goroutines together
}

// Stats returns the counters.
func (a *Reader) Stats() Stats {
	return Stats{a.blocks.Load(), a.hits.Load(), a.reads.Load(), a.bytes.Load(), time.Duration(a.nanos.Load())}
}

// gapper is a reader that says from which distance on a read of its own pays,
// because each of its reads has a latency; several at a time pay too.
type gapper interface{ Gap() int64 }

func (e *engine) init(r io.ReaderAt) {
	e.states.New = func() any { return &decoder{} }
	e.slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	e.gap, e.remote = localGap, 1
	if g, ok := r.(gapper); ok {
		e.gap, e.remote = g.Gap(), 8
	}
}

// openCache makes the cache, or takes the one that is shared.
func (e *engine) openCache(o *ReaderOptions) (err error) {
	switch {
	case o.Shared != nil:
		e.cache = o.Shared
	case o.Cache == 0:
		e.cache, err = NewCache(DefaultCache)
	case o.Cache > 0:
		e.cache, err = NewCache(o.Cache)
	}
	e.id = readers.Add(1)
	return err
}

// indexUntil is the index, whose pages are read until ctx is done.
func (a *Reader) indexUntil(ctx context.Context) *blockidx.Reader {
	r, ok := a.r.(contextReaderAt)
	if !ok {
		return a.index
	}
	idx := zipEntry{name: indexName, stored: a.tail.idxLen, off: a.tail.idxOff}
	return a.index.Using(io.NewSectionReader(withContext{ctx, r}, idx.end()-idx.stored, idx.stored))
}

// readBlock decodes a block into dst, which has its decoded length. Damage is a
// *BlockError.
func (a *Reader) readBlock(ctx context.Context, n int64, dst []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, b := a.l.locate(n)
	row, err := a.indexUntil(ctx).Row(n)
	if err != nil {
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = a.blockError(v, b, -1, corrupt(err))
		}
		return err
	}
	if row.Len > a.size || row.Off > a.size-row.Len {
		return a.blockError(v, b, row.Off, corruptf("%d bytes beyond the end of the archive", row.Len))
	}
	d := a.states.Get().(*decoder)
	defer a.states.Put(d)
	if int64(cap(d.stored)) < row.Len {
		d.stored = make([]byte, row.Len)
	}
	d.stored = d.stored[:row.Len]
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	if err := unlimited.ReadFull(bind(ctx, a.r), d.stored, row.Off); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return a.decodeStored(d, v, b, row, d.stored, dst)
}

// decodeStored checks and decodes the stored bytes of a block into dst.
func (a *Reader) decodeStored(d *decoder, v int, b int64, row blockidx.Row, stored, dst []byte) error {
	start := time.Now()
	defer func() {
		a.nanos.Add(int64(time.Since(start)))
		a.blocks.Add(1)
	}()
	if got := crcOf(stored); got != row.CRC {
		return a.blockError(v, b, row.Off, corruptf("checksum %08x, expected %08x", got, row.CRC))
	}
	chain, _ := a.l.blockInfo(v, b)
	if err := d.decode(a.l, chain, dst, stored, row.Mask); err != nil {
		var unknown *filters.UnknownFilterError
		if !errors.As(err, &unknown) {
			err = corrupt(err)
		}
		return a.blockError(v, b, row.Off, err)
	}
	return nil
}

// cached returns a decoded block, from the cache if there is one. The caller must
// not change it.
func (a *Reader) cached(ctx context.Context, n int64) ([]byte, error) {
	if data, ok := a.peek(n); ok {
		return data, nil
	}
	return a.load(ctx, n, a.readBlock)
}

// load decodes a block by means of read, once however many ask for it at the
// same time, and keeps it.
func (a *Reader) load(ctx context.Context, n int64, read func(ctx context.Context, n int64, dst []byte) error) ([]byte, error) {
	loader := func(ctx context.Context) ([]byte, error) {
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		v, b := a.l.locate(n)
		_, size := a.l.blockInfo(v, b)
		dst := make([]byte, size)
		return dst, read(ctx, n, dst)
	}
	if a.cache == nil {
		return loader(ctx)
	}
	for {
		data, err := a.cache.get(ctx, blockKey{a.id, n}, loader)
		if err != nil && ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
			continue // another caller's context, not ours
		}
		return data, err
	}
}
