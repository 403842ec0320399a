package archive

import (
	"errors"
	"strings"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// repairedFront is all that precedes the first block, as far as it is found or
// can be regenerated.
type repairedFront struct {
	entries []zipEntry // as they should be
	found   []zipEntry // the same, with what the directory says where one was regenerated
	bytes   []byte     // of the entries
	end     int64      // where the first block's local header is expected
}

func (f *repairedFront) take(e, found zipEntry, payload []byte) {
	e.off, found.off = f.end, f.end
	f.entries, f.found = append(f.entries, e), append(f.found, found)
	f.bytes = append(e.appendLocal(f.bytes), payload...)
	f.end = e.end()
}

// canonicalFront is the metadata as this program writes it, with the plan as it is.
func (x *repairer) canonicalFront(plan *metaEntry) []metaEntry {
	out := []metaEntry{newStoredMeta(readmeName, []byte(readme)), *plan}
	if x.l.Layout != Viewed || x.p.header == nil {
		return out
	}
	files, _ := zarrMeta(x.p.header, x.l.Plan)
	for _, f := range files {
		out = append(out, newMeta(f.name, f.data))
	}
	return out
}

// walkFront finds the entries before the first block: by their local headers, by
// the directory where those are damaged, and regenerated where their content is.
func (x *repairer) walkFront(plan *metaEntry) (*repairedFront, error) {
	if err := x.findHeader(); err != nil {
		return nil, err
	}
	canon := x.canonicalFront(plan)
	f := &repairedFront{}
	limit := int64(-1)
	if x.man != nil {
		for i := range canon {
			f.take(canon[i].zipEntry, canon[i].zipEntry, canon[i].payload)
		}
		if x.proves(f) {
			return f, nil
		}
		f, limit = &repairedFront{}, x.man.Front.Len
	}
	known := 0 // entries that were found, but for those of later versions
	for f.end != limit {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		local, lerr := x.at(f.end)
		if lerr == nil && !x.expected(local.name, known, canon) {
			lerr = corruptf("entry at byte %d: found %q", f.end, local.name)
		}
		if lerr != nil && !errors.Is(lerr, ErrCorrupt) {
			return nil, lerr
		}
		if lerr == nil && limit < 0 && local.name == restPrefix+"0" && len(f.entries) > 1 {
			break
		}
		name := local.name
		if lerr != nil && known < len(canon) {
			name = canon[known].name
		}
		rec, recorded := x.dir.next(name, f.end)
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
			if fits := c.name == e.name && c.localLen() == e.localLen() && c.stored == e.stored; whole && !fits {
				// Damaged, and not what this program would write: it stays as it is.
				var err error
				if payload, err = x.payload(&e); err != nil {
					return nil, err
				}
				found = e
			} else {
				e, payload = c.zipEntry, c.payload
				if found = e; recorded {
					found = rec
				}
			}
		}
		if e.name == restPrefix+"0" || limit >= 0 && f.end+e.localLen()+e.stored > limit || len(f.entries) > known+maxForeign {
			return nil, corruptf("entry at byte %d: expected metadata, found %q", f.end, e.name)
		}
		if !foreign(e.name) {
			known++
		}
		f.take(e, found, payload)
	}
	return f, nil
}

// expected says whether an entry of the front may have a name. Without a netCDF
// header the names of Zarr metadata are not known.
func (x *repairer) expected(name string, known int, canon []metaEntry) bool {
	if known < len(canon) && name == canon[known].name {
		return true
	}
	return known >= 2 && (foreign(name) || x.p.header == nil)
}

// maxForeign bounds the entries of later versions in a front.
const maxForeign = 1 << 16

// foreign says whether a name is one that the format leaves to later versions.
func foreign(name string) bool {
	return strings.HasPrefix(name, ".cdfz/") && name != readmeName && name != planName
}

// verified reads the stored bytes of an entry of metadata and says whether they
// have its checksum.
func (x *repairer) verified(e *zipEntry) ([]byte, bool) {
	if e.name == restPrefix+"0" || e.stored > x.size || e.end() > x.size {
		return nil, false
	}
	b, err := x.payload(e)
	if err != nil {
		return nil, false
	}
	_, err = inflate(e, b, metaLimit(x.size, 0))
	return b, err == nil
}

// findHeader decodes the netCDF header where the manifest says it is. Without one
// Zarr metadata cannot be regenerated.
func (x *repairer) findHeader() error {
	if x.man == nil {
		return nil
	}
	stored, err := section{}.get(x.r, x.man.Header.Off, x.man.Header.Len)
	if err != nil {
		return err
	}
	if h, err := decodeHeader(x.l, x.man.Header, stored); err == nil && x.l.checkHeader(h) == nil {
		x.p.header = h
	}
	return nil
}

// proves says whether a front is the one that was written.
func (x *repairer) proves(f *repairedFront) bool {
	return int64(len(f.bytes)) == x.man.Front.Len && hex32(crcOf(f.bytes)) == x.man.Front.CRC32
}

// proveFront compares the front with the manifest's checksum of it. Without an end
// line the manifest was found last: then the front is walked once more, as it tells
// where the netCDF header is.
func (x *repairer) proveFront(f *repairedFront, plan *metaEntry) error {
	if x.tail == nil && !x.proves(f) {
		if again, err := x.walkFront(plan); err == nil {
			f = again
		} else if !errors.Is(err, ErrCorrupt) {
			return err
		}
	}
	x.p.t.front, x.p.frontLen = f.entries, f.end
	if x.proves(f) {
		x.sound = true
		have := make([]byte, len(f.bytes))
		if err := ioat.ReadFull(ioat.Bind(x.ctx, x.src), have, 0); err != nil {
			return err
		}
		if x.p.Front = string(have) != string(f.bytes); x.p.Front {
			x.p.front = f.bytes
		}
		return nil
	}
	x.p.t.front = f.found
	err := corruptf("README or metadata: damaged, and not what this program would write")
	x.damage(DamageMetadata, 0, f.end, err)
	return nil
}
