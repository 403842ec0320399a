package blocks

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// aheadRun bounds the bytes of one read-ahead request, unless a block is longer.
	AheadRun = 4 << 20
	// aheadBatch is the number of stored bytes requested together.
	aheadBatch = 4 * AheadRun
)

// ahead fetches the stored bytes of blocks of a remote archive in runs before they are
// needed. It keeps a run until all of its blocks were taken.
type ahead struct {
	a      *Reader
	ctx    context.Context
	cancel context.CancelFunc
	runs   chan []*fetchedRun
	wg     sync.WaitGroup
	pool   ioat.Buffers // of aheadRun bytes each

	mu     sync.Mutex
	blocks map[int64]fetchedBlock // requested and not yet taken
}

// fetchedRun holds blocks fetched with one request.
type fetchedRun struct {
	off, n int64
	buf    []byte
	err    error
	done   chan struct{} // closed when buf or err is set
	left   atomic.Int32  // blocks that use buf
}

// fetchedBlock is a block in a run.
type fetchedBlock struct {
	row blockidx.Row
	run *fetchedRun
}

// numbered is a block and its row in the index.
type numbered struct {
	n   int64
	row blockidx.Row
}

// newAhead starts reading ahead. The result must be closed.
func (a *Reader) newAhead(ctx context.Context) *ahead {
	h := &ahead{a: a, runs: make(chan []*fetchedRun, 1), blocks: map[int64]fetchedBlock{}}
	h.ctx, h.cancel = context.WithCancel(ctx)
	h.wg.Add(1)
	go h.fetchAll()
	return h
}

// Close ends active requests.
func (h *ahead) Close() {
	h.cancel()
	close(h.runs)
	h.wg.Wait()
}

// ask requests blocks in the order of their places, after those requested before.
// Blocks with impossible rows are left to readBlock, which reports them.
func (h *ahead) ask(blocks []numbered) {
	slices.SortFunc(blocks, func(x, y numbered) int { return cmp.Compare(x.row.Off, y.row.Off) })
	var runs []*fetchedRun
	h.mu.Lock()
	for _, b := range blocks {
		r := b.row
		if h.a.CheckRow(b.n, r) != nil {
			continue
		}
		var run *fetchedRun
		if k := len(runs); k > 0 {
			run = runs[k-1]
		}
		if run == nil || r.Off-(run.off+run.n) >= h.a.gap || r.Off+r.Len-run.off > AheadRun {
			run = &fetchedRun{off: r.Off, done: make(chan struct{})}
			runs = append(runs, run)
		}
		run.n = max(run.n, r.Off+r.Len-run.off)
		run.left.Add(1)
		h.blocks[b.n] = fetchedBlock{r, run}
	}
	h.mu.Unlock()
	select {
	case h.runs <- runs:
	case <-h.ctx.Done():
		for _, run := range runs {
			run.end(h.ctx.Err())
		}
	}
}

func (r *fetchedRun) end(err error) {
	r.err = err
	close(r.done)
}

// fetchAll fetches runs in the order of the requests, several at a time.
func (h *ahead) fetchAll() {
	defer h.wg.Done()
	slots := make(chan struct{}, h.a.remote)
	for runs := range h.runs {
		for _, run := range runs {
			select {
			case slots <- struct{}{}:
			case <-h.ctx.Done():
				run.end(h.ctx.Err())
				continue
			}
			h.wg.Add(1)
			go func() {
				defer h.wg.Done()
				run.end(h.fetch(run))
				<-slots
			}()
		}
	}
}

func (h *ahead) fetch(run *fetchedRun) error {
	h.a.reads.Add(1)
	h.a.bytes.Add(run.n)
	r := ioat.Bind(h.ctx, h.a.r)
	var err error
	switch {
	case run.n > maxRun: // a claim that nothing confirms
		run.buf, err = ioat.ReadBytes(r, run.off, run.n)
	case run.n > AheadRun/2 && run.n <= AheadRun:
		run.buf = h.pool.Get(AheadRun)[:run.n]
		err = ioat.ReadFull(r, run.buf, run.off)
	default:
		run.buf = make([]byte, run.n)
		err = ioat.ReadFull(r, run.buf, run.off)
	}
	if err != nil {
		return h.a.readError(err)
	}
	return nil
}

// ReadBlock is Reader.ReadBlock for a block that may have been requested.
func (h *ahead) ReadBlock(ctx context.Context, n int64, dst []byte) error {
	h.mu.Lock()
	b, ok := h.blocks[n]
	delete(h.blocks, n)
	h.mu.Unlock()
	if !ok {
		return h.a.ReadBlock(ctx, n, dst)
	}
	select {
	case <-b.run.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.run.err != nil {
		return b.run.err
	}
	defer h.drop(b.run)
	stored := b.run.buf[b.row.Off-b.run.off:][:b.row.Len]
	if err := h.a.fetchAgain(ctx, b.row, stored); err != nil {
		return err
	}
	d := h.a.states.Get().(*decoder)
	defer h.a.states.Put(d)
	_, err := h.a.decodeStored(d, h.a.Whole(n), b.row, stored, func(int64) []byte { return dst })
	return err
}

// drop is called when a block of a run has been decoded.
func (h *ahead) drop(r *fetchedRun) {
	if r.left.Add(-1) == 0 && cap(r.buf) == AheadRun {
		h.pool.Put(r.buf)
	}
}
