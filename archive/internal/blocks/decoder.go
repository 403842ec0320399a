package blocks

import (
	"github.com/cdfz-format/cdfz/filters"

	"github.com/cdfz-format/cdfz/archive/internal/format"
)

// maxKept is what a decoder keeps of memory for stored bytes between reads.
const maxKept = 8 << 20

// decoder is the state that one goroutine needs to decode blocks.
type decoder struct {
	coders []*filters.Coder // by chain, made when first needed
	stored []byte
}

// memory is n bytes of any content for stored bytes, until the next call.
func (d *decoder) memory(n int64) []byte {
	if n > maxKept {
		return make([]byte, n)
	}
	if int64(cap(d.stored)) < n {
		d.stored = make([]byte, n)
	}
	return d.stored[:n]
}

// coder is the coder of a chain.
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
	v, b := l.Locate(q.n)
	chain, size := l.BlockInfo(v, b)
	c, err := d.coder(l, chain)
	if err != nil {
		return blockData{}, err
	}
	data := blockData{0, room(size)}
	return data, c.Decode(data.b, stored, mask)
}
