package fsck

import (
	"context"
	"errors"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
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
	l    *format.Resolved
	tail *czip.Tail       // nil if the end line or the manifest it locates is damaged
	man  *format.Manifest // nil until it is found
	idx  *blockidx.Reader // nil without tail
	dir  *directory       // nil without tail

	sound bool // the front matches the manifest's checksum
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
	data, err := format.InflateTo(x.ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return nil
	}
	m, err := format.ParseManifest(data, t)
	if err != nil {
		return err
	}
	if n, err := blockidx.Size(m.Blocks); err != nil || n != t.IdxLen {
		return fault.Corruptf("index of %d bytes for %d blocks", t.IdxLen, m.Blocks)
	}
	x.tail, x.man = &t, m
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: t.IdxLen, Size: t.IdxLen, Off: t.IdxOff}
	rows := ioat.NewSection(x.src, idx.End()-idx.Stored, idx.Stored)
	if x.idx, err = blockidx.NewReader(rows, t.IdxLen, blockidx.Header(m.Blocks), 0); err != nil {
		return blocks.Corrupt(err)
	}
	x.dir = &directory{r: x.src, off: idx.End(), end: x.Size - czip.EndLen, window: directoryWindow}
	if g := ioat.Gap(x.src); g > 0 {
		x.dir.window = blocks.AheadRun
		return blocks.LoadIndex(x.idx, t.IdxLen, g)
	}
	return nil
}

// findPlan finds and parses the plan, through the manifest or else the local headers,
// and returns its entry.
func (x *repairer) findPlan() (*format.MetaEntry, error) {
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
		data, err := format.InflateTo(x.ctx, czip.PlanName, payload, min(format.MetaSmall+format.MaxInflate*m.Len, format.MetaLimit(x.Size, x.man.Header.Len)))
		if err != nil {
			return nil, err
		}
		x.l, err = format.ParsePlan(x.ctx, data)
		e := czip.ZipEntry{Name: czip.PlanName, Method: czip.MethodDeflated, Crc: czip.CRC(data), Stored: m.Len, Size: int64(len(data))}
		e.Off = m.Off - e.LocalLen()
		return &format.MetaEntry{ZipEntry: e, Payload: payload}, err
	}
	off := (&czip.ZipEntry{Name: czip.ReadmeName, Stored: int64(len(format.Readme))}).End()
	if e, err := x.At(0); err == nil && e.Name == czip.ReadmeName {
		off = e.End()
	}
	e, err := x.Expect(off, czip.PlanName)
	if err != nil {
		return nil, err
	}
	plan, err := x.planIn(e)
	if errors.Is(err, fault.ErrCorrupt) {
		if second, ok := x.hopToPlan(e.End()); ok {
			if plan, err := x.planIn(second); err == nil {
				plan.Name, plan.Off = czip.PlanName, off
				return plan, nil
			}
		}
	}
	return plan, err
}

// planIn parses the plan in an entry.
func (x *repairer) planIn(e czip.ZipEntry) (*format.MetaEntry, error) {
	payload, err := x.payload(&e)
	if err != nil {
		return nil, err
	}
	data, err := format.Inflate(x.ctx, &e, payload, format.MetaLimit(x.Size, 0))
	if err != nil {
		return nil, err
	}
	x.l, err = format.ParsePlan(x.ctx, data)
	return &format.MetaEntry{ZipEntry: e, Payload: payload}, err
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
