package repair

import (
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// repairedFront is the part before the first block, as far as it is found or can be
// regenerated.
type repairedFront struct {
	entries []czip.ZipEntry // as they must be
	found   []czip.ZipEntry // the same, but directory records for regenerated ones
	known   int             // entries without those of later versions
	bytes   []byte          // of the entries
	end     int64           // where the first block's local header is expected
}

// chosen is an entry as it must be, as it is found, and its stored bytes.
type chosen struct {
	entry, found czip.ZipEntry
	payload      []byte
}

func (f *repairedFront) take(c chosen) {
	c.entry.Off, c.found.Off = f.end, f.end
	f.entries, f.found = append(f.entries, c.entry), append(f.found, c.found)
	f.bytes = append(c.entry.AppendLocal(f.bytes), c.payload...)
	f.end = c.entry.End()
	if !evidence.Foreign(c.entry.Name) {
		f.known++
	}
}

// check returns an error if an entry cannot be the next one of a front of limit bytes, -1 if unknown.
func (f *repairedFront) check(e *czip.ZipEntry, limit int64) error {
	tooLong := limit >= 0 && f.end+e.LocalLen()+e.Stored > limit
	if e.Name == firstBlock || tooLong || len(f.entries) > f.known+evidence.MaxForeign {
		return fault.Corruptf("entry at byte %d: expected metadata, found %q", f.end, e.Name)
	}
	return nil
}

// firstBlock is the name of the entry after the front.
const firstBlock = czip.RestPrefix + "0"

// canonicalFront returns the metadata that this program would write for the given plan.
func (x *repairer) canonicalFront(entry *czip.MetaEntry) ([]czip.MetaEntry, error) {
	out := []czip.MetaEntry{*entry}
	if !x.L.Zarr.HasView() || x.p.header == nil {
		return out, nil
	}
	files, err := zarrview.ZarrMeta(x.Ctx, x.p.header, x.L.Plan, czip.MetaLimit(x.Size, 0), nil)
	if errors.Is(err, plan.ErrMetadata) {
		return out, nil // no archive has them
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		e, err := czip.NewLongMeta(x.Ctx, f.Name, f.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// walkFront finds the entries before the first block: those of an undamaged front, those that this program would write
// if the manifest proves them, or else the best of each.
func (x *repairer) walkFront(entry *czip.MetaEntry) (*repairedFront, error) {
	if err := x.findHeader(); err != nil {
		return nil, err
	}
	if x.Man != nil {
		if f, err := x.soundFront(x.Man.Front); f != nil || err != nil {
			return f, err
		}
	}
	canon, err := x.canonicalFront(entry)
	if err != nil {
		return nil, err
	}
	if x.Man != nil {
		f := &repairedFront{}
		for _, c := range canon {
			f.take(chosen{c.ZipEntry, c.ZipEntry, c.Payload})
		}
		if x.proves(f) {
			return f, nil
		}
	}
	return x.mendFront(canon)
}

// soundFront lists the entries of an undamaged front. It returns nil for a damaged one.
func (x *repairer) soundFront(front plan.Front) (*repairedFront, error) {
	crc, err := x.Checksum(x.Ctx, 0, front.Len)
	if err != nil || plan.Hex32(crc) != front.CRC32 {
		return nil, err
	}
	f := &repairedFront{}
	for f.end < front.Len {
		if err := x.Ctx.Err(); err != nil {
			return nil, err
		}
		e, err := x.At(f.end)
		if err != nil {
			return nil, err
		}
		payload, err := x.Payload(&e)
		if err != nil {
			return nil, err
		}
		f.take(chosen{e, e, payload})
	}
	return f, nil
}

// mendFront goes from entry to entry of a damaged front, up to the length in the manifest, or without one up to the first
// block. canon are the entries that this program would write.
func (x *repairer) mendFront(canon []czip.MetaEntry) (*repairedFront, error) {
	f := &repairedFront{}
	limit := int64(-1)
	if x.Man != nil {
		limit = x.Man.Front.Len
	}
	for f.end != limit {
		if err := x.Ctx.Err(); err != nil {
			return nil, err
		}
		c := candidates{canon: &canon[min(f.known, len(canon)-1)], later: f.known >= len(canon)}
		if err := x.readLocal(&c, f.end, f.known > 0); err != nil {
			return nil, err
		}
		if limit < 0 && c.err == nil && c.local.Name == firstBlock && len(f.entries) > 0 {
			break
		}
		c.rec, c.recorded = x.Dir.Next(c.name(), f.end)
		e, err := x.best(&c)
		if err != nil {
			return nil, err
		}
		if err := f.check(&e.entry, limit); err != nil {
			return nil, err
		}
		f.take(e)
	}
	return f, nil
}

// candidates are what is known of an entry of the front.
type candidates struct {
	local    czip.ZipEntry   // by its local header
	err      error           // why the local header is of no use, or nil
	rec      czip.ZipEntry   // by the directory
	recorded bool            // the directory has it
	canon    *czip.MetaEntry // that this program would write
	later    bool            // all that this program would write were found before, canon is the last of them
}

// name returns the name to look for in the directory.
func (c *candidates) name() string {
	if c.err != nil && !c.later {
		return c.canon.Name
	}
	return c.local.Name
}

// readLocal reads the local header at a byte. Without a netCDF header the names of Zarr metadata are unknown: those
// after the first entry are then accepted.
func (x *repairer) readLocal(c *candidates, off int64, after bool) error {
	c.local, c.err = x.At(off)
	if errors.Is(c.err, fault.ErrCorrupt) {
		return nil
	}
	if c.err != nil {
		return c.err
	}
	if !c.later && c.local.Name == c.canon.Name || after && (evidence.Foreign(c.local.Name) || x.p.header == nil) {
		return nil
	}
	c.err = fault.Corruptf("entry at byte %d: unexpected name %q", off, c.local.Name)
	return nil
}

// best returns the best of the candidates.
func (x *repairer) best(c *candidates) (chosen, error) {
	if c.err == nil {
		if payload, ok := x.verified(&c.local); ok {
			return chosen{c.local, c.local, payload}, nil
		}
	}
	if c.recorded {
		if payload, ok := x.verified(&c.rec); ok {
			return chosen{c.rec, c.rec, payload}, nil
		}
	}
	if damaged := c.damaged(); damaged != nil && !c.ours(damaged) { // keep it
		payload, err := x.Payload(damaged)
		return chosen{*damaged, *damaged, payload}, err
	}
	if c.recorded {
		return chosen{c.canon.ZipEntry, c.rec, c.canon.Payload}, nil
	}
	if c.err != nil && c.later {
		return chosen{}, c.err
	}
	return chosen{c.canon.ZipEntry, c.canon.ZipEntry, c.canon.Payload}, nil
}

// damaged returns the entry that has other bytes than its checksum, or nil if it is not known.
func (c *candidates) damaged() *czip.ZipEntry {
	switch {
	case c.err == nil:
		return &c.local
	case c.recorded:
		return &c.rec
	}
	return nil
}

// ours reports whether a damaged entry may be what this program would write.
func (c *candidates) ours(e *czip.ZipEntry) bool {
	return c.canon.Name == e.Name && c.canon.LocalLen() == e.LocalLen() && c.canon.Stored == e.Stored
}

// verified reads the stored bytes of a metadata entry and reports whether they have its
// checksum.
func (x *repairer) verified(e *czip.ZipEntry) ([]byte, bool) {
	if e.Name == firstBlock || e.Stored > x.Size || e.End() > x.Size {
		return nil, false
	}
	b, err := x.Payload(e)
	if err != nil {
		return nil, false
	}
	_, err = czip.Inflate(x.Ctx, e, b, czip.MetaLimit(x.Size, 0))
	return b, err == nil
}

// findHeader decodes the netCDF header at the place in the manifest. Without the
// header, Zarr metadata cannot be regenerated.
func (x *repairer) findHeader() error {
	if x.Man == nil {
		return nil
	}
	stored, err := opening.Section{}.Get(x.R, x.Man.Header.Off, x.Man.Header.Len)
	if err != nil {
		return err
	}
	if stored, _, err = opening.Sound(x.R, stored, x.Man.Header, x.Man.Copies.Header); err != nil {
		return err
	}
	if h, _, err := opening.DecodeHeader(x.Ctx, x.L, x.Man.Header, stored); err == nil && x.L.SetHeader(x.Ctx, h) == nil {
		x.p.header = h
	}
	return nil
}

// proves reports whether a front is the original one.
func (x *repairer) proves(f *repairedFront) bool {
	return int64(len(f.bytes)) == x.Man.Front.Len && plan.Hex32(czip.CRC(f.bytes)) == x.Man.Front.CRC32
}

// proveFront compares the front with the manifest's checksum of it. Without an end
// line, the manifest is found last. The front is then walked once more, because the
// manifest locates the netCDF header.
func (x *repairer) proveFront(f *repairedFront, plan *czip.MetaEntry) error {
	if x.Tail == nil && !x.proves(f) {
		if again, err := x.walkFront(plan); err == nil {
			f = again
		} else if !errors.Is(err, fault.ErrCorrupt) {
			return err
		}
	}
	x.p.t.Front, x.p.frontLen = f.entries, f.end
	if x.proves(f) {
		x.sound = true
		have := make([]byte, len(f.bytes))
		if err := ioat.ReadFull(ioat.Bind(x.Ctx, x.Src), have, 0); err != nil {
			return err
		}
		if x.p.Front = string(have) != string(f.bytes); x.p.Front {
			x.p.front = f.bytes
		}
		return nil
	}
	x.p.t.Front = f.found
	err := fault.Corruptf("metadata: damaged, and this program would write other bytes")
	x.damage(verify.DamageMetadata, 0, f.end, err)
	return nil
}
