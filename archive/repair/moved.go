package repair

import (
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
)

// findMoved searches the archive for the blocks that are damaged where they should be. It
// returns an error if one is elsewhere: the archive then has bytes that were inserted or
// removed, and a repair would write headers into the middle of intact blocks.
func (x *repairer) findMoved() error {
	if len(x.lost) == 0 {
		return nil
	}
	s := &salvager{repairer: *x}
	s.Size = min(x.Size, x.p.Size) // what follows may be another archive
	return s.search(func(e *czip.ZipEntry) (bool, error) {
		n, ok := s.number(e.Name)
		off, lost := x.lost[n]
		switch {
		case !ok || !lost || e.Name == czip.CopyHeader || e.Method != czip.MethodStored:
			return true, nil
		case e.Off == off:
			return false, nil // its length may lead past others
		}
		b := x.L.BlockAt(n)
		if !x.confirm(n, &blockidx.Row{Len: e.Stored, CRC: e.Crc}) {
			return true, nil
		}
		if e.Stored > opening.MaxStored(b.Len) || !s.spend(e) {
			return false, nil
		}
		crc, err := s.Checksum(x.Ctx, e.End()-e.Stored, e.Stored)
		if x.Ctx.Err() != nil {
			return false, x.Ctx.Err()
		}
		if err != nil || crc != e.Crc {
			return false, nil
		}
		err = fault.Corruptf("expected at byte %d: bytes were inserted or removed before it", off)
		return true, plan.NewBlockError(x.L, x.p.header, b.Var, b.B, e.Off, err)
	})
}
