package archive

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/filters"
)

// blockJob is a block on its way from the cutter to the archive.
type blockJob struct {
	v   int   // position in vars, -1: the rest
	b   int64 // number among the variable's or the rest's blocks
	raw []byte

	// set by encode
	out     []byte // local header and stored bytes
	entry   zipEntry
	err     error
	encoded chan struct{}
}

// encoder turns blocks into entries; one for each goroutine.
type encoder struct {
	l      *layout
	coders []*filters.Coder // by chain, made when first needed
	name   []byte
	memo   []constBlock // by chain
}

// constBlock is the last block of one repeated value that a chain encoded. Masked
// areas and unwritten records make long rows of them.
type constBlock struct {
	raw8    [8]byte
	n       int
	payload []byte
	mask    uint32
}

func newEncoder(l *layout) *encoder {
	return &encoder{l: l, coders: make([]*filters.Coder, len(l.filters)), memo: make([]constBlock, len(l.filters))}
}

// coder returns the coder of a chain.
func (e *encoder) coder(chain int) (*filters.Coder, error) {
	if e.coders[chain] == nil {
		c, err := filters.NewCoder(e.l.filters[chain])
		if err != nil {
			return nil, err
		}
		e.coders[chain] = c
	}
	return e.coders[chain], nil
}

// headRoom is kept before the stored bytes for the local header, whose length
// depends on the mask: a fixed part, a name, and 8 bytes of extra field.
const headRoom = localFixed + maxEntryName + 8

// encode fills in out and entry. out is reused from an earlier job if it can be.
func (e *encoder) encode(j *blockJob) {
	chain, _ := e.l.blockInfo(j.v, j.b)
	if cap(j.out) < headRoom {
		j.out = make([]byte, headRoom, headRoom+len(j.raw)+len(j.raw)/8+64)
	}
	var mask uint32
	out := j.out[:headRoom]
	if m := &e.memo[chain]; m.n == len(j.raw) && isConst(j.raw) && bytes.Equal(m.raw8[:], j.raw[:8]) {
		out, mask = append(out, m.payload...), m.mask
	} else if j.v < 0 && j.b == 0 && len(j.raw) > maxFirst {
		// The format stores so long a header without filters.
		mask = 1<<len(e.l.filters[chain]) - 1
		out = append(out, j.raw...)
	} else {
		var c *filters.Coder
		if c, j.err = e.coder(chain); j.err == nil {
			out, mask, j.err = c.Encode(out, j.raw)
		}
		if j.err == nil && isConst(j.raw) {
			copy(m.raw8[:], j.raw)
			m.n, m.mask = len(j.raw), mask
			m.payload = append(m.payload[:0], out[headRoom:]...)
		}
	}
	if j.err != nil {
		j.err = newBlockError(e.l, nil, j.v, j.b, -1, j.err)
		return
	}
	e.name = e.l.appendName(e.name[:0], j.v, j.b)
	payload := out[headRoom:]
	n := int64(len(payload))
	j.entry = zipEntry{name: string(e.name), crc: crcOf(payload), stored: n, size: n, mask: mask}
	at := headRoom - j.entry.localLen()
	j.entry.appendLocal(out[at:at])
	j.out = out
}

// bytes are the local header and stored bytes of an encoded job.
func (j *blockJob) bytes() []byte { return j.out[headRoom-j.entry.localLen():] }

// isConst says whether a block repeats its first 8 bytes.
func isConst(b []byte) bool {
	return len(b) >= 64 && bytes.Equal(b[8:64], b[:56]) && bytes.Equal(b[8:], b[:len(b)-8])
}

// pipeline encodes jobs on several goroutines and hands them on in order.
type pipeline struct {
	caller  context.Context
	ctx     context.Context // of caller, until something fails
	cancel  context.CancelCauseFunc
	work    chan *blockJob
	ordered chan *blockJob
	done    chan error // of the committer
	wg      sync.WaitGroup
	pool    bufferPool
}

// startPipeline starts workers; commit gets each job, encoded, in the order of
// submit. Bounded memory: at most 4 blocks a worker are on their way.
func startPipeline(ctx context.Context, l *layout, workers int, commit func(*blockJob) error) *pipeline {
	workers = int(min(int64(workers), l.blocks))
	p := &pipeline{
		work:    make(chan *blockJob, workers),
		ordered: make(chan *blockJob, 2*workers),
		done:    make(chan error, 1),
	}
	p.caller = ctx
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	for range workers {
		p.wg.Add(1)
		go func() {
			defer p.wg.Done()
			e := newEncoder(l)
			for j := range p.work {
				e.encode(j)
				close(j.encoded)
			}
		}()
	}
	go func() { p.done <- p.commitAll(commit) }()
	return p
}

func (p *pipeline) commitAll(commit func(*blockJob) error) error {
	var failed error
	for j := range p.ordered {
		<-j.encoded
		if failed == nil {
			if failed = j.err; failed == nil {
				failed = commit(j)
			}
			if failed != nil {
				p.cancel(failed)
			}
		}
		p.pool.put(j.raw)
		p.pool.put(j.out)
	}
	return failed
}

// buffer gives memory for a block; submit takes it over.
func (p *pipeline) buffer(n int64) []byte { return p.pool.get(n) }

// submit queues a block.
func (p *pipeline) submit(j *blockJob) error {
	j.encoded = make(chan struct{})
	j.out = p.pool.get(int64(headRoom + len(j.raw)/2))
	select {
	case p.ordered <- j:
	case <-p.ctx.Done():
		return whyDone(p.caller, p.ctx)
	}
	p.work <- j // never blocks for long: workers drain it to the end
	return nil
}

// finish waits for all jobs; cutErr is why no more come.
func (p *pipeline) finish(cutErr error) error {
	close(p.work)
	close(p.ordered)
	p.wg.Wait()
	err := <-p.done
	p.cancel(nil)
	if err != nil {
		return err
	}
	return cutErr
}

// bufferPool recycles the buffers of blocks. The zero value is ready.
type bufferPool struct {
	mu   sync.Mutex
	free [][]byte
}

// maxFree bounds what the pool keeps: what the queues of a pipeline can hold.
const maxFree = 32

// get returns a buffer of n bytes, of any content.
func (p *bufferPool) get(n int64) []byte {
	p.mu.Lock()
	for i := len(p.free) - 1; i >= 0; i-- {
		if b := p.free[i]; int64(cap(b)) >= n && int64(cap(b)) <= 4*n+4096 {
			p.free = slices.Delete(p.free, i, i+1)
			p.mu.Unlock()
			return b[:n]
		}
	}
	p.mu.Unlock()
	return make([]byte, n)
}

func (p *bufferPool) put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) >= maxFree {
		p.free = p.free[1:]
	}
	p.free = append(p.free, b)
}
