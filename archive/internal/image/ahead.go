package image

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/future"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// AheadRun bounds the bytes of one read-ahead request, unless a block is longer.
	AheadRun = 4 << 20
	// aheadBatch is the number of stored bytes requested together.
	aheadBatch = 4 * AheadRun
)

// readAhead fetches the stored bytes of blocks of a remote archive in runs before they are
// needed. It keeps a run until all of its blocks are decoded.
type readAhead struct {
	a      *read.Reader
	ctx    context.Context
	cancel context.CancelFunc
	runs   chan []*fetchedRun
	wg     sync.WaitGroup

	mu     sync.Mutex
	blocks map[int64]fetchedBlock // requested and not yet taken
}

// fetchedRun holds blocks fetched with one request.
type fetchedRun struct {
	ioat.Span
	stored *future.Future[storedRun]
	left   atomic.Int32 // blocks that use stored
}

// storedRun are the bytes of a run.
type storedRun struct {
	buf  []byte
	free func() // recycles buf
}

// fetchedBlock is a block in a run.
type fetchedBlock struct {
	row blockidx.Row
	run *fetchedRun
}

// numbered is a block and its row in the index.
type numbered struct {
	plan.Block
	row blockidx.Row
}

func (b numbered) span() ioat.Span { return ioat.Span{Off: b.row.Off, Len: b.row.Len} }

// newAhead starts reading ahead. The result must be closed.
func newAhead(ctx context.Context, a *read.Reader) *readAhead {
	h := &readAhead{a: a, runs: make(chan []*fetchedRun, 1), blocks: map[int64]fetchedBlock{}}
	h.ctx, h.cancel = context.WithCancel(ctx)
	h.wg.Add(1)
	go h.fetchAll()
	return h
}

// Close ends active requests.
func (h *readAhead) Close() {
	h.cancel()
	close(h.runs)
	h.wg.Wait()
}

// request fetches blocks in the order of their places, after those requested before.
// Blocks with impossible rows are left to ReadBlock, which reports them.
func (h *readAhead) request(blocks []numbered) {
	blocks = slices.DeleteFunc(blocks, func(b numbered) bool { return h.a.CheckRow(b.Block, b.row) != nil })
	slices.SortFunc(blocks, func(x, y numbered) int { return cmp.Compare(x.row.Off, y.row.Off) })
	var runs []*fetchedRun
	h.mu.Lock()
	for span, part := range ioat.Runs(ioat.Joiner{Gap: h.a.Gap, Max: AheadRun}, blocks, numbered.span) {
		run := &fetchedRun{Span: span, stored: future.New[storedRun]()}
		run.left.Store(int32(len(part)))
		for _, b := range part {
			h.blocks[b.N] = fetchedBlock{b.row, run}
		}
		runs = append(runs, run)
	}
	h.mu.Unlock()
	select {
	case h.runs <- runs:
	case <-h.ctx.Done():
		for _, run := range runs {
			run.stored.Set(storedRun{}, h.ctx.Err())
		}
	}
}

// fetchAll fetches runs in the order of the requests, several at a time.
func (h *readAhead) fetchAll() {
	defer h.wg.Done()
	var g errgroup.Group // for its limit: runs keep their errors
	g.SetLimit(h.a.Parallel)
	defer g.Wait()
	for runs := range h.runs {
		for _, run := range runs {
			g.Go(func() error {
				run.stored.Set(h.fetch(run.Span))
				return nil
			})
		}
	}
}

func (h *readAhead) fetch(s ioat.Span) (r storedRun, err error) {
	if err := h.ctx.Err(); err != nil {
		return r, err
	}
	r.buf, r.free, err = h.a.ReadStored(h.ctx, s.Off, s.Len)
	return r, err
}

// ReadBlock is Reader.ReadBlock for a block that may have been requested.
func (h *readAhead) ReadBlock(ctx context.Context, block plan.Block, dst []byte) error {
	h.mu.Lock()
	b, ok := h.blocks[block.N]
	delete(h.blocks, block.N)
	h.mu.Unlock()
	if !ok {
		return h.a.ReadBlock(ctx, block, dst)
	}
	run, err := b.run.stored.Wait(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if b.run.left.Add(-1) == 0 {
			run.free()
		}
	}()
	stored := run.buf[b.row.Off-b.run.Off:][:b.row.Len]
	return h.a.DecodeStored(ctx, block, b.row, stored, dst)
}

// aheadLooks bounds the groups of items in a batch. Without it, a damaged index or
// tiny blocks would make a batch endless.
const aheadLooks = 4

// orderedReadAhead reads ahead in a known order of blocks, item by item. An item is the set
// of blocks first needed by one step of its user. The next batch of items is requested
// when the user begins the first item of the last batch. Therefore the stored bytes in
// memory are at most those of two batches, of aheadBatch and one item each, and those
// of active items.
type orderedReadAhead struct {
	*readAhead
	items int64
	group int64                    // items that are looked up together
	list  func(i int64) []numbered // called for each item once, in order

	looked     [][]numbered // blocks of items from end on
	listed     int64        // number of listed items
	begin, end int64        // the last batch
}

// Begun is called in order before the user begins an item.
func (w *orderedReadAhead) Begun(i int64) error {
	for i >= w.begin && w.end < w.items {
		w.begin = w.end
		var batch []numbered
		for size := int64(0); size < aheadBatch && w.end < min(w.items, w.begin+aheadLooks*w.group); w.end++ {
			if len(w.looked) == 0 {
				if err := w.look(); err != nil {
					return err
				}
			}
			for _, b := range w.looked[0] {
				size += b.row.Len
			}
			batch = append(batch, w.looked[0]...)
			w.looked = w.looked[1:]
		}
		w.request(batch)
	}
	return nil
}

// look finds the blocks of the next items. If the index is damaged there, it skips
// them, and readBlock reports the lost ones.
func (w *orderedReadAhead) look() error {
	if w.listed == 0 {
		if err := w.a.PrepareIndex(w.ctx); err != nil {
			return err
		}
	}
	var all []*numbered
	w.looked = w.looked[:0]
	for ; int64(len(w.looked)) < w.group && w.listed < w.items; w.listed++ {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		list := w.list(w.listed)
		for i := range list {
			all = append(all, &list[i])
		}
		w.looked = append(w.looked, list)
	}
	slices.SortFunc(all, func(x, y *numbered) int { return cmp.Compare(x.N, y.N) })
	numbers := make([]int64, len(all))
	for i, b := range all {
		numbers[i] = b.N
	}
	rows, err := w.a.IndexIn(w.ctx).Lookup(numbers, w.a.Gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		clear(w.looked)
		return nil
	}
	for i := range rows {
		all[i].row = rows[i]
	}
	return err
}

// NewBlocksAhead reads ahead all blocks in the order of their numbers. Each block is an
// item.
func NewBlocksAhead(ctx context.Context, a *read.Reader) *orderedReadAhead {
	if !a.Remote {
		return nil
	}
	list := func(i int64) []numbered { return []numbered{{Block: a.L.BlockAt(i)}} }
	return &orderedReadAhead{readAhead: newAhead(ctx, a), items: a.L.Blocks, group: 4096, list: list}
}
