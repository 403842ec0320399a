package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// RepairOptions of Repair. Nil and the zero value mean the defaults.
type RepairOptions struct {
	// Quick reads the stored bytes of a block only where the copies of its row
	// contradict each other. Damaged blocks then stay unnoticed.
	Quick bool
	// Progress, if not nil, is told the bytes of the archive done so far.
	Progress func(done int64)
}

// Repaired is what Repair found: an archive whose structures follow from what is
// sound in the one that was read. Close it when done.
type Repaired struct {
	Blocks    int64    // of data
	Size      int64    // of the repaired archive
	Keep      int64    // bytes before the index; all that follows is the tail
	Headers   int64    // local headers that are wrong
	Front     bool     // README or Zarr metadata are wrong
	Tail      bool     // index, directory or end are wrong
	After     int64    // bytes that follow the archive
	Identical bool     // the repaired archive is known to be the one that was written
	Unsure    bool     // a mask is known from one copy alone: the image's SHA-256 can confirm it
	Damage    []Damage // that cannot be repaired

	r      io.ReaderAt
	t      tailWriter
	header *cdf3.Header

	front    []byte // all bytes before the first block, if they are to be written
	frontLen int64
}

// Intact says whether there is nothing to write.
func (p *Repaired) Intact() bool { return !p.Tail && !p.Front && p.Headers == 0 && p.After == 0 }

// Repair weighs the copies of what describes each block (index, directory, local
// header) against the block's stored bytes, and takes what the bytes confirm. It
// regenerates README and Zarr metadata where the manifest's checksum confirms the
// result. It writes nothing: Patch and WriteTail change an archive in place,
// WriteTo makes a new one. Whatever could be read before can be read after that.
//
// Damage of the plan or the manifest, and a block whose place no copy tells, are
// ErrCorrupt.
func Repair(ctx context.Context, r io.ReaderAt, size int64, o *RepairOptions) (*Repaired, error) {
	if o == nil {
		o = &RepairOptions{}
	}
	head, end, err := probeArchive(r, size)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if !head && !end {
		return nil, fmt.Errorf("archive: %w", ErrNotArchive)
	}
	from, stop := walked(ctx, r, size)
	defer stop()
	x := &repairer{walker: walker{r: from, size: size}, src: r, ctx: ctx, o: o, p: &Repaired{r: r}}
	if err := x.run(); err != nil {
		x.p.Close()
		return nil, err
	}
	return x.p, nil
}

// Close releases a temporary file, if there is one.
func (p *Repaired) Close() error {
	if p.t.table == nil {
		return nil
	}
	return p.t.table.Close()
}

// WriteTail writes what belongs after the first Keep bytes of the archive.
func (p *Repaired) WriteTail(w io.Writer) (int64, error) { return p.t.writeTo(w) }

// Patch writes local headers and metadata that are wrong to their places in w,
// the archive that was read. It can be interrupted and repeated: what it writes
// does not depend on what it replaces. Sync w before the tail is written.
func (p *Repaired) Patch(ctx context.Context, w io.WriterAt) error {
	if p.Front {
		if _, err := w.WriteAt(p.front, 0); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	if p.Headers == 0 {
		return nil
	}
	one := func(e *zipEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := e.appendLocal(nil)
		have := make([]byte, len(want))
		if err := ioat.ReadFull(p.r, have, e.off); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if bytes.Equal(want, have) {
			return nil
		}
		if _, err := w.WriteAt(want, e.off); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
		return nil
	}
	if err := p.t.blocks(one); err != nil {
		return err
	}
	return one(&p.t.man)
}

// WriteTo writes the whole repaired archive.
func (p *Repaired) WriteTo(ctx context.Context, w io.Writer) (int64, error) {
	n := int64(0)
	write := func(b []byte) error {
		k, err := w.Write(b)
		if n += int64(k); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
		return ctx.Err()
	}
	buf := make([]byte, 1<<20)
	from := func(off, end int64) error {
		for ; off < end; off += int64(len(buf)) {
			b := buf[:min(int64(len(buf)), end-off)]
			if err := ioat.ReadFull(p.r, b, off); err != nil {
				return fmt.Errorf("archive: %w", err)
			}
			if err := write(b); err != nil {
				return err
			}
		}
		return nil
	}
	entry := func(e *zipEntry) error {
		if err := write(e.appendLocal(nil)); err != nil {
			return err
		}
		return from(e.end()-e.stored, e.end())
	}
	var err error
	if p.Front {
		err = write(p.front)
	} else {
		err = from(0, p.frontLen)
	}
	if err == nil {
		err = p.t.blocks(entry)
	}
	if err == nil {
		err = entry(&p.t.man)
	}
	if err != nil {
		return n, err
	}
	k, err := p.t.writeTo(w)
	return n + k, err
}

// repairer collects the evidence.
type repairer struct {
	walker
	src  io.ReaderAt // what the walker reads, without anything between
	ctx  context.Context
	o    *RepairOptions
	p    *Repaired
	l    *layout
	tail *tail            // nil if the end line or the manifest it locates is damaged
	man  *Manifest        // nil until it is found
	idx  *blockidx.Reader // nil without tail
	dir  *directory       // nil without tail
	buf  []byte

	sound bool // the front is what the manifest's checksum says
}

func (x *repairer) run() error {
	if err := x.findTail(); err != nil {
		return err
	}
	plan, err := x.findPlan()
	if err != nil {
		return err
	}
	front, err := x.walkFront(plan)
	if err != nil {
		return err
	}
	x.p.Blocks = x.l.blocks
	if x.p.t.table, err = blockidx.NewTable(x.l.blocks); err != nil {
		return err
	}
	x.p.t.l = x.l
	off, err := x.walkBlocks(front.end)
	if err != nil {
		return err
	}
	same, err := x.findManifest(off)
	if err != nil {
		return err
	}
	if err := x.proveFront(front, plan); err != nil {
		return err
	}
	x.p.Keep = x.p.t.man.end()
	return x.compareTail(same)
}

// damage notes what cannot be repaired.
func (x *repairer) damage(kind string, off, n int64, err error) {
	v := verifier{rep: &Report{}}
	_ = v.damage(kind, off, n, err)
	x.p.Damage = append(x.p.Damage, v.rep.Damage...)
}

// findTail looks for the end line, and for the manifest where it says.
func (x *repairer) findTail() error {
	if x.size < endLen {
		return nil
	}
	b, err := section{}.get(x.src, x.size-endLen, endLen)
	if err != nil {
		return err
	}
	t, err := parseTail(b, x.size)
	if err != nil {
		return nil
	}
	man := zipEntry{name: manifestName}
	payload, err := section{}.get(x.src, t.manOff+man.localLen(), t.manLen)
	if err != nil {
		return err
	}
	if crcOf(payload) != t.manCRC {
		return nil
	}
	data, err := inflateTo(manifestName, payload, maxManifest)
	if err != nil {
		return nil
	}
	m, err := parseManifest(data, t)
	if err != nil {
		return err
	}
	if n, err := blockidx.Size(m.Blocks); err != nil || n != t.idxLen {
		return corruptf("index of %d bytes for %d blocks", t.idxLen, m.Blocks)
	}
	x.tail, x.man = &t, m
	idx := zipEntry{name: indexName, stored: t.idxLen, size: t.idxLen, off: t.idxOff}
	rows := io.NewSectionReader(ioat.Bind(x.ctx, x.src), idx.end()-idx.stored, idx.stored)
	if x.idx, err = blockidx.NewReader(rows, t.idxLen, blockidx.Header(m.Blocks), 0); err != nil {
		return corrupt(err)
	}
	x.dir = &directory{r: ioat.Bind(x.ctx, x.src), off: idx.end(), end: x.size - endLen, window: directoryWindow}
	if g := ioat.Gap(x.src); g > 0 {
		x.dir.window = aheadRun
		return loadIndex(x.idx, t.idxLen, g)
	}
	return nil
}

// findPlan finds and parses the plan, by the manifest or else by the local
// headers, and returns its entry.
func (x *repairer) findPlan() (*metaEntry, error) {
	if x.man != nil {
		m := x.man.Plan
		payload, err := section{}.get(x.r, m.Off, m.Len)
		if err != nil {
			return nil, err
		}
		if err := m.check(planName, payload); err != nil {
			return nil, err
		}
		data, err := inflateTo(planName, payload, min(metaSmall+maxInflate*m.Len, metaLimit(x.size, x.man.Header.Len)))
		if err != nil {
			return nil, err
		}
		x.l, err = parsePlan(data)
		e := zipEntry{name: planName, method: methodDeflated, crc: crcOf(data), stored: m.Len, size: int64(len(data))}
		e.off = m.Off - e.localLen()
		return &metaEntry{e, payload}, err
	}
	off := (&zipEntry{name: readmeName, stored: int64(len(readme))}).end()
	if e, err := x.at(0); err == nil && e.name == readmeName {
		off = e.end()
	}
	e, err := x.expect(off, planName)
	if err != nil {
		return nil, err
	}
	payload, err := x.payload(&e)
	if err != nil {
		return nil, err
	}
	data, err := inflate(&e, payload, metaLimit(x.size, 0))
	if err != nil {
		return nil, err
	}
	x.l, err = parsePlan(data)
	return &metaEntry{e, payload}, err
}

// findManifest finds the manifest whose local header is expected at off. It says
// whether its stored bytes are known to be those that were written.
func (x *repairer) findManifest(off int64) (same bool, err error) {
	local, lerr := x.expect(off, manifestName)
	if lerr != nil && !errors.Is(lerr, ErrCorrupt) {
		return false, lerr
	}
	e := local
	switch {
	case x.tail != nil && x.tail.manOff != off:
		return false, corruptf("blocks end at byte %d, the manifest is at byte %d", off, x.tail.manOff)
	case x.tail != nil:
		e = zipEntry{name: manifestName, off: off, method: methodDeflated, stored: x.tail.manLen}
	case lerr != nil:
		return false, lerr
	}
	if e.stored > maxManifest {
		return false, corruptf("manifest at byte %d has %d bytes", off, e.stored)
	}
	payload, err := x.payload(&e)
	if err != nil {
		return false, err
	}
	data, err := inflateTo(manifestName, payload, maxManifest)
	if err != nil {
		return false, err
	}
	if x.tail == nil {
		if crcOf(data) != e.crc || int64(len(data)) != e.size {
			return false, corruptf("manifest at byte %d: checksum %08x, expected %08x", off, crcOf(data), e.crc)
		}
		idxLen, err := blockidx.Size(x.l.blocks)
		if err != nil {
			return false, err
		}
		// The places of the manifest are checked against those of the new tail.
		if x.man, err = parseManifest(data, tail{manOff: off, manLen: e.stored, idxOff: e.end(), idxLen: idxLen}); err != nil {
			return false, err
		}
		same = bytes.Equal(newMeta(manifestName, data).payload, payload)
	}
	e.crc, e.size, same = crcOf(data), int64(len(data)), same || x.tail != nil
	row, err := x.p.t.table.Row(x.l.restFirst)
	if err != nil {
		return false, err
	}
	if m := x.man; m.Size != x.l.Image.Size || m.Blocks != x.l.blocks || m.Header.Off != row.Off || m.Header.Len != row.Len {
		return false, corruptf("manifest at byte %d belongs to another plan", off)
	}
	if lerr != nil || e != local {
		x.p.Headers++
	}
	x.p.t.man, x.p.t.manCRC = e, crcOf(payload)
	return same, nil
}

// compareTail regenerates the tail and compares it with what is there.
func (x *repairer) compareTail(same bool) error {
	p := x.p
	c := &comparer{r: x.r, off: p.Keep, size: x.size}
	n, err := p.WriteTail(ctxWriter{x.ctx, c})
	if err != nil {
		return err
	}
	p.Size = p.Keep + n
	p.Tail = len(c.differ) > 0
	p.After = max(0, x.size-p.Size)
	if x.tail == nil {
		p.Identical = same && x.sound && !x.p.Unsure && len(p.Damage) == 0
		return nil
	}
	crc := crc32.NewIEEE()
	if _, err := p.t.table.WriteTo(crc); err != nil {
		return err
	}
	if crc.Sum32() != x.tail.idxCRC && len(p.Damage) == 0 {
		x.damage(DamageIndex, x.tail.idxOff, x.tail.idxLen, corruptf("index: the rows found have checksum %08x, expected %08x", crc.Sum32(), x.tail.idxCRC))
	}
	p.Identical = x.sound && len(p.Damage) == 0 && !x.o.Quick
	return nil
}

// ctxWriter fails once the context is done.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w ctxWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
