package blocks

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// fetchAgain reads the stored bytes of a block of a remote archive once more if their
// checksum is wrong: they may have been garbled in transit. decodeStored judges the
// second copy.
func (a *Reader) fetchAgain(ctx context.Context, row blockidx.Row, stored []byte) error {
	if a.Far == nil || czip.CRC(stored) == row.CRC {
		return nil
	}
	a.reads.Add(1)
	a.bytes.Add(row.Len)
	if err := ReadAgain(ctx, a.r, stored, row.Off); err != nil {
		return a.readError(err)
	}
	return nil
}

// readAgain reads bytes that came before and were wrong.
func ReadAgain(ctx context.Context, r io.ReaderAt, p []byte, off int64) error {
	return ioat.ReadFull(ioat.Bind(ioat.Reread(ctx), r), p, off)
}
