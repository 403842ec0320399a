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
	bytes   []byte          // of the entries
	end     int64           // where the first block's local header is expected
}

func (f *repairedFront) take(e, found czip.ZipEntry, payload []byte) {
	e.Off, found.Off = f.end, f.end
	f.entries, f.found = append(f.entries, e), append(f.found, found)
	f.bytes = append(e.AppendLocal(f.bytes), payload...)
	f.end = e.End()
}

// canonicalFront returns the metadata that this program would write for the given plan.
func (x *repairer) canonicalFront(entry *czip.MetaEntry) ([]czip.MetaEntry, error) {
	out := []czip.MetaEntry{*entry}
	if !x.L.Zarr.HasView() || x.p.header == nil {
		return out, nil
	}
	files, err := zarrview.ZarrMeta(x.Ctx, x.p.header, x.L.Plan, czip.MetaLimit(x.Size, 0))
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

// walkFront finds the entries before the first block by their local headers, or by
// the directory where headers are damaged. It regenerates entries whose content is
// damaged.
func (x *repairer) walkFront(entry *czip.MetaEntry) (*repairedFront, error) {
	if err := x.findHeader(); err != nil {
		return nil, err
	}
	f := &repairedFront{}
	limit := int64(-1)
	if x.Man != nil {
		limit = x.Man.Front.Len
		crc, err := x.Checksum(x.Ctx, 0, limit)
		if err != nil {
			return nil, err
		}
		if plan.Hex32(crc) == x.Man.Front.CRC32 {
			return x.soundFront(limit)
		}
	}
	canon, err := x.canonicalFront(entry)
	if err != nil {
		return nil, err
	}
	if x.Man != nil {
		for i := range canon {
			f.take(canon[i].ZipEntry, canon[i].ZipEntry, canon[i].Payload)
		}
		if x.proves(f) {
			return f, nil
		}
		f = &repairedFront{}
	}
	known := 0 // entries found, without those of later versions
	for f.end != limit {
		if err := x.Ctx.Err(); err != nil {
			return nil, err
		}
		local, lerr := x.At(f.end)
		if lerr == nil && !x.expected(local.Name, known, canon) {
			lerr = fault.Corruptf("entry at byte %d: unexpected name %q", f.end, local.Name)
		}
		if lerr != nil && !errors.Is(lerr, fault.ErrCorrupt) {
			return nil, lerr
		}
		if lerr == nil && limit < 0 && local.Name == czip.RestPrefix+"0" && len(f.entries) > 0 {
			break
		}
		name := local.Name
		if lerr != nil && known < len(canon) {
			name = canon[known].Name
		}
		rec, recorded := x.Dir.Next(name, f.end)
		e, payload, ok := local, []byte(nil), false
		if lerr == nil {
			payload, ok = x.verified(&local)
		}
		if !ok && recorded {
			if payload, ok = x.verified(&rec); ok {
				e = rec
			}
		}
		found := e
		if !ok {
			if lerr != nil {
				e = rec
			}
			whole := lerr == nil || recorded
			if !whole && known >= len(canon) {
				return nil, lerr
			}
			c := &canon[min(known, len(canon)-1)]
			if fits := c.Name == e.Name && c.LocalLen() == e.LocalLen() && c.Stored == e.Stored; whole && !fits {
				// Damaged, and not written by this program: keep it.
				var err error
				if payload, err = x.Payload(&e); err != nil {
					return nil, err
				}
				found = e
			} else {
				e, payload = c.ZipEntry, c.Payload
				if found = e; recorded {
					found = rec
				}
			}
		}
		if e.Name == czip.RestPrefix+"0" || limit >= 0 && f.end+e.LocalLen()+e.Stored > limit || len(f.entries) > known+evidence.MaxForeign {
			return nil, fault.Corruptf("entry at byte %d: expected metadata, found %q", f.end, e.Name)
		}
		if !evidence.Foreign(e.Name) {
			known++
		}
		f.take(e, found, payload)
	}
	return f, nil
}

// expected reports whether an entry of the front may have this name. Without a netCDF
// header the names of Zarr metadata are unknown.
func (x *repairer) expected(name string, known int, canon []czip.MetaEntry) bool {
	if known < len(canon) && name == canon[known].Name {
		return true
	}
	return known >= 1 && (evidence.Foreign(name) || x.p.header == nil)
}

// soundFront lists the entries of an undamaged front.
func (x *repairer) soundFront(end int64) (*repairedFront, error) {
	f := &repairedFront{}
	for f.end < end {
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
		f.take(e, e, payload)
	}
	return f, nil
}

// verified reads the stored bytes of a metadata entry and reports whether they have its
// checksum.
func (x *repairer) verified(e *czip.ZipEntry) ([]byte, bool) {
	if e.Name == czip.RestPrefix+"0" || e.Stored > x.Size || e.End() > x.Size {
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
