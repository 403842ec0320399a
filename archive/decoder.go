package archive

import "github.com/cdfz-format/cdfz/filters"

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
func (d *decoder) coder(l *layout, chain int) (*filters.Coder, error) {
	if d.coders == nil {
		d.coders = make([]*filters.Coder, len(l.chains))
	}
	if d.coders[chain] == nil {
		c, err := filters.NewCoder(l.chains[chain])
		if err != nil {
			return nil, err
		}
		d.coders[chain] = c
	}
	return d.coders[chain], nil
}

// decode decodes at least what is needed of a block, in memory that room gives; of
// several calls of room the last one counts.
func (d *decoder) decode(l *layout, q need, stored []byte, mask uint32, room func(n int64) []byte) (blockData, error) {
	v, b := l.locate(q.n)
	chain, size := l.blockInfo(v, b)
	c, err := d.coder(l, chain)
	if err != nil {
		return blockData{}, err
	}
	if q.hi-q.lo < size && mask == 0 {
		data := blockData{q.lo, room(q.hi - q.lo)}
		if err = c.DecodeParts(data.b, stored, int(size), int(l.part(v)), int(q.lo)); err != filters.ErrNoParts {
			return data, err
		}
	}
	// The block was left whole, or filters were left out of it.
	data := blockData{0, room(size)}
	return data, c.Decode(data.b, stored, mask)
}

// checkParts compares the parts of block n, if it has any, with what was decoded, if
// that is all of it.
func (d *decoder) checkParts(l *layout, n int64, data blockData, stored []byte, mask uint32) error {
	v, b := l.locate(n)
	part := l.part(v)
	chain, size := l.blockInfo(v, b)
	if part == 0 || mask != 0 || int64(len(data.b)) != size {
		return nil
	}
	c, err := d.coder(l, chain)
	if err != nil {
		return err
	}
	return c.CheckParts(data.b, stored, int(part))
}
