// Package repair repairs damaged archives. [Heal] restores bytes from the parity of an archive that
// has one. [Repair] then rebuilds structures from local headers, plan and manifest. [Salvage] finds
// the intact values of an archive that cannot be repaired. [Preview] tells what a repair would
// achieve.
//
// The functions only read their io.ReaderAt, from several goroutines. It must have the given
// size in bytes, and must not change until they return, or until their result is closed.
// Results are not safe for concurrent use.
package repair

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Options control Heal, Repair and Salvage. Nil and the zero value mean the defaults.
type Options struct {
	// Quick makes Repair read the stored bytes of a block only if the copies of its row contradict
	// each other. Other damaged blocks then remain undetected. Heal does so where it repairs
	// structures to find the parity.
	Quick bool
	// Progress, if not nil, is called by Repair and Salvage with the number of archive bytes done so
	// far. With Salvage it may begin again at 0.
	Progress func(done int64)

	// These are for Heal.
	Workers int   // goroutines that decode; 0: GOMAXPROCS
	Memory  int64 // bytes, as in parity.Options
	// CutAfter allows to cut off bytes after the archive.
	CutAfter bool
	// Second, if not nil, is a second copy of the archive, which may be damaged, too. What parity cannot
	// heal is taken from it.
	Second *io.SectionReader
}

// Repaired is the result of Repair: an archive whose structures are derived from the
// intact parts of the damaged one, which it still reads. The caller must close it.
type Repaired struct {
	Blocks    int64           // of data
	Size      int64           // of the repaired archive, in bytes
	Keep      int64           // bytes before the index; everything after them is the tail
	Headers   int64           // local headers that are wrong
	Front     bool            // plan or Zarr metadata are wrong
	Tail      bool            // index, directory or end are wrong
	After     int64           // bytes that follow the archive
	Identical bool            // the repaired archive is known to be the one that was written
	Unsure    bool            // a mask is known from only one copy; the image's SHA-256 can confirm it
	Damage    []verify.Damage // that cannot be repaired

	r      io.ReaderAt
	t      plan.TailWriter
	header *cdf3.Header

	front    []byte // all bytes before the first block, if they must be written
	frontLen int64
	healed   []healed // other bytes that must be written
}

// Healed is the number of parts that are restored from their second copy or from the
// original: the netCDF header, its copy, and that of the plan.
func (p *Repaired) Healed() int { return len(p.healed) }

// Intact reports whether there is nothing to write.
func (p *Repaired) Intact() bool {
	return !p.Tail && !p.Front && len(p.healed) == 0 && p.Headers == 0 && p.After == 0
}

// Repair compares the three descriptions of each block (index, directory, local header)
// with the block's stored bytes, and keeps the one that the bytes confirm. It
// regenerates Zarr metadata if the manifest's checksum confirms the result.
// It writes nothing: Commit changes the archive in place, WriteTo makes a new one. All that was readable before a repair is readable after it.
//
// ErrCorrupt means that the archive cannot be repaired: the manifest is damaged, or the plan
// and its second copy, or the place of a block is unknown, or a block has moved because bytes
// were inserted or removed before it. Salvage may find values nevertheless. Other errors are
// ErrNotArchive, ErrVersion and those of r.
func Repair(ctx context.Context, r io.ReaderAt, size int64, o *Options) (*Repaired, error) {
	if o == nil {
		o = &Options{}
	}
	if err := probe(ioat.Bind(ctx, r), size); err != nil {
		return nil, err
	}
	from, stop := image.Sequential(ctx, r, size)
	defer stop()
	x := &repairer{Finder: evidence.NewFinder(ctx, evidence.NewWalker(from, size), ioat.Bind(ctx, r)), o: o, p: &Repaired{r: r}}
	if err := x.run(); err != nil {
		x.p.Close()
		return nil, err
	}
	return x.p, nil
}

// probed is how many bytes of a file without head and tail of an archive are searched for one of its entries.
const probed = 1 << 16

// probe returns ErrNotArchive for a file that has neither head nor tail of an archive, nor another of its entries near
// its start.
func probe(r io.ReaderAt, size int64) error {
	head, tail, err := opening.ProbeArchive(r, size)
	if err == nil && !head && !tail {
		front := make([]byte, min(size, probed))
		if err = ioat.ReadFull(r, front, 0); err == nil && !hasEntry(front) {
			err = fault.ErrNotArchive
		}
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// hasEntry reports whether b has the local header of an entry of the format.
func hasEntry(b []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte(czip.HeadMagic))
		if i < 0 {
			return false
		}
		if at += i; bytes.HasPrefix(b[min(at+czip.LocalFixed, len(b)):], []byte(czip.OwnPrefix)) {
			return true
		}
	}
}

// Close removes the temporary file, if there is one.
func (p *Repaired) Close() error {
	if p.t.Table == nil {
		return nil
	}
	return p.t.Table.Close()
}

// WriteTail writes the bytes after the first Keep bytes of the archive.
func (p *Repaired) WriteTail(w io.Writer) (int64, error) { return p.t.WriteTo(w) }

// File is an archive that is changed in place. If it has the method Sync, that is called between
// changes whose order matters.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// Commit changes w, the archive that was read, in place, and returns the number of bytes that it
// wrote after the first Keep ones. It can be interrupted and repeated: all data that the new tail
// depends on is on the disk before the old tail is touched.
func (p *Repaired) Commit(ctx context.Context, w File) (tail int64, err error) {
	if p.Front || len(p.healed) > 0 || p.Headers > 0 {
		if err := p.patch(ctx, w); err != nil {
			return 0, err
		}
		if err := syncFile(w); err != nil {
			return 0, err
		}
	}
	if p.Tail {
		tail = p.Size - p.Keep
	}
	if err := p.writeEnd(ctx, w); err != nil {
		return 0, err
	}
	return tail, syncFile(w)
}

func syncFile(w File) error {
	if s, ok := w.(interface{ Sync() error }); ok {
		if err := s.Sync(); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	return nil
}

// writeEnd writes a wrong tail, and cuts off what follows it.
func (p *Repaired) writeEnd(ctx context.Context, w File) error {
	if p.Tail {
		b := bufio.NewWriterSize(ctxWriter{ctx, io.NewOffsetWriter(w, p.Keep)}, 1<<18)
		_, err := p.WriteTail(b)
		if err == nil {
			err = b.Flush()
		}
		if err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	if p.Tail || p.After > 0 {
		if err := w.Truncate(p.Size); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	return nil
}

// patch rewrites wrong local headers and metadata. Its output does not depend on the bytes that it
// replaces.
func (p *Repaired) patch(ctx context.Context, w File) error {
	if p.Front {
		if _, err := w.WriteAt(p.front, 0); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	for _, h := range p.healed {
		if _, err := w.WriteAt(h.bytes, h.off); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	if p.Headers == 0 {
		return nil
	}
	one := func(e *czip.ZipEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := e.AppendLocal(nil)
		have := make([]byte, len(want))
		if err := ioat.ReadFull(ioat.Bind(ctx, p.r), have, e.Off); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if bytes.Equal(want, have) {
			return nil
		}
		if _, err := w.WriteAt(want, e.Off); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
		return nil
	}
	if err := p.t.Blocks(one); err != nil {
		return err
	}
	return p.t.After(one)
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
			if err := ioat.ReadFull(ioat.Bind(ctx, p.r), b, off); err != nil {
				return fmt.Errorf("archive: %w", err)
			}
			if err := write(b); err != nil {
				return err
			}
		}
		return nil
	}
	entry := func(e *czip.ZipEntry) error {
		if err := write(e.AppendLocal(nil)); err != nil {
			return err
		}
		for _, h := range p.healed {
			if h.off == e.End()-e.Stored {
				return write(h.bytes)
			}
		}
		return from(e.End()-e.Stored, e.End())
	}
	var err error
	if p.Front {
		err = write(p.front)
	} else {
		err = from(0, p.frontLen)
	}
	if err == nil {
		err = p.t.Blocks(entry)
	}
	if err == nil {
		err = p.t.After(entry)
	}
	if err != nil {
		return n, err
	}
	k, err := p.t.WriteTo(w)
	return n + k, err
}

// repairer derives the structures of an archive from the evidence.
type repairer struct {
	evidence.Finder
	o *Options
	p *Repaired

	sound bool // the front matches the manifest's checksum
	// lost has the places of blocks whose bytes no copy of their row confirms, by number.
	lost map[int64]int64
}

// damage records damage that cannot be repaired.
func (x *repairer) damage(kind string, off, n int64, err error) {
	x.p.Damage = append(x.p.Damage, verify.NewDamage(kind, off, n, err))
}

func (x *repairer) run() error {
	if err := x.FindTail(); err != nil {
		return err
	}
	err := x.collect()
	if !errors.Is(err, fault.ErrCorrupt) || x.Tail != nil {
		return err
	}
	// The local headers lead nowhere. Try again with the manifest, if it can be found.
	if found, serr := x.SearchTail(); serr != nil || !found {
		return errors.Join(serr, err)
	}
	x.p.Close()
	*x.p = Repaired{r: x.p.r}
	x.L, x.sound = nil, false
	return x.collect()
}

// collect decides about every entry.
func (x *repairer) collect() error {
	entry, err := x.FindPlan()
	if err != nil {
		return err
	}
	front, err := x.walkFront(entry)
	if err != nil {
		return err
	}
	x.p.Blocks = x.L.Blocks
	if x.p.t.Table, err = blockidx.NewTable(x.L.Blocks); err != nil {
		return err
	}
	x.p.t.L = x.L
	x.lost = map[int64]int64{}
	off, err := x.walkBlocks(front.end)
	if err != nil {
		return err
	}
	if off, err = x.walkBack(entry, off); err != nil {
		return err
	}
	same, err := x.findManifest(off)
	if err != nil {
		return err
	}
	if err := x.proveFront(front, entry); err != nil {
		return err
	}
	x.p.Keep = x.p.t.Man.End()
	if err := x.compareTail(same); err != nil {
		return err
	}
	return x.findMoved()
}

// findManifest finds the manifest whose local header is expected at off. same reports
// whether its stored bytes are known to be the original ones.
func (x *repairer) findManifest(off int64) (same bool, err error) {
	local, lerr := x.Expect(off, czip.ManifestName)
	if lerr != nil && !errors.Is(lerr, fault.ErrCorrupt) {
		return false, lerr
	}
	e := local
	switch {
	case x.Tail != nil && x.Tail.ManOff != off:
		return false, fault.Corruptf("blocks end at byte %d, the manifest is at byte %d", off, x.Tail.ManOff)
	case x.Tail != nil:
		e = czip.ZipEntry{Name: czip.ManifestName, Off: off, Method: czip.MethodDeflated, Stored: x.Tail.ManLen}
	case lerr != nil:
		return false, lerr
	}
	if e.Stored > czip.MaxManifest {
		return false, fault.Corruptf("manifest at byte %d: expected at most %d bytes, found %d", off, czip.MaxManifest, e.Stored)
	}
	payload, err := x.Payload(&e)
	if err != nil {
		return false, err
	}
	data, err := czip.InflateTo(x.Ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return false, err
	}
	if x.Tail == nil {
		if czip.CRC(data) != e.Crc || int64(len(data)) != e.Size {
			return false, fault.Corruptf("manifest at byte %d: expected checksum %08x, found %08x", off, e.Crc, czip.CRC(data))
		}
		idxLen, err := blockidx.Size(x.L.Blocks)
		if err != nil {
			return false, err
		}
		// The places of the manifest are checked against those of the new tail.
		if x.Man, err = plan.ParseManifest(data, czip.Tail{ManOff: off, ManLen: e.Stored, IdxOff: e.End(), IdxLen: idxLen}); err != nil {
			return false, err
		}
		same = bytes.Equal(czip.NewMeta(czip.ManifestName, data).Payload, payload)
	}
	e.Crc, e.Size, same = czip.CRC(data), int64(len(data)), same || x.Tail != nil
	row, err := x.p.t.Table.Row(x.L.RestFirst)
	if err != nil {
		return false, err
	}
	if m := x.Man; m.Size != x.L.Image.Size || m.Blocks != x.L.Blocks || m.Header.Off != row.Off || m.Header.Len != row.Len {
		return false, fault.Corruptf("manifest at byte %d belongs to another plan", off)
	}
	if lerr != nil || e != local {
		x.p.Headers++
	}
	x.p.t.Man, x.p.t.ManCRC = e, czip.CRC(payload)
	return same, nil
}

// compareTail regenerates the tail and compares it with the existing one.
func (x *repairer) compareTail(same bool) error {
	p := x.p
	c := &evidence.Comparer{R: x.R, Off: p.Keep, Size: x.Size}
	n, err := p.WriteTail(ctxWriter{x.Ctx, c})
	if err != nil {
		return err
	}
	p.Size = p.Keep + n
	p.Tail = len(c.Differ) > 0
	p.After = max(0, x.Size-p.Size)
	if x.Tail == nil {
		p.Identical = same && x.sound && !x.p.Unsure && len(p.Damage) == 0
		return nil
	}
	crc := crc32.NewIEEE()
	if _, err := p.t.Table.WriteTo(crc); err != nil {
		return err
	}
	if crc.Sum32() != x.Tail.IdxCRC && !x.Searched && len(p.Damage) == 0 {
		x.damage(verify.DamageIndex, x.Tail.IdxOff, x.Tail.IdxLen, fault.Corruptf("index: expected rows with checksum %08x, found %08x", x.Tail.IdxCRC, crc.Sum32()))
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
