package archive

import (
	"context"
	"errors"

	"github.com/cdfz-format/cdfz/blockidx"
)

const (
	// indexAhead bounds the index that is read as a whole before its rows are
	// wanted one by one: what is kept of it unless the options say otherwise.
	indexAhead = 4 << 20
	// pageRows is the rows of an index page, docs/FORMAT.md, section 10.
	pageRows = 256
)

// loadIndex has an index that is short enough kept as a whole. Damage is found
// when its rows are read.
func loadIndex(x *blockidx.Reader, size int64, gap int64) error {
	if size > indexAhead || x.Rows() == 0 {
		return nil
	}
	_, err := x.Lookup(pagesOf(x.Rows()), gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		return nil
	}
	return err
}

// pagesOf is the number of the first row of each page.
func pagesOf(rows int64) []int64 {
	var first []int64
	for n := int64(0); n < rows; n += pageRows {
		first = append(first, n)
	}
	return first
}

// prepareIndex is loadIndex for what reads most blocks of a remote archive.
func (a *Reader) prepareIndex(ctx context.Context) error {
	return loadIndex(a.indexUntil(ctx), a.tail.idxLen, a.gap)
}
