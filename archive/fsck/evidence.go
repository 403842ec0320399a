package fsck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// repairer collects the evidence.
type repairer struct {
	walker
	src  io.ReaderAt // source of the walker, unbuffered
	ctx  context.Context
	o    *RepairOptions
	p    *Repaired
	l    *plan.Resolved
	tail *czip.Tail       // nil if the end line or the manifest it locates is damaged
	man  *plan.Manifest   // nil until it is found
	idx  *blockidx.Reader // nil without tail
	dir  *directory       // nil without tail

	searched bool  // tail is from searchTail: the checksum of the index is unknown
	budget   int64 // bytes that searchTail may still read of manifests

	sound bool // the front matches the manifest's checksum
	// lost has the places of blocks whose bytes no copy of their row confirms, by number.
	lost map[int64]int64
}

// findTail looks for the end line and for the manifest that it points to.
func (x *repairer) findTail() error {
	if x.Size < czip.EndLen {
		return nil
	}
	b, err := blocks.Section{}.Get(x.src, x.Size-czip.EndLen, czip.EndLen)
	if err != nil {
		return err
	}
	t, err := czip.ParseTail(b, x.Size)
	if errors.Is(err, fault.ErrVersion) {
		return err
	}
	if err != nil {
		return nil
	}
	man := czip.ZipEntry{Name: czip.ManifestName}
	payload, err := blocks.Section{}.Get(x.src, t.ManOff+man.LocalLen(), t.ManLen)
	if err != nil {
		return err
	}
	if czip.CRC(payload) != t.ManCRC {
		return nil
	}
	data, err := czip.InflateTo(x.ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return nil
	}
	return x.useTail(t, data)
}

// useTail takes a manifest and the places of an end line as evidence.
func (x *repairer) useTail(t czip.Tail, manifest []byte) error {
	m, err := plan.ParseManifest(manifest, t)
	if err != nil {
		return err
	}
	if n, err := blockidx.Size(m.Blocks); err != nil || n != t.IdxLen {
		return fault.Corruptf("index of %d bytes for %d blocks", t.IdxLen, m.Blocks)
	}
	x.tail, x.man = &t, m
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: t.IdxLen, Size: t.IdxLen, Off: t.IdxOff}
	if idx.End() > x.Size {
		return nil // cut off; only searchTail finds such a tail
	}
	rows := ioat.NewSection(x.src, idx.End()-idx.Stored, idx.Stored)
	if x.idx, err = blockidx.NewReader(rows, t.IdxLen, blockidx.Header(m.Blocks), 0); err != nil {
		return blocks.Corrupt(err)
	}
	x.dir = &directory{r: x.src, off: idx.End(), end: max(idx.End(), x.Size-czip.EndLen), window: directoryWindow}
	if g := ioat.Gap(x.src); g > 0 {
		x.dir.window = blocks.AheadRun
		return blocks.LoadIndex(x.idx, t.IdxLen, g)
	}
	return nil
}

// searchTail looks for the manifest from the end of the archive backwards, where neither
// the end line nor the local headers lead to it. It returns false if it finds none.
// It searches the last parity.SearchLen bytes of the archive.
func (x *repairer) searchTail() (bool, error) {
	sig := []byte(czip.ManifestName)
	buf := make([]byte, searchWindow+len(sig))
	x.budget = min(x.Size, parity.SearchLen(x.src))
	for end, least := x.Size, x.Size-x.budget; end > least; end -= searchWindow {
		if err := x.ctx.Err(); err != nil {
			return false, err
		}
		off := max(0, end-searchWindow)
		b := buf[:min(x.Size, end+int64(len(sig))-1)-off]
		if err := ioat.ReadFull(x.src, b, off); err != nil {
			return false, fmt.Errorf("archive: %w", err)
		}
		for i := len(b); ; {
			if i = bytes.LastIndex(b[:min(len(b), i+len(sig)-1)], sig); i < 0 {
				break
			}
			if ok, err := x.manifestAt(off + int64(i) - czip.LocalFixed); ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}

// manifestAt takes the manifest whose local header is at off, if there is one.
func (x *repairer) manifestAt(off int64) (bool, error) {
	if off < 0 {
		return false, nil
	}
	e, err := x.Expect(off, czip.ManifestName)
	if errors.Is(err, fault.ErrCorrupt) || err == nil && e.Stored > czip.MaxManifest {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if x.budget -= e.Stored; x.budget < 0 {
		return false, nil // damage or malice made many headers of one
	}
	payload, err := x.payload(&e)
	if err != nil {
		return false, err
	}
	data, err := czip.Inflate(x.ctx, &e, payload, czip.MaxManifest)
	if err != nil {
		return false, nil
	}
	m, err := plan.ReadManifest(data)
	if err != nil {
		return false, nil
	}
	idxLen, err := blockidx.Size(m.Blocks)
	if err != nil || idxLen > 2*x.Size {
		return false, nil
	}
	t := czip.Tail{ManOff: off, ManLen: e.Stored, ManCRC: czip.CRC(payload), IdxOff: e.End(), IdxLen: idxLen}
	if err := x.useTail(t, data); err != nil {
		x.tail, x.man, x.idx, x.dir = nil, nil, nil, nil
		return false, nil
	}
	x.searched = true
	return true, nil
}

// findPlan finds and parses the plan, through the manifest or else the local headers,
// and returns its entry.
func (x *repairer) findPlan() (*czip.MetaEntry, error) {
	if x.man != nil {
		m := x.man.Plan
		payload, err := blocks.Section{}.Get(x.R, m.Off, m.Len)
		if err != nil {
			return nil, err
		}
		if payload, _, err = blocks.Sound(x.R, payload, m, x.man.Copies.Plan); err != nil {
			return nil, err
		}
		if err := m.Check(czip.PlanName, payload); err != nil {
			return nil, err
		}
		data, err := czip.InflateTo(x.ctx, czip.PlanName, payload, min(czip.MetaSmall+czip.MaxInflate*m.Len, czip.MetaLimit(x.Size, x.man.Header.Len)))
		if err != nil {
			return nil, err
		}
		x.l, err = plan.ParsePlan(x.ctx, data)
		e := czip.ZipEntry{Name: czip.PlanName, Method: czip.MethodDeflated, Crc: czip.CRC(data), Stored: m.Len, Size: int64(len(data))}
		e.Off = m.Off - e.LocalLen()
		return &czip.MetaEntry{ZipEntry: e, Payload: payload}, err
	}
	off := (&czip.ZipEntry{Name: czip.ReadmeName, Stored: int64(len(plan.Readme))}).End()
	if e, err := x.At(0); err == nil && e.Name == czip.ReadmeName {
		off = e.End()
	}
	e, err := x.Expect(off, czip.PlanName)
	if err != nil {
		return nil, err
	}
	entry, err := x.planIn(e)
	if errors.Is(err, fault.ErrCorrupt) {
		if second, ok := x.hopToPlan(e.End()); ok {
			if entry, err := x.planIn(second); err == nil {
				entry.Name, entry.Off = czip.PlanName, off
				return entry, nil
			}
		}
	}
	return entry, err
}

// planIn parses the plan in an entry.
func (x *repairer) planIn(e czip.ZipEntry) (*czip.MetaEntry, error) {
	payload, err := x.payload(&e)
	if err != nil {
		return nil, err
	}
	data, err := czip.Inflate(x.ctx, &e, payload, czip.MetaLimit(x.Size, 0))
	if err != nil {
		return nil, err
	}
	x.l, err = plan.ParsePlan(x.ctx, data)
	return &czip.MetaEntry{ZipEntry: e, Payload: payload}, err
}

// hopToPlan follows the local headers from off to the second copy of the plan.
func (x *repairer) hopToPlan(off int64) (czip.ZipEntry, bool) {
	for x.ctx.Err() == nil {
		e, err := x.At(off)
		if err != nil || e.Name == czip.CopyPlan {
			return e, err == nil
		}
		off = e.End()
	}
	return czip.ZipEntry{}, false
}
