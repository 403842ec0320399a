package opening

import (
	"context"
	"errors"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// IndexIn returns the index, whose pages are then read under ctx.
func (a *Archive) IndexIn(ctx context.Context) *blockidx.Reader {
	if !a.R.Cancels() {
		return a.Index
	}
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: a.Tail.IdxLen, Off: a.Tail.IdxOff}
	return a.Index.Using(ioat.Bind(ctx, a.R).Section(idx.End()-idx.Stored, idx.Stored))
}

// Row returns the row of a block. Damage is a *BlockError.
func (a *Archive) Row(ctx context.Context, b plan.Block) (row blockidx.Row, err error) {
	if err = ctx.Err(); err != nil {
		return
	}
	row, err = a.IndexIn(ctx).Row(b.N)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = a.BlockError(b, -1, Corrupt(err))
	}
	if err == nil {
		err = a.CheckRow(b, row)
	}
	return
}

// CheckRow checks the place of a block, which is a claim of the index, against the
// stored length that the format allows for its decoded length.
func (a *Archive) CheckRow(b plan.Block, row blockidx.Row) error {
	switch {
	case row.Off < 0 || row.Off > a.Size-row.Len:
		return a.BlockError(b, row.Off, fault.Corruptf("%d bytes beyond the end of the archive", row.Len))
	case row.Len > MaxStored(b.Len):
		return a.BlockError(b, row.Off, fault.Corruptf("%d bytes stored for a block of %d, more than the format allows", row.Len, b.Len))
	}
	return nil
}

// rowsRead is the number of index rows read together if all are needed, 1.3 MB of the
// index.
const rowsRead = 64 << 10

// EachRow calls f with the rows [from, to) of the index, read together, until it
// returns an error.
func (a *Archive) EachRow(ctx context.Context, from, to int64, f func(n int64, row blockidx.Row) error) error {
	numbers := make([]int64, min(rowsRead, to-from))
	for ; from < to; from += int64(len(numbers)) {
		numbers = numbers[:min(int64(len(numbers)), to-from)]
		for i := range numbers {
			numbers[i] = from + int64(i)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := a.IndexIn(ctx).Lookup(numbers, a.Gap)
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = fault.WithName(a.Name, Corrupt(err))
		}
		if err != nil {
			return err
		}
		for i := range rows {
			if err := f(numbers[i], rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexAhead is the largest length of an index that is read as a whole before single
// rows are needed. It is the default size of the cache of index pages.
const indexAhead = 4 << 20

// LoadIndex reads and keeps a short index as a whole. Damage is detected when its rows
// are used.
func LoadIndex(x *blockidx.Reader, size int64, gap int64) error {
	if size > indexAhead {
		return nil
	}
	if err := x.Load(gap); !errors.Is(err, blockidx.ErrCorrupt) {
		return err
	}
	return nil
}

// PrepareIndex is LoadIndex for callers that read most blocks of a remote archive.
func (a *Archive) PrepareIndex(ctx context.Context) error {
	return LoadIndex(a.IndexIn(ctx), a.Tail.IdxLen, a.Gap)
}

// MaxStored returns the largest stored length of a block with the given decoded length
// (docs/FORMAT.md, "Limits").
func MaxStored(decoded int64) int64 { return filters.MaxLen(decoded) }

// ReadAgain reads bytes that were wrong the first time.
func ReadAgain(ctx context.Context, r io.ReaderAt, p []byte, off int64) error {
	return ioat.ReadFull(ioat.Bind(ioat.Reread(ctx), r), p, off)
}
