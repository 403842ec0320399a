package archive

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// localGap is the distance of stored extents, in bytes, up to which they are read
// together: reading so much costs no more than another system call.
const localGap = 4 << 10

// engine is the part of a Reader that decodes blocks: its cache, its state and
// its counters.
type engine struct {
	cache   *blockCache // nil: none
	id      int64       // of this reader's blocks in the cache
	states  sync.Pool   // of *decoder
	flights flights
	slots   chan struct{} // blocks that may be decoded at the same time
	far     *far          // of a remote archive, else nil
	gap     int64         // of runs
	remote  int           // reads that are worth doing at the same time

	blocks, hits, reads, bytes, nanos atomic.Int64
}

// stats counts what a reader did since it was opened.
type stats struct {
	Blocks int64         // decoded
	Hits   int64         // blocks that were in the cache
	Reads  int64         // of stored blocks
	Bytes  int64         // of these reads
	Decode time.Duration // spent decoding, on all goroutines together
}

// Stats returns the counters.
func (a *reader) Stats() stats {
	return stats{a.blocks.Load(), a.hits.Load(), a.reads.Load(), a.bytes.Load(), time.Duration(a.nanos.Load())}
}

func (e *engine) init(r io.ReaderAt) {
	e.states.New = func() any { return &decoder{} }
	e.slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	e.gap, e.remote = localGap, 1
	if gap := ioat.Gap(r); gap > 0 {
		e.gap, e.remote = gap, 8
		e.far = newFar(e.remote)
	}
}

// openCache makes the cache, or takes the one that is shared.
func (e *engine) openCache(o *readOptions) (err error) {
	switch {
	case o.shared != nil:
		e.cache = o.shared
	case o.cache == 0:
		e.cache, err = newCache(defaultCache)
	case o.cache > 0:
		e.cache, err = newCache(o.cache)
	}
	e.id = readers.Add(1)
	return err
}

// indexUntil is the index, whose pages are read until ctx is done.
func (a *reader) indexUntil(ctx context.Context) *blockidx.Reader {
	if _, ok := a.r.(ioat.ContextReaderAt); !ok {
		return a.index
	}
	idx := zipEntry{name: indexName, stored: a.tail.idxLen, off: a.tail.idxOff}
	return a.index.Using(io.NewSectionReader(ioat.Bind(ctx, a.r), idx.end()-idx.stored, idx.stored))
}

// readBlock decodes a block into dst, which has its decoded length. Damage is a
// *BlockError.
func (a *reader) readBlock(ctx context.Context, n int64, dst []byte) error {
	_, err := a.readNeed(ctx, a.whole(n), func(int64) []byte { return dst })
	return err
}

// checkRow checks the place of a block, which is a claim of the index: no more is
// read than what the format allows for its decoded length.
func (a *reader) checkRow(n int64, row blockidx.Row) error {
	v, b := a.l.locate(n)
	_, size := a.l.blockInfo(v, b)
	switch {
	case row.Off < 0 || row.Len > a.size || row.Off > a.size-row.Len:
		return a.blockError(v, b, row.Off, corruptf("%d bytes beyond the end of the archive", row.Len))
	case row.Len > maxStored(size):
		return a.blockError(v, b, row.Off, corruptf("%d bytes stored for a block of %d, more than the format allows", row.Len, size))
	}
	return nil
}

// maxStored is how many bytes a block of so many may be stored in (docs/FORMAT.md,
// section 14).
func maxStored(decoded int64) int64 { return filters.MaxLen(decoded) }

// readNeed reads a block and decodes at least what is needed of it, in memory that
// room gives.
func (a *reader) readNeed(ctx context.Context, q need, room func(n int64) []byte) (none blockData, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	v, b := a.l.locate(q.n)
	row, err := a.indexUntil(ctx).Row(q.n)
	if err != nil {
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = a.blockError(v, b, -1, corrupt(err))
		}
		return none, err
	}
	if err := a.checkRow(q.n, row); err != nil {
		return none, err
	}
	d := a.states.Get().(*decoder)
	defer a.states.Put(d)
	stored := d.memory(row.Len)
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	if err := ioat.ReadFull(ioat.Bind(ctx, a.r), stored, row.Off); err != nil {
		return none, a.readError(err)
	}
	if err := a.fetchAgain(ctx, row, stored); err != nil {
		return none, err
	}
	if a.far != nil {
		if err := enter(ctx, a.slots); err != nil {
			return none, err
		}
		defer leave(a.slots)
	}
	return a.decodeStored(d, q, row, stored, room)
}

// decodeStored checks the stored bytes of a block and decodes at least what is
// needed of them, in memory that room gives.
func (a *reader) decodeStored(d *decoder, q need, row blockidx.Row, stored []byte, room func(n int64) []byte) (none blockData, err error) {
	start := time.Now()
	defer func() {
		a.nanos.Add(int64(time.Since(start)))
		a.blocks.Add(1)
	}()
	v, b := a.l.locate(q.n)
	if got := crcOf(stored); got != row.CRC {
		return none, a.blockError(v, b, row.Off, corruptf("checksum %08x, expected %08x", got, row.CRC))
	}
	data, err := d.decode(a.l, q, stored, row.Mask, room)
	if err != nil {
		var unknown *filters.UnknownFilterError
		if !errors.As(err, &unknown) {
			err = corrupt(err)
		}
		return none, a.blockError(v, b, row.Off, err)
	}
	return data, nil
}

// whole is a block as a need.
func (a *reader) whole(n int64) need {
	v, b := a.l.locate(n)
	_, size := a.l.blockInfo(v, b)
	return need{n, 0, size}
}

// needOf is what must be decoded of block b of a variable, or of the rest: all of it.
func (a *reader) needOf(v int, b int64) need {
	_, size := a.l.blockInfo(v, b)
	n := a.l.restFirst + b
	if v >= 0 {
		n = a.l.geoms[v].first + b
	}
	return need{n, 0, size}
}

// eachNeed calls use with what is needed of blocks: those in the cache first, then
// the others, read in runs and decoded on several goroutines. Where they are more
// than the cache can hold they do not go there. use must not keep or change them.
func (a *reader) eachNeed(ctx context.Context, needs iter.Seq[need], use func(need, blockData) error) error {
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
		bytes += q.hi - q.lo
	}
	keep := a.cache != nil && bytes <= a.cache.bytes
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return a.load(ctx, missing[0], keep, a.reading(), a.readNeed, func(data blockData) error { return use(missing[0], data) })
	}
	return a.loadAll(ctx, missing, keep, use)
}
