package blocks

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// fetchAgain reads the stored bytes of a block of a remote archive again if their
// checksum is wrong, since they may have been garbled in transit. decodeStored checks
// the second copy.
func (a *Reader) fetchAgain(ctx context.Context, row blockidx.Row, stored []byte) error {
	if a.far == nil || czip.CRC(stored) == row.CRC {
		return nil
	}
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	if err := ReadAgain(ctx, a.r, stored, row.Off); err != nil {
		return a.readError(err)
	}
	return nil
}

// ReadAgain reads bytes that were wrong the first time.
func ReadAgain(ctx context.Context, r io.ReaderAt, p []byte, off int64) error {
	return ioat.ReadFull(ioat.Bind(ioat.Reread(ctx), r), p, off)
}
