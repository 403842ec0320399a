// Package evidence finds the structures of an archive that may be damaged: its local headers, end
// line, manifest, plan and directory. Packages verify and repair build on it.
package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Finder finds the structures of an archive that may be damaged. It is not safe for concurrent
// use.
type Finder struct {
	Walker
	Src   *ioat.Source // the archive of the walker, unbuffered
	Ctx   context.Context
	L     *plan.Resolved   // set by FindPlan
	Tail  *czip.Tail       // nil if the end line or the manifest it locates is damaged
	Man   *plan.Manifest   // nil until it is found
	Index *blockidx.Reader // nil without Tail
	Dir   *Directory       // nil without Tail

	Searched bool  // Tail is from SearchTail: the checksum of the index is unknown
	budget   int64 // bytes that SearchTail may still read of manifests
}

// NewFinder returns a finder in the archive that a walker reads.
func NewFinder(ctx context.Context, w Walker, src *ioat.Source) Finder {
	return Finder{Walker: w, Src: src, Ctx: ctx}
}

// FindTail looks for the end line and for the manifest that it points to.
func (x *Finder) FindTail() error {
	if x.Size < czip.EndLen {
		return nil
	}
	b, err := opening.Section{}.Get(x.Src, x.Size-czip.EndLen, czip.EndLen)
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
	payload, err := opening.Section{}.Get(x.Src, t.ManOff+man.LocalLen(), t.ManLen)
	if err != nil {
		return err
	}
	if czip.CRC(payload) != t.ManCRC {
		return nil
	}
	data, err := czip.InflateTo(x.Ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return nil
	}
	return x.useTail(t, data)
}

// useTail takes a manifest and the places of an end line as evidence.
func (x *Finder) useTail(t czip.Tail, manifest []byte) error {
	m, err := plan.ParseManifest(manifest, t)
	if err != nil {
		return err
	}
	if n, err := blockidx.Size(m.Blocks); err != nil || n != t.IdxLen {
		return fault.Corruptf("index of %d bytes for %d blocks", t.IdxLen, m.Blocks)
	}
	x.Tail, x.Man = &t, m
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: t.IdxLen, Size: t.IdxLen, Off: t.IdxOff}
	if idx.End() > x.Size {
		return nil // cut off; only SearchTail finds such a tail
	}
	rows := x.Src.Section(idx.End()-idx.Stored, idx.Stored)
	if x.Index, err = blockidx.NewReader(rows, t.IdxLen, blockidx.Header(m.Blocks), 0); err != nil {
		return opening.Corrupt(err)
	}
	x.Dir = NewDirectory(x.Src, idx.End(), max(idx.End(), x.Size-czip.EndLen))
	if g := x.Src.Gap(); g > 0 {
		x.Dir.w.Len = image.AheadRun
		return opening.LoadIndex(x.Index, t.IdxLen, g)
	}
	return nil
}

// searchWindow is the length of the parts that SearchTail reads.
const searchWindow = 1 << 20

// SearchTail looks for the manifest from the end of the archive backwards, where neither
// the end line nor the local headers lead to it. It returns false if it finds none.
// It searches the last parity.SearchLen bytes of the archive.
func (x *Finder) SearchTail() (bool, error) {
	sig := []byte(czip.ManifestName)
	buf := make([]byte, searchWindow+len(sig))
	x.budget = min(x.Size, parity.SearchLen(x.Src))
	for end, least := x.Size, x.Size-x.budget; end > least; end -= searchWindow {
		if err := x.Ctx.Err(); err != nil {
			return false, err
		}
		off := max(0, end-searchWindow)
		b := buf[:min(x.Size, end+int64(len(sig))-1)-off]
		if err := ioat.ReadFull(x.Src, b, off); err != nil {
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

// ForgetTail forgets what the tail led to.
func (x *Finder) ForgetTail() { x.Tail, x.Man, x.Index, x.Dir = nil, nil, nil, nil }

// manifestAt takes the manifest whose local header is at off, if there is one.
func (x *Finder) manifestAt(off int64) (bool, error) {
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
		return false, nil // damage or malice may turn one header into many
	}
	payload, err := x.Payload(&e)
	if err != nil {
		return false, err
	}
	data, err := czip.Inflate(x.Ctx, &e, payload, czip.MaxManifest)
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
		x.ForgetTail()
		return false, nil
	}
	x.Searched = true
	return true, nil
}

// FindPlan finds and parses the plan, through the manifest or else the local headers,
// and returns its entry.
func (x *Finder) FindPlan() (*czip.MetaEntry, error) {
	if x.Man != nil {
		m := x.Man.Plan
		payload, err := opening.Section{}.Get(x.R, m.Off, m.Len)
		if err != nil {
			return nil, err
		}
		if payload, _, err = opening.Sound(x.R, payload, m, x.Man.Copies.Plan); err != nil {
			return nil, err
		}
		if err := m.Check(czip.PlanName, payload); err != nil {
			return nil, err
		}
		data, err := czip.InflateTo(x.Ctx, czip.PlanName, payload, min(czip.MetaSmall+czip.MaxInflate*m.Len, czip.MetaLimit(x.Size, x.Man.Header.Len)))
		if err != nil {
			return nil, err
		}
		x.L, err = plan.ParsePlan(x.Ctx, data)
		e := czip.ZipEntry{Name: czip.PlanName, Method: czip.MethodDeflated, Crc: czip.CRC(data), Stored: m.Len, Size: int64(len(data))}
		e.Off = m.Off - e.LocalLen()
		return &czip.MetaEntry{ZipEntry: e, Payload: payload}, err
	}
	e, err := x.Expect(0, czip.PlanName)
	if err != nil {
		return nil, err
	}
	entry, err := x.PlanIn(e)
	if errors.Is(err, fault.ErrCorrupt) {
		if second, ok := x.hopToPlan(e.End()); ok {
			if entry, err := x.PlanIn(second); err == nil {
				entry.Name, entry.Off = czip.PlanName, 0
				return entry, nil
			}
		}
	}
	return entry, err
}

// PlanIn parses the plan in an entry.
func (x *Finder) PlanIn(e czip.ZipEntry) (*czip.MetaEntry, error) {
	payload, err := x.Payload(&e)
	if err != nil {
		return nil, err
	}
	data, err := czip.Inflate(x.Ctx, &e, payload, czip.MetaLimit(x.Size, 0))
	if err != nil {
		return nil, err
	}
	x.L, err = plan.ParsePlan(x.Ctx, data)
	return &czip.MetaEntry{ZipEntry: e, Payload: payload}, err
}

// hopToPlan follows the local headers from off to the second copy of the plan.
func (x *Finder) hopToPlan(off int64) (czip.ZipEntry, bool) {
	for x.Ctx.Err() == nil {
		e, err := x.At(off)
		if err != nil || e.Name == czip.CopyPlan {
			return e, err == nil
		}
		off = e.End()
	}
	return czip.ZipEntry{}, false
}
