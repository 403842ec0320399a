package szip

import "github.com/cdfz-format/cdfz/filters/internal/wire"

// coding is what the encoder and the decoder of CCSDS 121.0-B share.
type coding struct {
	block      int // samples of a block
	bits       int // of a sample
	idBits     uint
	neighbours bool
}

func newCoding(bits int, p Params) coding {
	c := coding{block: p.Block, bits: bits, idBits: 3, neighbours: p.Neighbour}
	switch {
	case bits > 16:
		c.idBits = 5
	case bits > 8:
		c.idBits = 4
	}
	return c
}

// top is the largest sample.
func (c coding) top() uint32 { return 1<<c.bits - 1 }

// Coding options start with an id. The id with all bits set stores the samples. The ids
// between 0 and that one split samples after id-1 bits. After id 0, a bit distinguishes runs
// of blocks of zeros from the second extension.
const (
	lowEntropy = 0
	// restOfSegment is the length of a run that reaches to the end of a segment of so
	// many blocks, or of the line. Longer runs are coded as one more than they are.
	restOfSegment = 5
	segment       = 64
	maxPair       = 90 // largest symbol of the second extension
)

type decoder struct {
	coding
	r wire.BitReader
}

// line decodes the samples of a line.
func (d *decoder) line(out []uint32) error {
	for at := 0; at < len(out); {
		n, err := d.next(out[at:], at, (len(out)-at)/d.block)
		if err != nil {
			return err
		}
		at += n
		if d.r.Past() {
			return wire.Damaged("szip: expected more bytes")
		}
	}
	if d.neighbours {
		d.undo(out)
	}
	return nil
}

// next decodes the next option to out and returns the number of samples. The first of a
// line is not a difference and stands before the others. left is the number of blocks up
// to the end of the line.
func (d *decoder) next(out []uint32, at, left int) (int, error) {
	id := d.r.Get(d.idBits)
	pairs := false
	if id == lowEntropy {
		pairs = d.r.Get(1) == 1
	}
	block := out[:d.block]
	first := 0
	if d.neighbours && at == 0 {
		block[0] = uint32(d.r.Get(uint(d.bits)))
		first = 1
	}
	switch {
	case id == lowEntropy && pairs:
		return d.block, d.pairs(block, first)
	case id == lowEntropy:
		run := d.r.Zeros(segment) + 1
		switch {
		case run == restOfSegment:
			run = min(left, segment-at/d.block%segment)
		case run > restOfSegment:
			run--
		}
		if run > left {
			return 0, wire.Damaged("szip: expected at most %d blocks of zeros, found %d", left, run)
		}
		clear(out[first : run*d.block])
		return run * d.block, nil
	case id == 1<<d.idBits-1:
		for i := first; i < d.block; i++ {
			block[i] = uint32(d.r.Get(uint(d.bits)))
		}
	default:
		k := uint(id - 1)
		limit := int(d.top() >> k)
		for i := first; i < d.block; i++ {
			z := d.r.Zeros(limit)
			if z > limit {
				return 0, wire.Damaged("szip: expected samples of %d bits, found more", d.bits)
			}
			block[i] = uint32(z) << k
		}
		for i := first; k > 0 && i < d.block; i++ {
			block[i] |= uint32(d.r.Get(k))
		}
	}
	return d.block, nil
}

// pairs decodes a block of the second extension: each symbol stands for two samples.
func (d *decoder) pairs(block []uint32, first int) error {
	for i := 0; i < len(block); i += 2 {
		m := d.r.Zeros(maxPair)
		if m > maxPair {
			return wire.Damaged("szip: expected symbols of at most %d, found more", maxPair)
		}
		// Pairs with the sum s have the symbols s(s+1)/2 to s(s+1)/2+s.
		s := 0
		for (s+1)*(s+2)/2 <= m {
			s++
		}
		second := m - s*(s+1)/2
		if i >= first {
			block[i] = uint32(s - second)
		}
		block[i+1] = uint32(second)
	}
	return nil
}

// undo turns differences into samples.
func (d *decoder) undo(line []uint32) {
	top := d.top()
	x := line[0]
	for i, v := range line[1:] {
		// The nearer bound of the range limits how far differences of both signs go.
		near, far := x, top-x
		high := near > far
		if high {
			near = far
		}
		switch {
		case v > 2*near && high:
			x = top - v
		case v > 2*near:
			x = v
		case v&1 == 0:
			x += v / 2
		default:
			x -= v/2 + 1
		}
		x &= top // hostile samples may exceed it
		line[i+1] = x
	}
}
