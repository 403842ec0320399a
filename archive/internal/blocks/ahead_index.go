package blocks

import (
	"context"
	"errors"

	"github.com/cdfz-format/cdfz/blockidx"
)

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
func (a *Reader) PrepareIndex(ctx context.Context) error {
	return LoadIndex(a.indexUntil(ctx), a.Tail.IdxLen, a.gap)
}
