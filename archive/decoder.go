package archive

import "github.com/cdfz-format/cdfz/filters"

// maxKept is what a decoder keeps of memory for stored bytes between reads.
const maxKept = 8 << 20

// decoder is the state that one goroutine needs to decode blocks.
type decoder struct {
	coders []*filters.Coder // by chain, made when first needed
	stored []byte
	part   []byte
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

// decode decodes what is needed of a block into dst, which has that length.
func (d *decoder) decode(l *layout, q need, dst, stored []byte, mask uint32) error {
	v, b := l.locate(q.n)
	chain, size := l.blockInfo(v, b)
	c, err := d.coder(l, chain)
	switch {
	case err != nil:
		return err
	case q.hi-q.lo == size:
		return c.Decode(dst, stored, mask)
	case mask == 0:
		if err = c.DecodeParts(dst, stored, int(size), int(l.part(v)), int(q.lo)); err != filters.ErrNoParts {
			return err
		}
	}
	// The block was left whole, or filters were left out of it.
	d.part = grow(d.part, size)
	if err := c.Decode(d.part, stored, mask); err != nil {
		return err
	}
	copy(dst, d.part[q.lo:q.hi])
	return nil
}

// checkParts compares the parts of a block, if it has any, with the whole, which is
// block.
func (d *decoder) checkParts(l *layout, q need, block, stored []byte, mask uint32) error {
	v, b := l.locate(q.n)
	part := l.part(v)
	chain, size := l.blockInfo(v, b)
	if part == 0 || mask != 0 || q.hi-q.lo != size {
		return nil
	}
	c, err := d.coder(l, chain)
	if err != nil {
		return err
	}
	return c.CheckParts(block, stored, int(part))
}

// grow is n bytes of any content, in b if it has room.
func grow(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}
