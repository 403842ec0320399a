package blocks

import (
	"context"
	"errors"

	"github.com/cdfz-format/cdfz/blockidx"
)

// indexAhead bounds the index that is read as a whole before its rows are wanted
// one by one: what is kept of it unless the options say otherwise.
const indexAhead = 4 << 20

// loadIndex has an index that is short enough kept as a whole. Damage is found
// when its rows are read.
func LoadIndex(x *blockidx.Reader, size int64, gap int64) error {
	if size > indexAhead {
		return nil
	}
	if err := x.Load(gap); !errors.Is(err, blockidx.ErrCorrupt) {
		return err
	}
	return nil
}

// prepareIndex is loadIndex for what reads most blocks of a remote archive.
func (a *Reader) PrepareIndex(ctx context.Context) error {
	return LoadIndex(a.indexUntil(ctx), a.Tail.IdxLen, a.gap)
}
