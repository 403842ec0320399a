package blocks

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cdfz-format/cdfz/blockidx"
)

// aheadLooks bounds the groups of items in a batch. Without it, a damaged index or
// tiny blocks would make a batch endless.
const aheadLooks = 4

// aheadOrder reads ahead in a known order of blocks, item by item. An item is the set
// of blocks first needed by one step of its user. The next batch of items is requested
// when the user begins the first item of the last batch. Therefore the stored bytes in
// memory are at most those of two batches, of aheadBatch and one item each, and those
// of active items.
type aheadOrder struct {
	*ahead
	items int64
	group int64                    // items that are looked up together
	list  func(i int64) []numbered // called for each item once, in order

	looked     [][]numbered // blocks of items from end on
	listed     int64        // number of listed items
	begin, end int64        // the last batch
}

// Begun is called in order before the user begins an item.
func (w *aheadOrder) Begun(i int64) error {
	for i >= w.begin && w.end < w.items {
		w.begin = w.end
		var batch []numbered
		for size := int64(0); size < aheadBatch && w.end < min(w.items, w.begin+aheadLooks*w.group); w.end++ {
			if len(w.looked) == 0 {
				if err := w.look(); err != nil {
					return err
				}
			}
			for _, b := range w.looked[0] {
				size += b.row.Len
			}
			batch = append(batch, w.looked[0]...)
			w.looked = w.looked[1:]
		}
		w.ask(batch)
	}
	return nil
}

// look finds the blocks of the next items. If the index is damaged there, it skips
// them, and readBlock reports the lost ones.
func (w *aheadOrder) look() error {
	if w.listed == 0 {
		if err := w.a.PrepareIndex(w.ctx); err != nil {
			return err
		}
	}
	var all []*numbered
	w.looked = w.looked[:0]
	for ; int64(len(w.looked)) < w.group && w.listed < w.items; w.listed++ {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		list := w.list(w.listed)
		for i := range list {
			all = append(all, &list[i])
		}
		w.looked = append(w.looked, list)
	}
	slices.SortFunc(all, func(x, y *numbered) int { return cmp.Compare(x.N, y.N) })
	numbers := make([]int64, len(all))
	for i, b := range all {
		numbers[i] = b.N
	}
	rows, err := w.a.indexUntil(w.ctx).Lookup(numbers, w.a.gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		clear(w.looked)
		return nil
	}
	for i := range rows {
		all[i].row = rows[i]
	}
	return err
}

// NewBlocksAhead reads ahead all blocks in the order of their numbers. Each block is an
// item.
func (a *Reader) NewBlocksAhead(ctx context.Context) *aheadOrder {
	if a.far == nil {
		return nil
	}
	list := func(i int64) []numbered { return []numbered{{Block: a.L.BlockAt(i)}} }
	return &aheadOrder{ahead: a.newAhead(ctx), items: a.L.Blocks, group: 4096, list: list}
}
