package blocks

import (
	"context"
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/blockidx"
)

// rowsRead is the number of index rows read together if all are needed, 1.3 MB of the
// index.
const rowsRead = 64 << 10

// EachRow calls f with the rows [from, to) of the index, read together, until it
// returns an error.
func (a *Reader) EachRow(ctx context.Context, from, to int64, f func(n int64, row blockidx.Row) error) error {
	numbers := make([]int64, min(rowsRead, to-from))
	for ; from < to; from += int64(len(numbers)) {
		numbers = numbers[:min(int64(len(numbers)), to-from)]
		for i := range numbers {
			numbers[i] = from + int64(i)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := a.indexUntil(ctx).Lookup(numbers, a.gap)
		if errors.Is(err, blockidx.ErrCorrupt) {
			err = fault.WithName(a.name, Corrupt(err))
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
