package blocks

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// localGap is the distance in bytes up to which stored extents are read together.
// Reading that many bytes costs no more than another system call.
const LocalGap = 4 << 10

// engine is the part of a Reader that decodes blocks: cache, state and counters.
type engine struct {
	cache   *BlockCache // nil for none
	id      int64       // of this reader's blocks in the cache
	states  sync.Pool   // of *decoder
	flights flights
	lent    sync.Pool // of *[]byte, for blocks that bypass the cache
	Workers int       // blocks that may be decoded at the same time
	slots   *semaphore.Weighted
	far     *far  // of a remote archive, else nil
	gap     int64 // of runs
	remote  int   // useful number of simultaneous reads

	grains func() []int64 // grainsOf, once

	CheckPadding bool // whether the padding of short blocks is checked

	blocks, hits, reads, bytes, nanos atomic.Int64
}

// stats counts the work of a reader since it was opened.
type stats struct {
	Blocks int64         // decoded
	Hits   int64         // blocks that were in the cache
	Reads  int64         // reads of stored blocks
	Bytes  int64         // bytes of these reads
	Decode time.Duration // time for decoding, sum of all goroutines
}

// Stats returns the counters.
func (a *Reader) Stats() stats {
	return stats{a.blocks.Load(), a.hits.Load(), a.reads.Load(), a.bytes.Load(), time.Duration(a.nanos.Load())}
}

func (e *engine) init(r io.ReaderAt, workers int) {
	e.states.New = func() any { return &decoder{} }
	e.flights.Free = e.free
	if e.Workers = workers; workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	e.slots = semaphore.NewWeighted(int64(e.Workers))
	e.gap, e.remote = LocalGap, 1
	if gap := ioat.Gap(r); gap > 0 {
		e.gap, e.remote = gap, 8
		e.far = newFar(e.remote)
	}
}

// openCache makes the cache or takes the shared one.
func (e *engine) openCache(o *ReadOptions) (err error) {
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

// indexUntil returns the index with its pages read under ctx.
func (a *Reader) indexUntil(ctx context.Context) *blockidx.Reader {
	if _, ok := a.r.(ioat.ContextReaderAt); !ok {
		return a.Index
	}
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: a.Tail.IdxLen, Off: a.Tail.IdxOff}
	return a.Index.Using(ioat.NewSection(ioat.Bind(ctx, a.r), idx.End()-idx.Stored, idx.Stored))
}

// ReadBlock decodes a block into dst, whose length is the decoded length. Damage is a
// *BlockError.
func (a *Reader) ReadBlock(ctx context.Context, b format.Block, dst []byte) error {
	_, err := a.readNeed(ctx, whole(b), func(int64) []byte { return dst })
	return err
}

// CheckRow checks the place of a block, which is a claim of the index, against the
// stored length that the format allows for its decoded length.
func (a *Reader) CheckRow(b format.Block, row blockidx.Row) error {
	switch {
	case row.Off < 0 || row.Len > a.Size || row.Off > a.Size-row.Len:
		return a.blockError(b, row.Off, fault.Corruptf("%d bytes beyond the end of the archive", row.Len))
	case row.Len > MaxStored(b.Len):
		return a.blockError(b, row.Off, fault.Corruptf("%d bytes stored for a block of %d, more than the format allows", row.Len, b.Len))
	}
	return nil
}

// MaxStored returns the largest stored length of a block with the given decoded length
// (docs/FORMAT.md, "Limits").
func MaxStored(decoded int64) int64 { return filters.MaxLen(decoded) }

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
		var unknown *filters.UnknownFilterError
		if !errors.As(err, &unknown) {
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

// eachNeed calls use with the needed parts of blocks: those in the cache first, then
// the others, read in runs and decoded on several goroutines. They bypass the cache if
// it cannot hold them all. use must not keep or change them.
func (a *Reader) eachNeed(ctx context.Context, needs iter.Seq[need], use func(need, blockData) error) error {
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
