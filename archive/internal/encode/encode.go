// Package encode makes the blocks of archives: it cuts an image into blocks, or takes them from
// another archive, and encodes them on several goroutines, in order.
package encode

import (
	"bytes"
	"context"
	"hash/maphash"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// BlockJob is a block on its way from the cutter to the archive.
type BlockJob struct {
	V   int   // position in vars, or -1 for the rest
	B   int64 // number among the variable's or the rest's blocks
	Raw []byte

	// Load, if not nil, fills Raw before it is encoded. Stored, if not nil, appends the
	// stored bytes to dst, which are then not encoded.
	Load   func() error
	Stored func(dst []byte) (out []byte, mask uint32, err error)

	// set by encode
	Out     []byte // local header and stored bytes
	Entry   czip.ZipEntry
	Err     error
	encoded chan struct{}
}

// Encoder turns blocks into entries. Each goroutine has one.
type Encoder struct {
	L      *plan.Resolved
	Known  *Known // encoded blocks of other layouts, or nil
	chains *read.Chains
	name   []byte
	memo   []constBlock // by chain
}

// constBlock is the last encoded block of one repeated value, by chain. Masked areas
// and unwritten records consist of many such blocks.
type constBlock struct {
	raw8    [8]byte
	n       int
	payload []byte
	mask    uint32
}

func NewEncoder(l *plan.Resolved) *Encoder {
	return &Encoder{L: l, chains: read.NewChains(l), memo: make([]constBlock, len(l.Filters))}
}

// knownLimit bounds the bytes that Known keeps.
const knownLimit = 16 << 20

// Known keeps encoded blocks, for images that are archived in several layouts with many
// blocks in common. It is safe for concurrent use. Nil keeps nothing.
type Known struct {
	seed   maphash.Seed
	mu     sync.Mutex
	blocks map[knownKey]knownBlock
	bytes  int
	memory []byte       // of the blocks
	pool   ioat.Buffers // of pipelines
}

// knowns recycles the memory of released ones.
var knowns = sync.Pool{New: func() any { return &Known{seed: maphash.MakeSeed(), blocks: map[knownKey]knownBlock{}} }}

type knownKey struct {
	chain string
	hash  uint64
}

type knownBlock struct {
	raw, payload []byte
	mask         uint32
}

// NewKnown returns one without blocks. Release recycles its memory.
func NewKnown() *Known { return knowns.Get().(*Known) }

// recycled is the capacity up to which the memory of a Known is used again.
const recycled = 1 << 20

// Release ends the use of k.
func (k *Known) Release() {
	clear(k.blocks)
	k.bytes = 0
	if k.memory = k.memory[:0]; cap(k.memory) > recycled {
		k.memory, k.pool = nil, ioat.Buffers{}
	}
	knowns.Put(k)
}

// keep copies b.
func (k *Known) keep(b []byte) []byte {
	if cap(k.memory)-len(k.memory) < len(b) { // earlier blocks keep the memory that they have
		k.memory = make([]byte, 0, max(len(b), 2*cap(k.memory), 64<<10))
	}
	at := len(k.memory)
	k.memory = append(k.memory, b...)
	return k.memory[at:len(k.memory):len(k.memory)]
}

// Encode is Encode of a coder.
func (k *Known) Encode(c *filters.Coder, dst, raw []byte) (out []byte, mask uint32, err error) {
	if k == nil || filters.Observed() {
		return c.Encode(dst, raw)
	}
	key := knownKey{c.Chain().String(), maphash.Bytes(k.seed, raw)}
	k.mu.Lock()
	b, ok := k.blocks[key]
	k.mu.Unlock()
	if ok && bytes.Equal(b.raw, raw) {
		return append(dst, b.payload...), b.mask, nil
	}
	if out, mask, err = c.Encode(dst, raw); err != nil {
		return out, mask, err
	}
	payload := out[len(dst):]
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(raw) + len(payload); k.bytes+n <= knownLimit {
		k.bytes += n
		k.blocks[key] = knownBlock{k.keep(raw), k.keep(payload), mask}
	}
	return out, mask, nil
}

// headRoom is reserved before the stored bytes for the local header, whose length
// depends on the mask: a fixed part, a name, and 8 bytes of extra field.
const headRoom = czip.LocalFixed + plan.MaxEntryName + 8

// Encode fills in Out and Entry. Out is reused from an earlier job if possible.
func (e *Encoder) Encode(j *BlockJob) {
	chain, _ := e.L.BlockInfo(j.V, j.B)
	if cap(j.Out) < headRoom {
		j.Out = make([]byte, headRoom, headRoom+len(j.Raw)+len(j.Raw)/8+64)
	}
	var mask uint32
	out := j.Out[:headRoom]
	if j.Load != nil {
		if j.Err = j.Load(); j.Err != nil {
			return
		}
	}
	if j.Stored != nil {
		if out, mask, j.Err = j.Stored(out); j.Err != nil {
			return
		}
	} else if m := &e.memo[chain]; !filters.Observed() && m.n == len(j.Raw) && isConst(j.Raw) && bytes.Equal(m.raw8[:], j.Raw[:8]) {
		out, mask = append(out, m.payload...), m.mask
	} else if j.V < 0 && j.B == 0 && len(j.Raw) > plan.MaxFirst {
		// The format stores such long headers without filters.
		mask = 1<<len(e.L.Filters[chain]) - 1
		out = append(out, j.Raw...)
	} else {
		var c *filters.Coder
		if c, j.Err = e.chains.Coder(chain, j.V); j.Err == nil {
			out, mask, j.Err = e.Known.Encode(c, out, j.Raw)
		}
		if j.Err == nil && isConst(j.Raw) {
			copy(m.raw8[:], j.Raw)
			m.n, m.mask = len(j.Raw), mask
			m.payload = append(m.payload[:0], out[headRoom:]...)
		}
	}
	if j.Err != nil {
		j.Err = plan.NewBlockError(e.L, nil, j.V, j.B, -1, j.Err)
		return
	}
	e.name = e.L.AppendName(e.name[:0], j.V, j.B)
	payload := out[headRoom:]
	n := int64(len(payload))
	j.Entry = czip.ZipEntry{Name: string(e.name), Crc: czip.CRC(payload), Stored: n, Size: n, Mask: mask}
	at := headRoom - j.Entry.LocalLen()
	j.Entry.AppendLocal(out[at:at])
	j.Out = out
}

// Bytes returns the local header and stored bytes of an encoded job.
func (j *BlockJob) Bytes() []byte { return j.Out[headRoom-j.Entry.LocalLen():] }

// isConst reports whether a block repeats its first 8 bytes.
func isConst(b []byte) bool {
	return len(b) >= 64 && bytes.Equal(b[8:64], b[:56]) && bytes.Equal(b[8:], b[:len(b)-8])
}

// pipeline encodes jobs on several goroutines and passes them on in order. With alone it
// does both in Submit.
type pipeline struct {
	alone  *Encoder
	commit func(*BlockJob) error

	caller  context.Context
	ctx     context.Context // of the caller, cancelled on failure
	cancel  context.CancelCauseFunc
	work    chan *BlockJob
	ordered chan *BlockJob
	group   errgroup.Group // the workers and the committer
	pool    *ioat.Buffers
}

// StartPipeline starts workers. commit gets each encoded job in the order of Submit.
// Memory is bounded: at most 4 blocks per worker are in the pipeline. known may be nil;
// with it the image is in memory, so that one worker has no reads to wait for and needs no
// goroutine.
func StartPipeline(ctx context.Context, l *plan.Resolved, workers int, known *Known, commit func(*BlockJob) error) *pipeline {
	workers = int(min(int64(workers), l.Blocks))
	if workers == 1 && known != nil {
		p := &pipeline{caller: ctx, alone: NewEncoder(l), commit: commit, pool: &known.pool}
		p.alone.Known = known
		return p
	}
	p := &pipeline{
		work:    make(chan *BlockJob, workers),
		ordered: make(chan *BlockJob, 2*workers),
		pool:    new(ioat.Buffers),
	}
	p.caller = ctx
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	for range workers {
		p.group.Go(func() error {
			e := NewEncoder(l)
			e.Known = known
			for j := range p.work {
				e.Encode(j)
				close(j.encoded)
			}
			return nil
		})
	}
	p.group.Go(func() error { return p.commitAll(commit) })
	return p
}

func (p *pipeline) commitAll(commit func(*BlockJob) error) error {
	var failed error
	for j := range p.ordered {
		<-j.encoded
		if failed == nil {
			if failed = j.Err; failed == nil {
				failed = commit(j)
			}
			if failed != nil {
				p.cancel(failed)
			}
		}
		p.pool.Put(j.Raw)
		p.pool.Put(j.Out)
	}
	return failed
}

// Buffer returns memory for a block. Submit takes ownership of it.
func (p *pipeline) Buffer(n int64) []byte { return p.pool.Get(n) }

// Submit queues a block.
func (p *pipeline) Submit(j *BlockJob) error {
	if p.alone != nil {
		return p.submitAlone(j)
	}
	j.encoded = make(chan struct{})
	j.Out = p.pool.Get(int64(headRoom + len(j.Raw)/2))
	select {
	case p.ordered <- j:
	case <-p.ctx.Done():
		return whyDone(p.caller, p.ctx)
	}
	p.work <- j // never blocks for long: workers drain it to the end
	return nil
}

// submitAlone encodes a block and passes it on.
func (p *pipeline) submitAlone(j *BlockJob) error {
	if err := p.caller.Err(); err != nil {
		return err
	}
	j.Out = p.pool.Get(int64(headRoom + len(j.Raw)/2))
	p.alone.Encode(j)
	err := j.Err
	if err == nil {
		err = p.commit(j)
	}
	p.pool.Put(j.Raw)
	p.pool.Put(j.Out)
	return err
}

// Finish waits for all jobs. cutErr is the error that ended the cutter, or nil.
func (p *pipeline) Finish(cutErr error) error {
	if p.alone != nil {
		return cutErr
	}
	close(p.work)
	close(p.ordered)
	err := p.group.Wait()
	p.cancel(nil)
	if err != nil {
		return err
	}
	return cutErr
}

// whyDone returns the error of the caller's context if it has ended, else the cause of
// work, a derived context that has ended.
func whyDone(caller, work context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return context.Cause(work)
}
