package verify

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// How a local archive is read once. A short one is read into memory. While a long one is
// walked, its image is decoded on other goroutines. The walk follows the decoding: before it
// passes a block, it waits until that is decoded, or until the decoding has ended for whatever
// reason. The decoding never waits for the walk, so they cannot block each other. Both read the
// same chunks, and the checksums of the parity's pieces are computed when a chunk is read.

const (
	// chunkLen is the length of a chunk, or a little less with parity.
	chunkLen = 256 << 10
	// mostChunks and leastChunks bound the memory of chunks. The decoding reads blocks early
	// that are stored late, because their values are distributed over the image. They are read
	// again if the walk reaches them too late.
	mostChunks, leastChunks = 96, 8
	// chunkShare is the part of the memory for chunks.
	chunkShare = 8
	// longIndex is the length in bytes from which on the pages of an index are read apart.
	// The chunks around them would displace others.
	longIndex = 4 << 20
)

// memorySize is the longest archive that is read at once, in bytes.
const memorySize = 1 << 20

var memories = sync.Pool{New: func() any { return new([]byte) }}

// inMemory returns a reader of a short local archive in memory, which takes one read instead
// of dozens, or r and nil. done ends its use.
func inMemory(r io.ReaderAt, size int64) (in io.ReaderAt, memory []byte, done func()) {
	done = func() {}
	if size > memorySize || ioat.Gap(r) > 0 {
		return r, nil, done
	}
	b := memories.Get().(*[]byte)
	*b = slices.Grow((*b)[:0], int(size))[:size]
	if ioat.ReadFull(r, *b, 0) != nil {
		// Its bytes are read one part after another, to name what cannot be read.
		memories.Put(b)
		return r, nil, done
	}
	return bytes.NewReader(*b), *b, func() { memories.Put(b) }
}

// ending is the end of an archive as a reader opens it. It is parsed once.
type ending struct {
	tail czip.Tail
	man  *plan.Manifest
	text []byte // of the manifest
}

// readEnding returns the end of an archive, or nil if it is damaged. The steps that need it name
// the damage.
func readEnding(ctx context.Context, archive []byte) *ending {
	t, err := czip.ParseTail(archive, int64(len(archive)))
	if err != nil {
		return nil
	}
	e := czip.ZipEntry{Name: czip.ManifestName}
	payload := archive[t.ManOff+e.LocalLen():][:t.ManLen]
	if czip.CRC(payload) != t.ManCRC {
		return nil
	}
	text, err := czip.InflateTo(ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return nil
	}
	man, err := plan.ParseManifest(text, t)
	if err != nil {
		return nil
	}
	return &ending{t, man, text}
}

// inflates reports whether the payload of a manifest's entry inflates to the manifest of the end,
// as the local header claims.
func (x *ending) inflates(e *czip.ZipEntry, payload []byte) bool {
	return e.Method == czip.MethodDeflated && e.Off == x.tail.ManOff && e.Stored == x.tail.ManLen && czip.CRC(payload) == x.tail.ManCRC &&
		e.Size == int64(len(x.text)) && e.Crc == czip.CRC(x.text)
}

// share makes all steps read the same chunks of a long local archive. done ends that.
func (v *verifier) share() (done func()) {
	if v.Size <= memorySize || ioat.Gap(v.origin) > 0 {
		return func() {}
	}
	memory := v.o.Memory
	if memory <= 0 {
		memory = blocks.DefaultMemory
	}
	o := ioat.ChunkOptions{Len: chunkLen, Keep: int(max(leastChunks, min(mostChunks, memory/chunkShare/chunkLen)))}
	done = func() {}
	if v.parity != nil {
		passed := v.parity.Passing()
		piece, at := passed.Borders()
		o.Len, o.Borders, o.Observe = chunkLen/piece*piece, at, passed.Pass
		done = passed.Close
	}
	v.chunks = ioat.NewChunks(v.origin, v.Size, o)
	v.src, v.R = v.chunks, v.chunks
	return done
}

// keptFront is the longest front that is kept for checkFront, in bytes.
const keptFront = 4 << 20

// keepFront keeps the bytes of the front while their chunks are there.
func (v *verifier) keepFront() {
	if v.chunks == nil || v.off > keptFront {
		return
	}
	b := make([]byte, v.off)
	if ioat.ReadFull(v.chunks, b, 0) == nil {
		v.kept = b
	}
}

// indexed returns the reader for the index of a tail.
func (v *verifier) indexed() io.ReaderAt {
	if v.tail.IdxLen > longIndex {
		return v.origin
	}
	return v.src
}

// besides is the image while it is decoded on other goroutines. A nil one was not begun.
type besides struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	more    sync.Cond // a block was decoded, or all has ended
	decoded []uint64  // a bit for each block
	ended   bool
	err     error // of the image, if ended
}

func (v *verifier) imageOptions() *blocks.ReadOptions {
	o := &blocks.ReadOptions{Cache: -1, Plan: v.l, Header: v.header}
	if v.man != nil && v.l != nil && v.header != nil {
		// The walk read the same bytes.
		o.Tail, o.Man, o.First = *v.tail, v.man, v.decoded
	}
	return o
}

// startImage begins to decode the image, if nothing is known to be damaged so far. Its first
// block, the header, has been walked.
func (v *verifier) startImage() {
	if v.chunks == nil || v.index == nil || v.header == nil || v.front == nil || len(v.rep.Damage) > 0 {
		return
	}
	b := &besides{decoded: make([]uint64, v.l.Blocks/64+1)}
	b.more.L = &b.mu
	ctx, cancel := context.WithCancel(v.ctx)
	b.cancel = cancel
	src := v.src
	if v.tail.IdxLen > longIndex {
		src = apart{v.src, v.origin, v.tail.IdxOff}
	}
	o := v.imageOptions()
	v.image = b
	go func() {
		err := v.decodeImage(ctx, src, o, b.add)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended, b.err = true, err
		b.more.Signal()
	}()
	b.wait(v.l.RestFirst)
}

// decodeImage decodes the image and compares its sums. decoded, if not nil, is called with the
// number of each block.
func (v *verifier) decodeImage(ctx context.Context, src io.ReaderAt, o *blocks.ReadOptions, decoded func(n int64)) error {
	a, err := blocks.NewReader(ctx, src, v.Size, o)
	if err != nil {
		return err
	}
	a.CheckPadding, a.Decoded = true, decoded
	c := &blocks.CopyOptions{Workers: v.o.Workers, Memory: v.o.Memory, Progress: v.done.image, SHA256: v.o.SHA256}
	return a.Copy(ctx, nil, c)
}

// add marks a block as decoded.
func (b *besides) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decoded[n/64] |= 1 << (n % 64)
	b.more.Signal()
}

// wait waits for a block, and reports whether it was decoded.
func (b *besides) wait(n int64) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.decoded[n/64]>>(n%64)&1 == 0 {
		if b.ended {
			return false
		}
		b.more.Wait()
	}
	return true
}

// end waits for the end of the decoding and returns its error. begun is false if there was
// none.
func (b *besides) end() (err error, begun bool) {
	if b == nil {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended {
		b.more.Wait()
	}
	return b.err, true
}

// stopImage ends the decoding.
func (v *verifier) stopImage() {
	if v.image != nil {
		v.image.cancel()
		_, _ = v.image.end()
		v.image = nil
	}
}

// apart reads a file through chunks, and directly from an offset on.
type apart struct {
	chunks, r io.ReaderAt
	from      int64
}

// ReadAt implements io.ReaderAt.
func (a apart) ReadAt(p []byte, off int64) (int, error) {
	if off >= a.from {
		return a.r.ReadAt(p, off)
	}
	return a.chunks.ReadAt(p, off)
}

// doneBytes adds up what the walk and the decoding have done.
type doneBytes struct {
	call func(done int64) // may be nil

	mu             sync.Mutex
	walked, copied int64
}

func (d *doneBytes) walk(n int64)  { d.report(&d.walked, n) }
func (d *doneBytes) image(n int64) { d.report(&d.copied, n) }

func (d *doneBytes) report(which *int64, n int64) {
	if d.call == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*which = n
	d.call(d.walked + d.copied)
}
