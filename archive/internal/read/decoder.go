package read

import (
	"errors"
	"sync"

	"github.com/cdfz-format/cdfz/filters"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// decoder holds the state that one goroutine needs to decode blocks.
type decoder struct {
	coders []*filters.Coder // by chain, made when first needed
}

// coder returns the coder of a chain.
func (d *decoder) coder(l *plan.Resolved, chain int) (*filters.Coder, error) {
	if d.coders == nil {
		d.coders = make([]*filters.Coder, len(l.Filters))
	}
	if d.coders[chain] == nil {
		c, err := filters.NewCoder(l.Filters[chain])
		if err != nil {
			return nil, err
		}
		d.coders[chain] = c
	}
	return d.coders[chain], nil
}

// decode decodes at least the needed bytes of a block into memory from room.
func (d *decoder) decode(l *plan.Resolved, q need, stored []byte, mask uint32, room func(n int64) []byte) (blockData, error) {
	c, err := d.coder(l, q.Chain)
	if err != nil {
		return blockData{}, err
	}
	if filters.Observed() {
		c = c.Labelled(Label(l, q.Var))
	}
	if r := q.runs; r.count > 0 {
		part := room(r.len * r.count)
		err := c.DecodeRuns(part, stored, mask, int(q.Len), filters.Runs{Start: int(q.lo), Len: int(r.len), Stride: int(r.stride), Count: int(r.count)})
		if !errors.Is(err, filters.ErrWhole) {
			return blockData{off: q.lo, b: part, runs: r}, err
		}
	} else if q.lo > 0 || q.hi < q.Len {
		part := room(q.hi - q.lo)
		if err := c.DecodeRange(part, stored, mask, int(q.Len), int(q.lo)); !errors.Is(err, filters.ErrWhole) {
			return blockData{off: q.lo, b: part}, err
		}
	}
	whole := room(q.Len)
	return blockData{b: whole}, c.Decode(whole, stored, mask)
}

// Memory for stored bytes is kept between reads from minKept bytes, so that one piece serves
// most blocks, to maxKept.
const (
	minKept = 256 << 10
	maxKept = 8 << 20
)

// storage is a pool of *[]byte for stored bytes, shared by all readers.
var storage sync.Pool

// memory returns n bytes of any content for stored bytes. done takes them back.
func memory(n int64) (b []byte, done func()) {
	if n > maxKept {
		return make([]byte, n), func() {}
	}
	p, _ := storage.Get().(*[]byte)
	if p == nil {
		p = new([]byte)
	}
	if int64(cap(*p)) < n {
		*p = make([]byte, max(n, minKept))
	}
	return (*p)[:n], func() { storage.Put(p) }
}

// Label names the variable or pool of blocks for statistics.
func Label(l *plan.Resolved, v int) string {
	if v < 0 {
		return "(rest)"
	}
	return l.Path(v)
}
