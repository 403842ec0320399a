package repair

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/blockidx"
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

// spend reports whether the search may read the bytes of an entry.
func (x *salvager) spend(e *czip.ZipEntry) bool {
	x.budget -= e.Stored
	return x.budget >= 0
}

// take sets the row of the block in an entry. It returns false if the entry is one of a
// block whose bytes are damaged. The checksum does not cover the name, so a neighbour must
// confirm it.
func (x *salvager) take(e *czip.ZipEntry, missing *int64) (bool, error) {
	n, ok := x.number(e.Name)
	if !ok || e.Method != czip.MethodStored {
		return true, nil
	}
	before := x.before
	if e.Name != czip.CopyHeader {
		x.before = *e
	}
	if n == x.L.RestFirst && x.spend(e) && x.headerIn(e) {
		return x.takeEntry(e, missing) // its content confirms it
	}
	if next, err := x.At(e.End()); !x.follows(e, &before) && (err != nil || !x.follows(&next, e)) {
		return true, nil
	}
	if !x.spend(e) {
		return true, nil
	}
	return x.takeEntry(e, missing)
}

// takeEntry sets the row of the block in an entry if its stored bytes have the checksum.
func (x *salvager) takeEntry(e *czip.ZipEntry, missing *int64) (bool, error) {
	n, ok := x.number(e.Name)
	if !ok || e.Method != czip.MethodStored {
		return false, nil
	}
	row := blockidx.Row{Off: e.End() - e.Stored, Len: e.Stored, Mask: e.Mask, CRC: e.Crc}
	if !x.confirm(n, &row) {
		return false, nil
	}
	return x.takeRow(n, row, missing)
}

// follows reports whether e is where the entry after another one is expected, and has the
// name of the next block in stored order.
func (x *salvager) follows(e, other *czip.ZipEntry) bool {
	if other.Name == "" || e.Off != other.End() {
		return false
	}
	if e.Name == czip.CopyPlan || e.Name == czip.ManifestName {
		n, ok := x.number(other.Name)
		pos, known := x.positions()[n]
		return ok && known && pos == x.L.Blocks-1
	}
	n, ok := x.number(e.Name)
	pos := x.positions()[n]
	if !ok || pos == 0 {
		return false
	}
	m, known := x.number(other.Name)
	before, there := x.positions()[m]
	return ok && known && there && pos == before+1
}

// positions returns the place in stored order of each block, as far as the archive is long
// enough for them.
func (x *salvager) positions() map[int64]int64 {
	if x.order != nil {
		return x.order
	}
	most := x.Size / czip.LocalFixed
	x.order = make(map[int64]int64, min(most, x.L.Blocks))
	one := func(v int, b int64) bool {
		x.order[x.L.Number(v, b)] = int64(len(x.order))
		return int64(len(x.order)) <= most && x.Ctx.Err() == nil
	}
	if one(-1, 0) {
		x.L.StoredOrder(one)
	}
	for b := int64(1); b < x.L.RestBlocks && one(-1, b); b++ {
	}
	return x.order
}

// takeRow sets the row of a block if its stored bytes have the checksum.
func (x *salvager) takeRow(n int64, row blockidx.Row, missing *int64) (bool, error) {
	b := x.L.BlockAt(n)
	if row.Off <= 0 || row.Len > x.Size || row.Off > x.Size-row.Len || row.Len > opening.MaxStored(b.Len) {
		return false, nil
	}
	old, err := x.out.table.Row(n)
	if err != nil || old.Off == row.Off || old.Off > 0 && old.Len == row.Len && old.CRC == row.CRC && old.Mask == row.Mask {
		return err == nil, err
	}
	crc, err := x.Checksum(x.Ctx, row.Off, row.Len)
	if x.Ctx.Err() != nil {
		return false, x.Ctx.Err()
	}
	if err != nil || crc != row.CRC {
		return false, nil
	}
	if old.Off > 0 {
		x.contradict(b, old.Off, row.Off)
		return true, nil
	}
	*missing--
	return true, x.out.table.Set(n, row)
}

// contradict lists a block that was found in two places with different intact bytes. The first one
// is used.
func (x *salvager) contradict(b plan.Block, first, second int64) {
	if len(x.out.Contradicted) < verify.MaxLost {
		err := fault.Corruptf("other bytes with the right checksum at byte %d contradict those at byte %d, which are restored", second, first)
		x.out.Contradicted = append(x.out.Contradicted, x.out.damage(b, first, err))
	}
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
		next, err := x.At(e.End())
		switch {
		case err == nil && begun && e.Name == czip.ReadmeName && next.Name == czip.PlanName:
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

// confirm reports whether the index has the same length and checksum of a block, or does not
// have them, and sets the mask to that of the index. Another archive that was written over a part
// of this one may have blocks of the same names.
func (x *repairer) confirm(n int64, row *blockidx.Row) bool {
	if x.Index == nil || n >= x.Index.Rows() {
		return true
	}
	want, err := x.Index.Row(n)
	if err != nil {
		return true
	}
	row.Mask = want.Mask
	return row.CRC == want.CRC && row.Len == want.Len
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

// headerIn parses the netCDF header in an entry, if that is possible.
func (x *salvager) headerIn(e *czip.ZipEntry) bool {
	stored, err := x.Payload(e)
	if err != nil {
		return false
	}
	at := plan.Place{Off: e.End() - e.Stored, Len: e.Stored, Mask: e.Mask, CRC32: plan.Hex32(e.Crc)}
	h, _, err := opening.DecodeHeader(x.Ctx, x.L, at, stored)
	if err != nil || x.L.SetHeader(x.Ctx, h) != nil {
		return false
	}
	x.p.header = h
	return true
}

// number returns the global number of the block with an entry name.
func (x *salvager) number(name string) (int64, bool) {
	if name == czip.CopyHeader {
		return x.L.RestFirst, true
	}
	if s, ok := strings.CutPrefix(name, czip.RestPrefix); ok {
		b, err := strconv.ParseInt(s, 10, 64)
		if err != nil || b < 0 || b >= x.L.RestBlocks || strconv.FormatInt(b, 10) != s {
			return 0, false
		}
		return x.L.RestFirst + b, true
	}
	if x.paths == nil {
		x.paths = make(map[string]int, len(x.L.Geoms))
		for v := range x.L.Geoms {
			x.paths[x.L.Path(v)] = v
		}
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return 0, false
	}
	v, ok := x.paths[name[:i]]
	if !ok {
		return 0, false
	}
	b, ok := x.L.Geoms[v].ParseKey(name[i+1:])
	return x.L.Number(v, b), ok
}
