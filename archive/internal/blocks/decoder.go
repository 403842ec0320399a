package blocks

import (
	"errors"

	"github.com/cdfz-format/cdfz/filters"

	"github.com/cdfz-format/cdfz/archive/internal/format"
)

// maxKept is the memory for stored bytes that a decoder keeps between reads.
const maxKept = 8 << 20

// decoder holds the state that one goroutine needs to decode blocks.
type decoder struct {
	coders []*filters.Coder // by chain, made when first needed
	stored []byte
}

// memory returns n bytes of any content for stored bytes, valid until the next call.
func (d *decoder) memory(n int64) []byte {
	if n > maxKept {
		return make([]byte, n)
	}
	if int64(cap(d.stored)) < n {
		d.stored = make([]byte, n)
	}
	return d.stored[:n]
}

// coder returns the coder of a chain.
func (d *decoder) coder(l *format.Resolved, chain int) (*filters.Coder, error) {
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
func (d *decoder) decode(l *format.Resolved, q need, stored []byte, mask uint32, room func(n int64) []byte) (blockData, error) {
	c, err := d.coder(l, q.Chain)
	if err != nil {
		return blockData{}, err
	}
	if filters.Observed() {
		c = c.Labelled(label(l, q.Var))
	}
	if q.lo > 0 || q.hi < q.Len {
		part := room(q.hi - q.lo)
		if err := c.DecodeRange(part, stored, mask, int(q.Len), int(q.lo)); !errors.Is(err, filters.ErrWhole) {
			return blockData{q.lo, part}, err
		}
	}
	whole := room(q.Len)
	return blockData{0, whole}, c.Decode(whole, stored, mask)
}
