package repair

import (
	"bytes"
	"encoding/binary"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// A search of the whole archive for local headers. It continues after damage.

const (
	searchWindow = 1 << 20
	sector       = 4096 // bytes that are skipped if they cannot be read
	// searchBudget bounds the bytes that a search reads to compare checksums, in lengths
	// of the archive: damage or malice may make many headers out of one.
	searchBudget = 4
)

// search calls use for the entries in the order of the file, as far as local headers are
// intact. It follows them from one to the next and looks for the next one where they lead
// nowhere, or where use returns false.
func (x *salvager) search(use func(e *czip.ZipEntry) (bool, error)) error {
	x.budget = searchBudget * x.Size
	for off := int64(0); off < x.Size; {
		if err := x.Ctx.Err(); err != nil {
			return err
		}
		if x.o.Progress != nil {
			x.o.Progress(off)
		}
		e, err := x.At(off)
		if err != nil {
			off = x.nextSignature(off + 1)
			continue
		}
		ok, err := use(&e)
		if err != nil {
			return err
		}
		// The length in a damaged header may lead anywhere.
		if _, err := x.At(e.End()); ok || err == nil {
			off = e.End()
		} else {
			off = x.nextSignature(off + 1)
		}
	}
	return nil
}

// nextSignature returns the offset of the next bytes from off on that may be a local
// header, or the end of the archive.
func (x *salvager) nextSignature(off int64) int64 {
	sig := []byte(czip.HeadMagic)
	if x.window == nil {
		x.window = make([]byte, searchWindow)
	}
	for off < x.Size && x.Ctx.Err() == nil {
		b := x.window[:min(searchWindow, x.Size-off)]
		if ioat.ReadFull(x.R, b, off) != nil {
			b = b[:min(sector, int64(len(b)))]
			if ioat.ReadFull(x.R, b, off) != nil {
				off += int64(len(b))
				continue
			}
		}
		if i := bytes.Index(b, sig); i >= 0 {
			return off + int64(i)
		}
		off += max(1, int64(len(b)-len(sig)+1))
	}
	return x.Size
}

// lineEnd returns the byte after the first end line. If there is no end line, it returns the length of the file.
func (x *salvager) lineEnd() int64 {
	magic := []byte(czip.TailMagic)
	buf := make([]byte, searchWindow+czip.TailLen)
	for off := int64(0); off < x.Size && x.Ctx.Err() == nil; off += searchWindow {
		b := buf[:min(x.Size-off, int64(len(buf)))]
		if ioat.ReadFull(x.R, b, off) != nil {
			continue
		}
		for i := 0; ; i++ {
			k := bytes.Index(b[i:], magic)
			if k < 0 {
				break
			}
			i += k
			if at := i + czip.TailLen; at <= len(b) && czip.IsTail(string(b[i:at])) {
				return off + int64(at)
			}
		}
	}
	return x.Size
}

// spend reports whether the search may read the bytes of an entry.
func (x *salvager) spend(e *czip.ZipEntry) bool {
	x.budget -= e.Stored
	return x.budget >= 0
}

// end returns where another archive begins after this one, or the length of the file. Local headers
// are followed as in a search. Where they lead nowhere, the bytes of an entry are searched, too,
// unless they have their checksum: the archive may have been cut off there.
func (x *salvager) end() (int64, error) {
	begun := false
	for off := int64(0); off < x.Size; {
		if err := x.Ctx.Err(); err != nil {
			return 0, err
		}
		e, err := x.At(off)
		if err != nil {
			off = x.nextSignature(off + 1)
			continue
		}
		_, err = x.At(e.End())
		switch {
		case err == nil && begun && e.Name == czip.PlanName:
			return off, nil
		case err == nil:
			off = e.End()
		default:
			ok, err := x.sound(&e)
			if err != nil {
				return 0, err
			}
			if ok {
				off = e.End()
			} else {
				off = x.nextSignature(off + 1)
			}
		}
		begun = true
	}
	return x.Size, nil
}

// fromDirectory takes the blocks that the central directory locates.
func (x *salvager) fromDirectory(missing *int64) error {
	end := x.Size - czip.EndLen
	if end < 0 {
		return nil
	}
	tail := make([]byte, czip.EndLen)
	if ioat.ReadFull(x.R, tail, end) != nil {
		return nil
	}
	// Larger directories have their place in ZIP64 records, and the index locates all.
	start := int64(binary.LittleEndian.Uint32(tail[16:]))
	if x.Tail != nil {
		idx := czip.ZipEntry{Name: czip.IndexName, Stored: x.Tail.IdxLen, Size: x.Tail.IdxLen, Off: x.Tail.IdxOff}
		start = idx.End()
	}
	var last czip.ZipEntry
	d := evidence.NewDirectory(x.R, start, end)
	for start >= 0 && start < end && x.Ctx.Err() == nil {
		e, n, ok := czip.ParseCentral(d.From(d.Off))
		if !ok {
			break
		}
		d.Off += int64(n)
		next, _, _ := czip.ParseCentral(d.From(d.Off))
		if _, ok := x.number(e.Name); ok && (x.follows(&e, &last) || x.follows(&next, &e)) && x.spend(&e) {
			if _, err := x.takeEntry(&e, missing); err != nil {
				return err
			}
		}
		last = e
	}
	return x.Ctx.Err()
}
