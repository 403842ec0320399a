package repair

import (
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/blockidx"
)

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
