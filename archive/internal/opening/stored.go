package opening

import (
	"context"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// CheckStored compares stored bytes with their checksums and decodes nothing; see
// archive.File.CheckStored.
func (a *Archive) CheckStored(ctx context.Context, blocks bool) error {
	r, m := ioat.Bind(ctx, a.R), a.Man
	places := []struct {
		what string
		plan.Place
	}{
		{"plan and Zarr metadata", plan.Place{Len: m.Front.Len, CRC32: m.Front.CRC32}},
		{"netCDF header", m.Header},
		{"second copy of the plan", plan.Place{Off: m.Copies.Plan, Len: m.Plan.Len, CRC32: m.Plan.CRC32}},
		{"second copy of the netCDF header", plan.Place{Off: m.Copies.Header, Len: m.Header.Len, CRC32: m.Header.CRC32}},
	}
	for i, p := range places {
		if i > 1 && p.Off == 0 {
			continue // there is none
		}
		crc, err := a.crcOf(r, p.Off, p.Len)
		if err != nil {
			return err
		}
		if got := plan.Hex32(crc); got != p.CRC32 {
			return fault.WithName(a.Name, fault.Corruptf("%s at byte %d: expected checksum %s, found %s", p.what, p.Off, p.CRC32, got))
		}
	}
	return a.EachRow(ctx, 0, a.L.Blocks, func(n int64, row blockidx.Row) error {
		if !blocks {
			return nil
		}
		crc, err := a.crcOf(r, row.Off, row.Len)
		if err == nil && crc != row.CRC {
			err = fault.WithName(a.Name, fault.Corruptf("block %d at byte %d: expected checksum %08x, found %08x", n, row.Off, row.CRC, crc))
		}
		return err
	})
}

// crcOf returns the checksum of n bytes of the archive.
func (a *Archive) crcOf(r io.ReaderAt, off, n int64) (crc uint32, err error) {
	if off < 0 || n < 0 || off > a.Size || n > a.Size-off {
		return 0, fault.WithName(a.Name, fault.Corruptf("bytes %d to %d: the archive ends at byte %d", off, off+n, a.Size))
	}
	const piece = 1 << 20
	b := make([]byte, min(n, piece))
	for end := off + n; off < end; off += int64(len(b)) {
		b = b[:min(int64(len(b)), end-off)]
		if err := ioat.ReadFull(r, b, off); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	return crc, nil
}
